# Everything starts here. Each target makes .venv by itself; only python3 >= 3.11 and make are needed beforehand.
# Another interpreter: make PYTHON=/path/to/python3 test. How .venv is made: scripts/bootstrap.sh.

export PYTHON
VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime-is-ready
DEV := $(VENV)/.dev-is-ready

.DEFAULT_GOAL := help
.PHONY: demo test test-all conformance lint fix bench docs clean help

demo: $(RUNTIME) ## show the product at work, in a minute
	@$(PY) -m witnesstree.cli.main demo

test: $(DEV) ## run the tests that are fast (what CI runs)
	@$(PY) -m pytest -q -n 2 -m "not slow"

test-all: $(DEV) ## run all tests
	@$(PY) -m pytest -q -n 2

conformance: $(DEV) ## measure every memory store against its pins (SLOW=1: also those that take minutes)
	@$(VENV)/bin/wtree-conformance run --all $(if $(SLOW),--slow) --pins conformance/pins \
		--json conformance-results.json --html conformance-scorecard.html

lint: $(DEV) ## check style, types and who imports whom; changes nothing
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

fix: $(DEV) ## repair what ruff can repair, and format
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

bench: $(RUNTIME) ## run the benchmarks
	@$(PY) -m bench

docs: $(DEV) ## run the code in README, docs and examples
	@$(PY) -m pytest -q tests/docs

clean: ## remove .venv, caches and built files
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

$(RUNTIME): requirements/runtime.txt requirements/build.txt pyproject.toml scripts/bootstrap.sh
	@VENV=$(VENV) scripts/bootstrap.sh runtime

$(DEV): requirements/dev.txt conformance/pyproject.toml $(RUNTIME)
	@VENV=$(VENV) scripts/bootstrap.sh dev
