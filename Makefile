# Two commands for a newcomer: `make demo` and `make test`. Both set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench bench-docs soak lint services clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/.bench-ready: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

demo: $(VENV)/.ready
	$(BIN)/symveil demo

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports

# Chromium, PostgreSQL and Java for the tests that use them: installed where that is allowed, else said
services: $(VENV)/.ready
	$(BIN)/python tests/services.py

test: lint services
	$(BIN)/pytest -n 2 --dist loadgroup

bench: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks

# the same, and its results go into docs/benchmarks.md: for a quiet machine
bench-docs: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks --write-docs

soak: $(VENV)/.ready services
	$(BIN)/pytest -n 2 --dist loadgroup -m "soak or not soak"

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
