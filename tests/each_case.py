"""A table of cases as a loop in one test, which is much faster than one test per case."""

import functools
import inspect
from contextlib import ExitStack


def each_case(names, cases, ids=None):
    """Like `pytest.mark.parametrize`, but all cases run in one test; the failing one is shown as a note."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    rows = [(case,) for case in cases] if len(names) == 1 else [*cases]
    table = [dict(zip(names, row, strict=True)) for row in rows]
    labels = ids if isinstance(ids, list | tuple) else [""] * len(table)

    def decorate(test):
        signature = inspect.signature(test)

        @functools.wraps(test)
        def loop(**fixtures):
            assert table
            for number, (label, case) in enumerate(zip(labels, table, strict=True)):
                with ExitStack() as stack:
                    try:
                        test(**_fresh(fixtures, number, stack), **case)
                    except BaseException as error:
                        error.add_note(f"in case {number} {label}: {case!r:.2000}")
                        raise

        others = [parameter for name, parameter in signature.parameters.items() if name not in names]
        loop.__signature__ = signature.replace(parameters=others)
        return loop

    return decorate


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
