# Two doors for a newcomer: `make demo` and `make test`. Everything else is Snakemake.

PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash

.PHONY: demo test fuzz lint install lock

# The stamp is older than the lock when the lock changed: the environment is brought up to date.
.venv/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "atpar needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

install: .venv/.installed

demo: install
	$(BIN)/snakemake --configfile config/demo.yaml --quiet rules
	@$(BIN)/atpar decision results/demo

# A file's tests stay in one process: they share what the file's fixtures measured.
test: install
	$(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile

# More than 20 000 examples of what people may write; `make test` runs some hundreds of them.
fuzz: install
	FUZZ_EXAMPLES=500 $(BIN)/python -m pytest tests/fuzz --numprocesses logical --maxprocesses 4 --timeout 1800

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/python tests/lint_workflow.py

lock: install
	$(BIN)/python .ci/lock.py
