"""The resources of a prompt."""

import asyncio
import threading
from contextlib import ExitStack

import pytest

from toolhaft import ToolCall, ToolContext, ToolExecutor, tool
from toolhaft.errors import ResourceError
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.resources import Filesystem, MemoryFilesystem, ResourceRegistry


class Named:
    def __init__(self, name):
        self.name = name
        self.is_closed = False

    def close(self):
        self.is_closed = True


class A(Named):
    pass


class B(Named):
    pass


class C(Named):
    pass


def section(key, *, resources=None, children=()):
    return MarkdownSection(title=key, key=key, resources=resources, children=children)


def made(kind, name):
    registry = ResourceRegistry()
    registry.provide(kind, lambda: kind(name))
    return registry


def test_resources_of_sections_win_over_the_prompt_and_bound_ones_over_both():
    child = section("child", resources={C: C("child")})
    prompt = Prompt(
        name="p",
        resources={A: A("prompt"), B: B("prompt"), C: C("prompt")},
        sections=[section("a", resources={B: B("section"), C: C("section")}, children=[child])],
    ).bind(resources={A: A("bound")})
    with prompt.resources as resources:
        assert [resources.get(kind).name for kind in (A, B, C)] == ["bound", "section", "child"]
        assert prompt.resources.get(A).name == "bound"


def test_each_scope_creates_and_closes_its_resources():
    prompt = Prompt(name="p", resources=made(A, "a"))
    with prompt.resources as first:
        one = first.get(A)
        assert prompt.resources.get(A) is one
        with prompt.resources as second:
            other = second.get(A)
            assert other is not one
            assert prompt.resources.get(A) is other
        assert (other.is_closed, one.is_closed) == (True, False)
        assert prompt.resources.get(A) is one
    assert one.is_closed


def test_given_instances_are_not_closed():
    given = A("given")
    with Prompt(name="p", resources={A: given}).resources as resources:
        assert resources.get(A) is given
    assert not given.is_closed


def test_using_closed_resources_is_an_error():
    prompt = Prompt(name="p", resources={A: A("a")})
    with pytest.raises(ResourceError, match=r"not open here\. Fix: with prompt\.resources as resources"):
        prompt.resources.get(A)


def test_a_bound_prompt_uses_the_open_scope():
    prompt = Prompt(name="p", resources=made(A, "a"), sections=[section("s")])
    with prompt.resources as resources:
        later = prompt.bind().with_visibility({"s": "full"})
        assert later.resources.get(A) is resources.get(A)


def test_threads_and_tasks_have_separate_scopes():
    prompt = Prompt(name="p", resources=made(A, "a"))
    found = []

    def use():
        with prompt.resources:
            found.append(prompt.resources.get(A))

    async def use_async():
        with prompt.resources:
            await asyncio.sleep(0)
            found.append(prompt.resources.get(A))

    async def both():
        await asyncio.gather(use_async(), use_async())

    with prompt.resources:
        found.append(prompt.resources.get(A))
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        asyncio.run(both())
        assert prompt.resources.get(A) is found[0]
        assert [one.is_closed for one in found] == [False, True, True, True]
    assert len({id(one) for one in found}) == 4


def test_an_invalid_resource_is_refused():
    with pytest.raises(ResourceError, match="resources cannot be a list"):
        Prompt(name="p", resources=[A("a")])


@tool(effect="reversible")
def note(text: str, context: ToolContext) -> str:
    """Note."""
    context.filesystem.write("note.txt", text)
    return context.resources.get(A).name


def prompt_with(**options):
    return Prompt(name="p", sections=[MarkdownSection(title="T", key="t", tools=[note])], **options)


def test_an_executor_uses_the_resources_of_its_prompt():
    files = MemoryFilesystem()
    prompt = prompt_with(resources={Filesystem: files, A: A("prompt")})
    with ToolExecutor(prompt=prompt) as executor:
        assert executor.execute(ToolCall(name="note", arguments={"text": "hi"})).value == "prompt"
    assert files.read("note.txt").content == "hi"


def test_an_executor_closes_the_scope_it_opened():
    prompt = prompt_with(resources=made(A, "made"))
    with ToolExecutor(prompt=prompt, resources={Filesystem: MemoryFilesystem()}) as executor:
        executor.execute(ToolCall(name="note", arguments={"text": "hi"}))
        held = executor.resources.get(A)
        assert not held.is_closed
    assert held.is_closed


