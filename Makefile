# Two commands for a newcomer: `make demo` and `make test`. Both set up in .venv what they need, and no more.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench soak lint docs services clean

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

$(VENV)/.bench-ready: $(VENV)/.ready
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/symveil demo

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports

# The theme's notice about a later mkdocs is off: that one is not used (pyproject.toml)
docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Chromium, PostgreSQL and Java for the tests that use them: installed where that is allowed, else said
services: $(VENV)/.ready
	$(BIN)/python tests/services.py

test: lint services
	$(BIN)/pytest -n 2 --dist loadgroup

bench: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks

soak: $(VENV)/.ready services
	$(BIN)/pytest -n 2 --dist loadgroup -m "soak or not soak"

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
