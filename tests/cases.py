"""Tables of cases as loops in one test, which is much faster than one test per case."""

import inspect
import sys
from contextlib import ExitStack, contextmanager
from functools import wraps


@contextmanager
def in_case(*parts):
    """Add the case to the message of an error in the block."""
    try:
        yield
    except BaseException as error:
        error.add_note("in case " + ", ".join(f"{part!r:.1000}" for part in parts))
        raise


def each_case(names, cases, ids=None):
    """Like `pytest.mark.parametrize`, but all cases run in one test; the failing one is shown as a note."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [dict(zip(names, _values(case, len(names)), strict=True)) for case in cases]
    labels = ids if isinstance(ids, list | tuple) else [""] * len(table)

    def decorate(test):
        signature = inspect.signature(test)
        others = [name for name in signature.parameters if name not in names]

        @wraps(test)
        def loop(*given, **fixtures):
            assert table
            fixtures |= dict(zip(others, given, strict=False))  # Hypothesis passes them by position
            for number, (label, values) in enumerate(zip(labels, table, strict=True)):
                with in_case(number, label, values), ExitStack() as stack:
                    test(**_fresh(fixtures, number, stack), **values)

        loop.__signature__ = signature.replace(parameters=[signature.parameters[name] for name in others])
        return loop

    return decorate


def _values(case, count):
    """The values of one case, which may be a `pytest.param`."""
    values = getattr(case, "values", None)
    if isinstance(values, tuple):
        return values
    return (case,) if count == 1 else case


def _fresh(fixtures, number, stack):
    """The fixtures of a test without what an earlier case left in them."""
    fresh = dict(fixtures)
    if "tmp_path" in fresh:
        fresh["tmp_path"] = fresh["tmp_path"] / f"case{number}"
        fresh["tmp_path"].mkdir()
    if "monkeypatch" in fresh:
        fresh["monkeypatch"] = stack.enter_context(fresh["monkeypatch"].context())
    if "caplog" in fresh:
        fresh["caplog"].clear()
    if "capsys" in fresh:
        fresh["capsys"].readouterr()
    return fresh


def lines_run(module, function, *arguments):
    """How many lines of a module run during a call: a measure of its work that does not depend on the machine."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += event == "line"
        return trace if frame.f_code.co_filename == module.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count
