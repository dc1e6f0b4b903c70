"""The package map in the README is drawn from the layer contract, so that it cannot be out of date."""

import pytest

from tools.package_map import draw, with_map


def codebase(root, layers, docstrings):
    contract = f"[[tool.importlinter.contracts]]\ntype = 'layers'\nlayers = {layers!r}\n"
    (root / "pyproject.toml").write_text(contract, encoding="utf-8")
    for name, docstring in docstrings.items():
        file = root / "src" / "toolhaft" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""{docstring}"""\n' if docstring else "", encoding="utf-8")
    return root


def test_the_readme_shows_the_packages_as_they_are(pytestconfig):
    readme = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    assert readme == with_map(readme, draw(pytestconfig.rootpath)), "Fix: make format"


def test_the_map_has_existing_packages_only_and_marks_those_of_one_layer(tmp_path):
    layers = ["(serve)", "catalog | (prompt) | search", "errors", "_lazy"]
    docstrings = {
        "catalog/__init__.py": "Finds tools.\n\nMore of it.",
        "search/__init__.py": "Ranks them.",
        "errors.py": "What goes wrong.",
        "_lazy.py": "Private.",
    }
    lines = [
        "```text",
        "  catalog  Finds tools.",
        "| search   Ranks them.",
        "  errors   What goes wrong.",
        "```",
        "",
    ]
    assert draw(codebase(tmp_path, layers, docstrings)).split("\n") == lines


def test_a_package_without_a_docstring_is_named(tmp_path):
    root = codebase(tmp_path, ["errors"], {"errors.py": ""})
    with pytest.raises(ValueError, match=r"src/toolhaft/errors\.py has no docstring"):
        draw(root)


def test_a_readme_without_markers_is_refused():
    with pytest.raises(ValueError, match="<!-- packages -->"):
        with_map("# A page without a map\n", "```text\n```\n")
