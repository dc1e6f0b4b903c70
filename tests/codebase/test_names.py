"""One name means one thing: no two public classes or type aliases of the package share a name."""

import ast
from collections import defaultdict

import pytest


def declared_names(tree):
    """Yield the names of the public classes and type aliases that a module declares."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp()):
                if name[0].isupper() and not name.isupper():  # `Names = Mapping[str, str]`, not a constant
                    yield name


def shared_names(sources):
    """Return each public name that more than one place declares, with those places."""
    places = defaultdict(list)
    for path, text in sources.items():
        for name in declared_names(ast.parse(text)):
            if not name.startswith("_"):
                places[name].append(path)
    return {name: found for name, found in places.items() if len(found) > 1}


@pytest.fixture(scope="module")
def sources(pytestconfig):
    root = pytestconfig.rootpath / "src" / "toolhaft"
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*.py"))}


def test_no_two_classes_or_type_aliases_share_a_name(sources):
    assert shared_names(sources) == {}


def test_shared_names_are_found_among_classes_and_all_kinds_of_aliases():
    sources = {
        "a.py": "class Gate: ...\nclass _Own: ...\nAnswer: TypeAlias = int\nLIMITS = a[0]\n",
        "b.py": "Gate = Callable[[], None]\nclass _Own: ...\nAnswer = str | None\nLIMITS = a[1]\n",
    }
    assert shared_names(sources) == {"Gate": ["a.py", "b.py"], "Answer": ["a.py", "b.py"]}
