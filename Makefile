# A fresh machine needs a Python of 3.11 or later, make and a package index; everything else comes into $(VENV).
# `make` alone lists what there is.  直接运行 make 可列出全部命令。

VENV ?= .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed

# Looked for only when the environment is made. Overridable: make demo PYTHON=/opt/python/bin/python3
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$python; break; fi; \
done)

PIP = $(BIN)/python -m pip --disable-pip-version-check --no-input
PIP_INSTALL = $(PIP) -qq --log $(VENV)/install.log install --progress-bar off --root-user-action ignore
UV_COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help demo up test chaos audit lint lock clean
.SUFFIXES:

help: ## List these commands
	@sed -n 's/^\([a-z]*\): [^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | tr '|' '\t'

# `exec`, so that a signal finds the program itself and its exit code is the recipe's.
demo: $(INSTALLED) ## Run the whole line once, from alarms to work orders, with nothing else to install
	@exec $(BIN)/alarm-worker demo $(ARGS)

up: $(INSTALLED) ## Run Valkey, the worker and Flower until Ctrl-C
	@exec $(BIN)/alarm-worker up $(ARGS)

test: $(INSTALLED) ## Run every test, against a real Valkey and a real PostgreSQL (ARGS='-k word')
	@exec $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

chaos: $(INSTALLED) ## Break the running line in every way, and check its books (ARGS=--short; far longer without it)
	@exec $(BIN)/python -m tests.chaos $(ARGS)

# Apart from the tests: an advisory of today must not fail a tree of yesterday. --strict: no answer is no pass.
AUDIT = $(VENV)/audit
audit: $(INSTALLED) ## Ask PyPI's advisories about every pin; fails without an answer too
	@test -x $(AUDIT)/bin/pip-audit || { $(BIN)/python -m venv $(AUDIT) \
		&& $(AUDIT)/bin/python -m pip -q --disable-pip-version-check install pip-audit==2.10.1; }
	@for lock in requirements.lock requirements-worker.lock; do \
		$(AUDIT)/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r $$lock || exit 1; \
	done

lint: $(INSTALLED) ## Check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The second file is what the container image installs: less, of the same versions, and the build backend
# by which the image installs the project itself.
lock: ## Pin what pyproject.toml asks for; needs uv (ARGS=--upgrade takes newer versions)
	@command -v uv >/dev/null || { echo "make lock needs uv: python3 -m pip install uv" >&2; exit 1; }
	$(UV_COMPILE) --all-extras --output-file requirements.lock $(ARGS)
	echo hatchling | $(UV_COMPILE) - --extra worker --extra flower --constraint requirements.lock \
		--output-file requirements-worker.lock $(ARGS)

clean: ## Remove the environment and every cache; var/ with its data stays
	@if [ -f "$(VENV)/pyvenv.cfg" ]; then rm -rf "$(VENV)"; fi
	@rm -rf dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find producers worker tools db tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Made anew when a pin or the project's own entry points change, and costs nothing otherwise.
$(INSTALLED): requirements.lock pyproject.toml
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		if [ -z "$(PYTHON)" ]; then \
			echo "No Python of 3.11 or later was found; install one, or name it: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3" >&2; \
			exit 1; \
		fi; \
		echo "Making $(VENV) with $$($(PYTHON) --version) …"; \
		$(PYTHON) -m venv $(if $(wildcard $(VENV)/pyvenv.cfg),--clear) "$(VENV)" || { \
			echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
			exit 1; \
		}; \
	fi
	@echo "Installing the pinned requirements into $(VENV); the first time this takes a minute or two …"
	@$(PIP_INSTALL) --require-hashes -r requirements.lock \
		&& $(PIP_INSTALL) --no-deps --no-build-isolation --editable . \
		|| { echo "The installation failed; what pip did is in $(VENV)/install.log" >&2; exit 1; }
	@touch $@
