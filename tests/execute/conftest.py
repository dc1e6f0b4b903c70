"""Marks the modules whose tests start processes."""

import pytest

EXTERNAL = frozenset(
    (
        "test_faults",
        "test_handler_errors",
        "test_interruptions",
        "test_loop_faults",
        "test_process_tools",
        "test_soak",
        "test_state_machine",
    )
)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "execute" and item.path.stem in EXTERNAL:
            item.add_marker(pytest.mark.external)
