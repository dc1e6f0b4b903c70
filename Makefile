# Each target sets itself up; all it needs is make and a python3 with pip and venv.
# `make check PYTHON=python3.13` uses another Python, with its own virtual environment.

PYTHON ?= python3
VERSION = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VENV := $(if $(filter python3,$(PYTHON)),.venv,.venv-$(VERSION))
BIN := $(VENV)/bin
READY := $(VENV)/.stamp
TESTS := $(BIN)/pytest -n auto --dist worksteal
ORDERED := $(TESTS) -p no:randomly

# Without compiled files, pytest would rewrite the assertions of all tests, and each child process compile Toolhaft, again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: check quick shuffle soak fuzz demo format bench lock clean

check: $(READY)  ## every check, fast to slow
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(ORDERED) --cov

quick: $(READY)  ## the inner loop: lint, layers, and the tests that need no server, process or database
	$(BIN)/ruff check
	$(BIN)/lint-imports --no-logo
	$(ORDERED) -p no:schemathesis --hypothesis-profile quick -m "not external"

shuffle: $(READY)  ## all tests in random order
	$(TESTS)

soak: $(READY)  ## every test with its long settings: hundreds of kills, thousands of random steps, 100,000 calls with faults
	TOOLHAFT_LONG=1 $(TESTS) --ignore tests/toolbox/calculation

fuzz: $(READY)  ## one hour of generated expressions for the calculator
	TOOLHAFT_LONG=1 $(BIN)/pytest tests/toolbox/calculation/test_fuzz.py tests/toolbox/calculation/test_properties.py

demo: $(READY)  ## the examples, on one screen
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/yaml_tool.py

format: $(READY)  ## fix what a program can fix: code style, the package map, the generated tables and schemas in the docs
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/python tools/package_map.py --write
	$(BIN)/python tools/format_table.py --write
	$(BIN)/python tools/tool_pages.py --write

bench: $(READY)  ## speed, compared with a limit measured in the same process
	$(BIN)/python -m benchmarks define
	$(BIN)/python -m benchmarks call
	$(BIN)/python -m benchmarks export
	$(BIN)/python -m benchmarks prompt
	$(BIN)/python -m benchmarks serve
	$(BIN)/python -m benchmarks catalog
	$(BIN)/python -m benchmarks hostile
	$(BIN)/python -m benchmarks shapes
	$(BIN)/python -m benchmarks toolbox

# Keeps the pins that still fit; remove the lock file first to take the newest release of everything.
lock: .venv-lock/bin/uv  ## write requirements.lock from pyproject.toml
	$< pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --custom-compile-command 'make lock' --quiet --output-file requirements.lock

clean:  ## remove everything that the targets made
	rm -rf .venv .venv-* .coverage .coverage.* .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("toolhaft needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@# --no-deps: the lock is complete, and without it pip looks at newer releases that the lock does not have
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements.lock
	@# the build backend is in the lock, so nothing is fetched here; it looks for its program on the PATH
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.venv-lock/bin/uv:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet 'uv>=0.13,<0.14'
