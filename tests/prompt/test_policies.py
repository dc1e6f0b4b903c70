"""ReadBeforeWrite and SequenceDependency: rules about the order of calls, recorded in the session."""

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, in_threads, kind_of
from toolhaft import Session, Tool, ToolContext, ToolExecutor, ToolResult, tool
from toolhaft.core.prompt_hooks import ToolPolicy
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import MarkdownSection, Prompt, ReadBeforeWrite, SequenceDependency
from toolhaft.prompt.policies import KnownFile, SucceededTool
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry
from toolhaft.toolbox import read_file, write_file


@tool(effect="reversible")
def append(path: str, content: str, context: ToolContext) -> int:
    """Add to a file."""
    return context.filesystem.write(path, content, mode="append")


def under(*tools, policies, files=None, **options):
    """An executor whose prompt has these tools and policies."""
    resources = None if files is None else {Filesystem: files}
    sections = [MarkdownSection(title="Work", key="work", template="Work.", tools=tools, policies=policies)]
    return ToolExecutor(prompt=Prompt(name="p", sections=sections, resources=resources), **options)


def desk(*policies, files=None, **options):
    """Files that can be read and written."""
    files = MemoryFilesystem({"a/b.txt": "old", "c.txt": "old"}) if files is None else files
    policies = policies or (ReadBeforeWrite(write_tools=("write_file", "append")),)
    return under(read_file, write_file, append, policies=policies, files=files, **options)


each_turn = pytest.mark.parametrize(
    "turn",
    [
        lambda executor, calls: executor.execute_all(calls),
        lambda executor, calls: asyncio.run(executor.aexecute_all(calls)),
    ],
    ids=["sync", "async"],
)


def text_of(executor, path):
    return executor.resources.get(Filesystem).read(path).content


# --- read before write ---


@each_way
def test_an_existing_file_is_overwritten_only_after_it_was_read(run):
    executor = desk()
    denied = run(executor, call("write_file", path="a/b.txt", content="new"))
    assert denied.message == (
        "write_file is not allowed now: a/b.txt exists and was not read in this session. "
        "Read it first with read_file, then call write_file again."
    )
    assert kind_of(denied) == "not_allowed"
    assert text_of(executor, "a/b.txt") == "old"
    assert run(executor, call("read_file", path="a/b.txt")).success
    assert run(executor, call("write_file", path="a/b.txt", content="new")).success
    assert text_of(executor, "a/b.txt") == "new"
    assert kind_of(run(executor, call("write_file", path="c.txt", content="new"))) == "not_allowed"


@both_ways
def test_new_files_are_allowed_and_written_files_count_as_read(run):
    executor = desk()
    for content in ("first", "second"):
        assert run(executor, call("write_file", path="new.txt", content=content)).success
    assert text_of(executor, "new.txt") == "second"


def test_appending_counts_as_writing():
    executor = desk()
    assert kind_of(executor.execute(call("append", path="c.txt", content="+"))) == "not_allowed"
    executor.execute(call("read_file", path="c.txt"))
    assert executor.execute(call("append", path="c.txt", content="+")).success
    assert text_of(executor, "c.txt") == "old+"


@each_case("read", ["./a//b.txt", "/a/b.txt", "a/b.txt", "a/x/../b.txt"])
@each_case("write", ["./a//b.txt", "/a/b.txt", "a/b.txt", "a/./x/../b.txt"])
def test_equivalent_paths_are_the_same_file(read, write):
    executor = desk()
    assert executor.execute(call("read_file", path=read)).success
    assert executor.execute(call("write_file", path=write, content="new")).success
    assert len(executor.session[KnownFile]) == 1


