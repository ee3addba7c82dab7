# Two commands for a newcomer: `make demo` and `make test`. Both set up in .venv what they need, and no more.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

LOCK := requirements-dev.lock

.PHONY: demo test proofs coverage bench bench-beside bench-docs docs soak golden lint style types suite lock services clean loops wheel

# Tests start hundreds of processes: what one of them has compiled, the others read
export PYTHONDONTWRITEBYTECODE :=

# The pip that comes with Python may be years old and take three times as long to find all versions; without a later one
# in reach it will do
NEW_VENV = $(PYTHON) -m venv $(VENV) && \
	($(BIN)/pip install --quiet --disable-pip-version-check "pip>=25" || echo "pip stays as it is")

# Every installation compiles those loops whose sources have changed (compile_loops.py)
LOOPS := $(shell find src/symveil -name "*_loops.py" -o -name "*.pxd")

# With the versions that were tested together; where those do not exist (a newer Python, another system), with others
$(VENV)/.installed: pyproject.toml $(LOCK) $(LOOPS)
	$(NEW_VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e . -c $(LOCK) \
	  || $(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

# All in one go, and without compiling the thousands of modules that nothing here imports
$(VENV)/.ready: pyproject.toml $(LOCK)
	$(NEW_VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e ".[dev,peers]" -c $(LOCK) \
	  || $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -e ".[dev,peers]"
	touch $(VENV)/.installed $(VENV)/.loops $@

# A loop that has changed since is compiled alone; a compiled loop whose source has changed is refused
$(VENV)/.loops: $(LOOPS) | $(VENV)/.ready
	$(BIN)/python compile_loops.py
	touch $(VENV)/.installed $@

loops: $(VENV)/.loops

$(VENV)/.bench-ready: $(VENV)/.ready $(VENV)/.loops
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[bench]" -c $(LOCK) \
	  || $(BIN)/pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/symveil demo

lint: style types

style: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/lint-imports

types: $(VENV)/.ready
	$(BIN)/mypy

# The theme's notice about a later mkdocs is off: that one is not used (pyproject.toml). Not --quiet: that makes warnings
# count for nothing
docs: $(VENV)/.ready $(VENV)/.loops
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Chromium, PostgreSQL, Java and Coq for the tests that use them: installed where that is allowed, else said
services:
	$(PYTHON) tests/services.py

# Services are installed beside the packages. Types take one processor most of a minute: they are checked beside the
# tests, and either one's failure fails both
test:
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.ready services
	@$(MAKE) --no-print-directory style
	@$(MAKE) --no-print-directory --jobs=2 types suite

suite: $(VENV)/.ready $(VENV)/.loops
	$(BIN)/pytest -n 2 --dist loadgroup

# The theorems of proofs/, checked by Coq, the axioms that they use, and that wrong statements fail
proofs: $(VENV)/.ready $(VENV)/.loops services
	$(BIN)/pytest -rs -m "soak or not soak" tests/proofs

# Branch coverage of src: the whole suite, and once more, interpreted, the tests of compiled loops, whose lines a tracer
# does not see otherwise. What takes minutes interpreted is marked `compiled` and left out of the second pass; and where
# compiled loops quietly reckon with infinity, numpy would warn.
COMPILED_TESTS := tests/languages/test_run_draws.py tests/verification/distances \
	tests/verification/opacity/test_certified_floats.py \
	$(addprefix tests/calibration/test_,enumerated_loss.py proved_bounds.py ratio_bounds.py)

coverage: $(VENV)/.ready $(VENV)/.loops services
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist loadgroup
	SYMVEIL_INTERPRETED=1 SYMVEIL_CACHE= $(BIN)/coverage run -m pytest -n 2 -m "not soak and not compiled" \
		-W ignore::RuntimeWarning $(COMPILED_TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks

# the same, and its results go into docs/benchmarks.md: for a quiet machine
bench-docs: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks --write-docs

# an earlier version beside this tree, task by task in turns: make bench-beside REVISION=d08b397
bench-beside: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks.beside $(REVISION)

soak: $(VENV)/.ready $(VENV)/.loops services
	$(BIN)/pytest -n 2 --dist loadgroup -m "soak or not soak"

# Every answer of the golden file, slow ones too (tests/golden): before and after each step of a redesign
golden: $(VENV)/.ready $(VENV)/.loops
	cd tests && ../$(BIN)/python -m golden.record --compare --all

# One file for Python 3.11 and later on every system. It names no index, so that it works with any
lock: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --extra dev --extra peers --extra bench \
	  --no-annotate --no-header --no-emit-index-url --no-emit-find-links --output-file $(LOCK)

# For this Python and this platform, into dist/; for others: cibuildwheel (pyproject.toml)
wheel: $(VENV)/.ready
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	find src -name "*.so" -delete
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
