# `make plan` and `make test` need python3 >= 3.11, make and a package index, nothing else.
# Each makes .venv and installs what it needs by itself; a second call does not install again.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check install
SITE   ?= data/sites/block-20mw.toml
WORKERS ?= auto

.PHONY: plan test test-matrix test-slurm test-postgres test-deep test-frameworks test-browser test-packaging lint bench clean

plan: $(VENV)/.gridpace
	$(BIN)/gridpace plan $(SITE)

test: $(VENV)/.test
	$(BIN)/pytest -n $(WORKERS) -m "not frameworks and not browser and not packaging and not matrix and not slurm and not deep and not postgres"

test-matrix: $(VENV)/.test
	$(BIN)/pytest -n $(WORKERS) -m matrix tests/faults/matrix

test-slurm: $(VENV)/.test $(VENV)/.slurm
	$(BIN)/pytest tests/slurm

test-postgres: $(VENV)/.test $(VENV)/.postgres
	$(BIN)/pytest -n $(WORKERS) -m postgres tests/postgres

test-deep: $(VENV)/.test
	$(BIN)/pytest -n $(WORKERS) -m deep

test-frameworks: $(VENV)/.test $(VENV)/.frameworks
	$(BIN)/pytest tests/frameworks

test-browser: $(VENV)/.test $(VENV)/.browser
	$(BIN)/pytest tests/browser

test-packaging: $(VENV)/.test $(VENV)/.packaging
	$(BIN)/pytest tests/packaging

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 -p trainer_hooks
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) out build dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "gridpace needs Python 3.11 or newer; $(PYTHON) is %d.%d. Name another: make PYTHON=python3.12 ..." % v[:2])'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'

$(VENV)/.gridpace: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.gridpace
	$(PIP) --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.gridpace
	$(PIP) --group lint
	@touch $@

$(VENV)/.packaging: $(VENV)/.gridpace
	$(PIP) --group packaging
	@touch $@

$(VENV)/.frameworks: $(VENV)/.gridpace
	$(PIP) --group frameworks
	@touch $@

$(VENV)/.browser: $(VENV)/.gridpace
	$(PIP) --group browser
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || echo "install Chromium by hand, then run this again"
	@touch $@

$(VENV)/.slurm: $(VENV)/.gridpace
	@command -v slurmctld >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends slurm-wlm munge; } || echo "install slurm-wlm and munge by hand, then run this again"
	@touch $@

$(VENV)/.postgres: $(VENV)/.gridpace
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } || echo "install postgresql by hand, then run this again"
	@touch $@