def test_relative_and_host_paths_are_the_same_file(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    executor = desk(files=HostFilesystem(tmp_path))
    assert kind_of(executor.execute(call("write_file", path="a.txt", content="new"))) == "not_allowed"
    assert executor.execute(call("read_file", path=str(tmp_path / "a.txt"))).success
    assert executor.execute(call("write_file", path="a.txt", content="new")).success
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_file_that_could_not_be_read_is_not_known():
    @tool(name="read_file", effect="read")
    def broken(path: str) -> str:
        """Fail to read."""
        raise OSError(path)

    files = MemoryFilesystem({"c.txt": "old"})
    executor = under(broken, write_file, policies=[ReadBeforeWrite()], files=files)
    assert not executor.execute(call("read_file", path="c.txt")).success
    assert kind_of(executor.execute(call("write_file", path="c.txt", content="new"))) == "not_allowed"


def test_without_a_filesystem_everything_is_allowed():
    written = []

    @tool(name="write_file")
    def elsewhere(path: str, content: str) -> str:
        """Write elsewhere."""
        written.append(path)
        return content

    executor = under(elsewhere, policies=[ReadBeforeWrite()])
    for path in ("./x//y", "/x/z/../y", "../x/y"):
        assert executor.execute(call("write_file", path=path, content="new")).success
    assert written == ["./x//y", "/x/z/../y", "../x/y"]
    assert [one.path for one in executor.session[KnownFile]] == ["x/y"]


@pytest.mark.parametrize("path", ["a", "../out.txt", ".toolhaft/x"])
def test_an_unwritable_path_is_left_to_the_handler(path):
    result = desk().execute(call("write_file", path=path, content="new"))
    assert (result.success, kind_of(result) == "not_allowed") == (False, False)


@dataclass(frozen=True)
class Save:
    target: str


class SaveModel(BaseModel):
    target: str


@pytest.mark.parametrize("kind", [Save, SaveModel])
def test_arguments_may_be_objects_and_have_another_name(kind):
    def handle(params, *, context):
        context.filesystem.write(params.target, "new")
        return ToolResult.ok(None, "Saved")

    handle.__annotations__ = {"params": kind, "context": ToolContext, "return": ToolResult[None]}
    save = Tool[kind, None](name="save", description="Save.", handler=handle, effect="reversible")
    policy = ReadBeforeWrite(read_tools=(), write_tools=["save"], path_argument="target")
    executor = under(save, policies=[policy], files=MemoryFilesystem({"c.txt": "old"}))
    denied = executor.execute(call("save", target="c.txt"))
    assert "Read it first with a tool that reads, then call save again." in denied.message
    assert [executor.execute(call("save", target="d.txt")).success for _ in range(2)] == [True, True]


class Place:
    """A path of another kind."""

    def __init__(self, place):
        self.place = place

    def __fspath__(self):
        return self.place


@pytest.mark.parametrize("kind", [Path, PurePosixPath, Place])
def test_a_path_may_be_an_object(kind):
    @dataclass(frozen=True)
    class Where:
        path: object

    policy = ReadBeforeWrite()
    context = ToolContext(
        session=Session(), resources=ResourceRegistry({Filesystem: MemoryFilesystem({"a": "x"})})
    )
    params = Where(kind("a"))
    assert "a exists and was not read" in policy.check(write_file, params, context=context).reason
    policy.on_result(read_file, params, ToolResult.ok(None), context=context)
    assert policy.check(write_file, params, context=context).allowed
    assert policy.check(write_file, {"path": "./a"}, context=context).allowed
    odd = policy.check(write_file, Where(Place(b"a")), context=context)
    assert "finds no path in the argument 'path' of write_file" in odd.reason


def test_an_argument_that_is_not_a_path_is_denied():
    executor = desk(ReadBeforeWrite(path_argument="file"))
    assert executor.execute(call("read_file", path="c.txt")).success
    denied = executor.execute(call("write_file", path="c.txt", content="new"))
    assert (
        "the policy 'read_before_write' finds no path in the argument 'file' of write_file" in denied.message
    )
    assert len(executor.session[KnownFile]) == 0


def test_all_read_tools_are_named_without_a_rendered_prompt():
    policy = ReadBeforeWrite()
    context = ToolContext(
        session=Session(), resources=SimpleNamespace(get=lambda _: MemoryFilesystem({"c.txt": "old"}))
    )
    denied = policy.check(write_file, {"path": "c.txt"}, context=context)
    assert "Read it first with read_file or file_reader" in denied.reason


def test_known_files_are_kept_once_and_are_in_snapshots():
    executor = desk()
    for _ in range(5):
        executor.execute(call("read_file", path="a/b.txt"))
        executor.execute(call("read_file", path="c.txt"))
    known = (KnownFile(policy="read_before_write", path="a/b.txt"),)
    assert {one.path for one in executor.session[KnownFile]} == {"a/b.txt", "c.txt"}
    assert len(executor.session[KnownFile]) == 2
    session = Session()
    session.restore(executor.session.snapshot(), types=[KnownFile])
    later = desk(session=session)
    assert later.execute(call("write_file", path="a/b.txt", content="new")).success
    assert set(known) < set(session[KnownFile])
    assert len(session[KnownFile]) == 2


def test_a_session_that_was_prepared_can_be_restored_without_naming_types():
    executor = desk()
    executor.execute(call("read_file", path="c.txt"))
    session = Session()
    session.dispatcher.subscribe(object, lambda _: None)
    for policy in (ReadBeforeWrite(), SequenceDependency({"b": ["a"]})):
        policy.prepare(session)
        policy.prepare(session)
    session.restore(executor.session.snapshot())
    session[KnownFile].append(KnownFile(policy="read_before_write", path="c.txt"))
    assert [one.path for one in session[KnownFile]] == ["c.txt"]


def test_any_session_implementation_works():
    kept = []
    session = {KnownFile: SimpleNamespace(append=kept.append)}
    result = ToolResult(value="old")
    ReadBeforeWrite().on_result(read_file, {"path": "c.txt"}, result, context=ToolContext(session=session))
    assert kept == [KnownFile(policy="read_before_write", path="c.txt")]


def test_a_file_read_by_a_failed_call_is_not_known():
    @tool(effect="reversible")
    def study(context: ToolContext) -> str:
        """Read, and fail."""
        executor.execute(call("read_file", path="c.txt"))
        raise ValueError("no")

    policies = [ReadBeforeWrite()]
    files = MemoryFilesystem({"c.txt": "old"})
    executor = under(read_file, write_file, study, policies=policies, files=files)
    assert not executor.execute(call("study")).success
    assert kind_of(executor.execute(call("write_file", path="c.txt", content="new"))) == "not_allowed"


def test_policies_with_different_names_know_different_files():
    one = ReadBeforeWrite(name="one", read_tools=["read_file"])
    two = ReadBeforeWrite(name="two", read_tools=["other"])
    executor = desk(one, two)
    assert executor.execute(call("read_file", path="c.txt")).success
    denied = executor.execute(call("write_file", path="c.txt", content="new"))
    assert "Read it first with other" in denied.message


def test_many_threads_read_and_write():
    files = MemoryFilesystem({f"{number}.txt": "old" for number in range(8)})
    executor = desk(files=files)
    results = []

    def work(number):
        path = f"{number}.txt"
        results.append(executor.execute(call("read_file", path=path)).success)
        results.append(executor.execute(call("write_file", path=path, content="new")).success)

    in_threads([lambda number=number: work(number) for number in range(8)])
    assert results == [True] * 16
    assert len(executor.session[KnownFile]) == 8


# --- what must have succeeded before ---


def steps(*names, broken=()):
    def make(name):
        def run() -> str:
            if name in broken:
                raise ValueError("no")
            return name

        return tool(run, name=name, description=f"{name}.")

    return [make(name) for name in names]


@each_way
def test_a_tool_waits_until_others_have_succeeded(run):
    executor = under(
        *steps("build", "test", "deploy"), policies=[SequenceDependency({"deploy": ["test", "build"]})]
    )
    assert run(executor, call("deploy")).message == (
        "deploy is not allowed now: it comes after test, build, and in this session these have not succeeded yet: "
        "test, build. Call them first."
    )
    assert run(executor, call("build")).success
    assert run(executor, call("deploy")).message.endswith("not succeeded yet: test. Call it first.")
    assert run(executor, call("test")).success
    assert run(executor, call("deploy")).value == "deploy"


@each_turn
def test_serial_calls_of_one_turn_see_earlier_successes(turn):
    """docs/guidance.md, *One turn*."""
    rules = [SequenceDependency({"deploy": ["build"]})]
    inorder, backwards = (
        under(*[one.replace(effect="reversible") for one in steps("build", "deploy")], policies=rules)
        for _ in range(2)
    )
    assert [kind_of(one) for one in turn(inorder, [call("build"), call("deploy")])] == [None, None]
    assert [kind_of(one) for one in turn(backwards, [call("deploy"), call("build")])] == ["not_allowed", None]


@each_turn
def test_parallel_calls_of_one_turn_do_not_wait_for_each_other(turn):
    denied = threading.Event()

    @tool(effect="read")
    def test() -> str:
        """Test until the other call has been answered."""
        return "tested" if denied.wait(20) else "alone"

    class Tell(SequenceDependency):
        def check(self, tool, params, *, context):
            decision = super().check(tool, params, context=context)
            if not decision.allowed:
                denied.set()
            return decision

    executor = under(test, *steps("deploy"), policies=[Tell({"deploy": ["test"]})])
    first, second = turn(executor, [call("test"), call("deploy")])
    assert (first.value, kind_of(second)) == ("tested", "not_allowed")
    assert turn(executor, [call("deploy")])[0].success


def test_only_needed_successes_are_recorded():
    executor = under(
        *steps("build", "deploy", "other", broken=["build"]),
        policies=[SequenceDependency({"deploy": ["build"]})],
    )
    assert not executor.execute(call("build")).success
    assert executor.execute(call("other")).success
    assert kind_of(executor.execute(call("deploy"))) == "not_allowed"
    assert len(executor.session[SucceededTool]) == 0


def test_successes_are_kept_once_per_session():
    def make():
        return under(
            *steps("build", "deploy"), policies=[SequenceDependency({"deploy": ["build"]})], session=Session()
        )

    one, other = make(), make()
    for _ in range(5):
        one.execute(call("build"))
    assert one.session[SucceededTool].all() == (SucceededTool(policy="sequence_dependency", tool="build"),)
    assert one.execute(call("deploy")).success
    assert not other.execute(call("deploy")).success
    other.session.restore(one.session.snapshot(), types=[SucceededTool])
    assert other.execute(call("deploy")).success


def test_policies_with_different_names_count_different_successes():
    """The first hears of nothing that is not below its own section."""
    tools = dict(zip(("build", "test", "deploy"), steps("build", "test", "deploy"), strict=True))
    one = SequenceDependency({"deploy": ["build"]}, name="one")
    two = SequenceDependency({"deploy": ["build"]}, name="two")
    deploy = MarkdownSection(title="D", key="d", template="d", tools=[tools["deploy"]], policies=[one, two])
    build = MarkdownSection(title="B", key="b", template="b", tools=[tools["build"]], policies=[one])
    executor = ToolExecutor(prompt=Prompt(name="p", sections=[deploy, build]))
    assert executor.execute(call("build")).success
    assert kind_of(executor.execute(call("deploy"))) == "not_allowed"
    assert [one.policy for one in executor.session[SucceededTool]] == ["one"]


@both_ways
def test_policies_of_both_kinds_hold_together(run):
    executor = desk(ReadBeforeWrite(), SequenceDependency({"write_file": ["append"]}))
    assert "was not read" in run(executor, call("write_file", path="c.txt", content="new")).message
    run(executor, call("read_file", path="c.txt"))
    assert "it comes after append" in run(executor, call("write_file", path="c.txt", content="new")).message
    run(executor, call("append", path="c.txt", content="+"))
    assert run(executor, call("write_file", path="c.txt", content="new")).success


@each_case(
    ("make", "said"),
    [
        (lambda: SequenceDependency({"a": ["a"]}), "none could be run: a -> a"),
        (lambda: SequenceDependency({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}), "a -> b -> c -> a"),
        (lambda: SequenceDependency({"": ["a"]}), "a tool is ''"),
        (lambda: SequenceDependency({"a": [" "]}), "a name in needs['a'] is ' '"),
        (lambda: SequenceDependency({"a": "build"}), "must be a list of names"),
        (lambda: SequenceDependency({"a": None}), "must be a list of names"),
        (lambda: SequenceDependency(["a"]), "{'deploy': ['test', 'build']}"),
        (lambda: SequenceDependency({}, name=""), "name is ''"),
        (lambda: ReadBeforeWrite(read_tools="read_file"), "read_tools is 'read_file'"),
        (lambda: ReadBeforeWrite(write_tools=[3]), "a name in write_tools is 3"),
        (lambda: ReadBeforeWrite(path_argument=None), "path_argument is None"),
    ],
)
def test_invalid_arguments_are_refused_by_the_constructor(make, said):
    with pytest.raises(PromptValidationError) as raised:
        make()
    assert said in str(raised.value)


def test_a_diamond_of_dependencies_is_not_a_circle():
    policy = SequenceDependency({"d": ["b", "c", "b"], "b": ["a"], "c": ["a"]})
    assert policy.needs == {"d": ("b", "c"), "b": ("a",), "c": ("a",)}


def test_repr_shows_class_and_name():
    policies = (ReadBeforeWrite(), SequenceDependency({}))
    assert [isinstance(policy, ToolPolicy) for policy in policies] == [True, True]
    assert list(map(repr, policies)) == [
        "<ReadBeforeWrite 'read_before_write'>",
        "<SequenceDependency 'sequence_dependency'>",
    ]
