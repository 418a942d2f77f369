# What a person does with this checkout. Every target makes the virtual environment that it needs, from a file of exact
# versions and hashes, and only when that file, setup.cfg or the Python version changed since.
#
#   make run         show a sample machine's labels and write a feature file
#   make test        run the tests (needs a C compiler)
#   make lint        lint, format check, types, import contracts
#   make format      put code into shape
#   make docs        write the generated pages again
#   make docs-check  see that they are current
#   make bench       measure time and memory, print a table
#   make lock        choose versions anew from setup.cfg, with hashes
#   make clean       remove environments and everything made
#
#   PYTHON=python3.12 chooses the interpreter, SAMPLE=name and STRATEGY=single the machine of `make run`, ARGS='-k mig' goes to pytest.

PYTHON ?= python3
SAMPLE ?= dgx-h100-mig
STRATEGY ?= mixed
OUTPUT ?= build/features.d/gfd
ARGS ?=

# Two environments: what a node runs, and that with the tests' and checks' tools. Measurements use the former.
VENV_RUN ?= .venv-run
VENV_DEV ?= .venv-dev
VENV_LOCK ?= .venv-lock

# The stamps carry the Python version: another PYTHON makes the environment anew.
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
RUN := $(VENV_RUN)/.installed-$(PYTHON_VERSION)
DEV := $(VENV_DEV)/.installed-$(PYTHON_VERSION)
LOCK := $(VENV_LOCK)/.installed-$(PYTHON_VERSION)

# COVERAGE=yes measures coverage under `make test`, child processes included.
ifeq ($(COVERAGE),yes)
PYTEST := -m coverage run -m pytest
else
PYTEST := -m pytest
endif

export CC
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PIP_INSTALL := -m pip install --quiet --require-hashes
# Editable by a path, not by setuptools' import hook, which would more than double the start of Python.
EDITABLE := --config-settings editable_mode=compat --editable .

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test coverage lint format docs docs-check bench bench-smoke lock lock-check clean check-cc

help:
	@sed -n '4,14s/^# *//p' $(firstword $(MAKEFILE_LIST))

run: $(RUN)
	@mkdir -p $(dir $(OUTPUT))
	$(VENV_RUN)/bin/gpu-discovery labels --sample $(SAMPLE) --mig-strategy $(STRATEGY)
	$(VENV_RUN)/bin/gpu-feature-discovery --oneshot --sample=$(SAMPLE) --mig-strategy=$(STRATEGY) --output-file=$(OUTPUT)
	@echo "The feature file is $(OUTPUT)"

test: check-cc $(DEV)
	$(VENV_DEV)/bin/python $(PYTEST) -p tests.no_skips $(ARGS)

coverage: $(DEV)
	$(VENV_DEV)/bin/python -m coverage combine --quiet
	$(VENV_DEV)/bin/python -m coverage report --skip-covered --skip-empty

lint: $(DEV)
	$(VENV_DEV)/bin/ruff check
	$(VENV_DEV)/bin/ruff format --check
	$(VENV_DEV)/bin/python -m mypy
	$(VENV_DEV)/bin/lint-imports --no-logo

format: $(DEV)
	$(VENV_DEV)/bin/ruff check --fix
	$(VENV_DEV)/bin/ruff format

docs: $(DEV)
	$(VENV_DEV)/bin/python -m docs.generate

docs-check: $(DEV)
	$(VENV_DEV)/bin/python -m docs.generate --check

bench: check-cc $(RUN)
	$(VENV_RUN)/bin/python -m tests.bench $(ARGS)

bench-smoke: check-cc $(RUN)
	$(VENV_RUN)/bin/python -m tests.bench --smoke

lock: $(LOCK)
	$(VENV_LOCK)/bin/python requirements/lock.py

lock-check: $(DEV)
	$(VENV_DEV)/bin/python -m pytest --quiet tests/test_packaging.py

clean:
	rm -rf $(VENV_RUN) $(VENV_DEV) $(VENV_LOCK) build dist *.egg-info .coverage* .hypothesis .*_cache

# Names what is missing in one line, before anything is made.
define check-python
@$(PYTHON) -c '' 2>/dev/null || { \
  echo >&2 "Python 3.11 or newer is needed and '$(PYTHON)' was not found: install it, or name one: make PYTHON=python3.12 …"; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo >&2 "Python 3.11 or newer is needed and '$(PYTHON)' is $(PYTHON_VERSION): name another: make PYTHON=python3.12 …"; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo >&2 "Python's venv module is missing: install it (Debian, Ubuntu: apt-get install python$(PYTHON_VERSION)-venv)"; exit 1; }
endef

# First what is locked, then the project itself, which alone is installed again when its metadata changes.
$(RUN).locked: requirements/run.txt
	$(check-python)
	@echo "Installing what a node runs into $(VENV_RUN) with Python $(PYTHON_VERSION) (once)"
	@$(PYTHON) -m venv --clear $(VENV_RUN)
	@$(VENV_RUN)/bin/python $(PIP_INSTALL) -r requirements/run.txt
	@touch $@

$(DEV).locked: requirements/dev.txt
	$(check-python)
	@echo "Installing the tests' and checks' tools into $(VENV_DEV) with Python $(PYTHON_VERSION) (once)"
	@$(PYTHON) -m venv --clear $(VENV_DEV)
	@$(VENV_DEV)/bin/python $(PIP_INSTALL) -r requirements/dev.txt
	@touch $@

# setuptools builds the project and is then taken out again: its .pth file would cost every start of Python some time.
$(RUN): $(RUN).locked requirements/build.txt setup.cfg pyproject.toml
	@$(VENV_RUN)/bin/python $(PIP_INSTALL) -r requirements/build.txt
	@$(VENV_RUN)/bin/python -m pip install --quiet --no-deps --no-build-isolation $(EDITABLE)
	@$(VENV_RUN)/bin/python -m pip uninstall --quiet --yes setuptools
	@touch $@

$(DEV): $(DEV).locked requirements/build.txt setup.cfg pyproject.toml
	@$(VENV_DEV)/bin/python $(PIP_INSTALL) -r requirements/build.txt
	@$(VENV_DEV)/bin/python -m pip install --quiet --no-deps --no-build-isolation $(EDITABLE)
	@touch $@

$(LOCK): requirements/lock.txt
	$(check-python)
	@$(PYTHON) -m venv --clear $(VENV_LOCK)
	@$(VENV_LOCK)/bin/python $(PIP_INSTALL) -r requirements/lock.txt
	@touch $@

check-cc:
	@printf '#include <stdio.h>\nint main(void) { return 0; }\n' | $(CC) -x c -o /dev/null - 2>/dev/null || { \
	  echo >&2 "A C compiler is needed, since the tests build a stand-in for NVIDIA's library, and '$(CC)' does not work:" \
	    "install gcc (Debian, Ubuntu: apt-get install gcc libc6-dev), or name one: make CC=clang …"; exit 1; }