def test_an_executor_does_not_close_an_open_scope():
    prompt = prompt_with(resources=made(A, "made"))
    with prompt.resources as resources:
        with ToolExecutor(prompt=prompt, resources={Filesystem: MemoryFilesystem()}) as executor:
            assert executor.execute(ToolCall(name="note", arguments={"text": "x"})).value == "made"
            held = executor.resources.get(A)
        assert held is resources.get(A)
        assert not held.is_closed
        with ToolExecutor(prompt=prompt) as executor:
            assert executor.resources.get(A) is held
        assert not held.is_closed
    assert held.is_closed


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("as_registry", [True, False])
def test_resources_of_the_executor_win(is_open, as_registry):
    prompt = prompt_with(resources={A: A("prompt"), Filesystem: MemoryFilesystem()})
    given = made(A, "given") if as_registry else {A: A("given")}

    def run():
        executor = ToolExecutor(prompt=prompt, resources=given)
        return executor.execute(ToolCall(name="note", arguments={"text": "x"})).value

    if is_open:
        with prompt.resources:
            assert run() == "given"
    else:
        assert run() == "given"


def test_a_given_registry_shares_its_resources():
    given = made(A, "given")
    executor = ToolExecutor(prompt=prompt_with(resources={Filesystem: MemoryFilesystem()}), resources=given)
    assert executor.resources.get(A) is given.get(A)
    assert A in executor.resources
    assert B not in executor.resources
    with pytest.raises(ResourceError, match=r"no resource B was given \(available: A, Filesystem\)"):
        executor.resources.get(B)
    executor.close()
    with pytest.raises(ResourceError, match="closed"):
        given.get(A)


def test_a_disabled_section_adds_no_resources():
    off = MarkdownSection(
        title="Off",
        key="off",
        enabled=False,
        resources={A: A("off")},
        children=[section("in", resources={B: B("in")})],
    )
    prompt = Prompt(name="p", resources={A: A("prompt")}, sections=[off])
    with prompt.resources as resources:
        assert resources.get(A).name == "prompt"
        assert B not in resources


def test_the_last_section_wins_for_one_type():
    prompt = Prompt(
        name="p", sections=[section("a", resources={A: A("a")}), section("b", resources={A: A("b")})]
    )
    with prompt.resources as resources:
        assert resources.get(A).name == "b"


def test_resources_may_be_closed_in_another_task():
    prompt = Prompt(name="p", resources=made(A, "a"))

    async def fixture():
        with prompt.resources as resources:
            yield resources.get(A)

    async def use():
        steps = fixture()
        held = await asyncio.create_task(anext(steps))
        await asyncio.create_task(anext(steps, None))
        return held

    assert asyncio.run(use()).is_closed

    with ExitStack() as stack:
        held = stack.enter_context(prompt.resources).get(A)
        thread = threading.Thread(target=stack.pop_all().close)
        thread.start()
        thread.join()
    assert held.is_closed
    with pytest.raises(ResourceError, match="not open here"):
        prompt.resources.get(A)
    with pytest.raises(ResourceError, match=r"the prompt's resources are not open\. Fix"):
        prompt.resources.__exit__(None, None, None)


class PerTenant(ResourceRegistry):
    """Gives each caller files of its own, and says nowhere that it has any."""

    def __init__(self):
        super().__init__()
        self.given = []

    def get(self, kind):
        if kind is not A:
            return super().get(kind)
        self.given.append(A(str(len(self.given))))
        return self.given[-1]


@pytest.mark.parametrize("where", ["prompt", "section", "bound", "executor", "open"])
def test_a_custom_registry_is_asked_each_time(where):
    tenants, files = PerTenant(), {Filesystem: MemoryFilesystem()}
    tools = MarkdownSection(
        title="T", key="t", tools=[note], resources=tenants if where == "section" else None
    )
    prompt = Prompt(name="p", sections=[tools], resources=tenants if where == "prompt" else files)
    if where == "prompt":
        prompt = prompt.bind(resources=files)
    if where == "bound":
        prompt = prompt.bind(resources=tenants)

    def run():
        executor = ToolExecutor(prompt=prompt, resources=tenants if where in ("executor", "open") else None)
        return [executor.execute(ToolCall(name="note", arguments={"text": "x"})).value for _ in range(2)]

    if where == "open":
        with prompt.resources:
            assert run() == ["0", "1"]
    else:
        assert run() == ["0", "1"]


@pytest.mark.parametrize("as_registry", [True, False])
def test_providers_of_a_prompt_get_the_resources_of_the_executor(as_registry):
    registry = ResourceRegistry({A: A("prompt")})
    registry.provide(B, lambda resources: B(resources.get(A).name))
    given = {A: A("executor")}
    prompt = Prompt(name="p", resources=registry)
    executor = ToolExecutor(prompt=prompt, resources=ResourceRegistry(given) if as_registry else given)
    assert executor.resources.get(B).name == "executor"


def test_resources_are_closed_in_reverse_order():
    closed = []

    class First(Named):
        def close(self):
            closed.append("given")

    class Last(Named):
        def close(self):
            closed.append("made")

    given = ResourceRegistry()
    given.provide(First, lambda: First("given"))
    registry = ResourceRegistry()
    registry.provide(Last, lambda resources: Last(resources.get(First).name))
    with ToolExecutor(prompt=Prompt(name="p", resources=registry), resources=given) as executor:
        assert executor.resources.get(Last).name == "given"
    assert closed == ["made", "given"]
