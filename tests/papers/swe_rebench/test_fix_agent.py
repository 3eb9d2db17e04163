import importlib

import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.core.errors import InputError
from handaxe.papers.swe_rebench.fix_agent import fix_agent
from handaxe.papers.swe_rebench.mine_fixes import FixTask, function_text, listed_modules
from handaxe.papers.swe_rebench.validate_fix import FixTests
from handaxe.worlds.repair.runner import Result
from handaxe.worlds.repair.source import candidates
from handaxe.worlds.repair.tasks import module_source

NOTHING = ("", 0, 0, "", (), ())


@pytest.fixture
def task(monkeypatch):
    """A task without a sandbox: a module passes the tests if its lines are the original ones."""
    found = next(one for one in listed_modules() if one.name == "toolz.dicttoolz")
    source = module_source(found.package, found.version, found.name, found.digest)
    function = next(one for one in source.functions if candidates(one, source.rows))
    edit = candidates(function, source.rows)[0]
    tests = FixTests(("t1", "t2"), ("t3",))

    def run(module, function, rows, names=(), *, once=False):
        return Result(() if tuple(rows) == source.rows else ("t1",), *NOTHING)

    monkeypatch.setattr(importlib.import_module("handaxe.papers.swe_rebench.fix_agent"), "run_tests", run)
    return FixTask(found, function, edit, tests)


def test_the_original_is_among_the_edits_of_the_faulty_function(task):
    assert fix_agent(task, tries=1000, seed=0)
    assert not all(fix_agent(task, tries=1, seed=seed) for seed in range(20))


def test_an_agent_recalls_functions_of_the_corpus(task):
    text = function_text(task.function, task.source.rows)
    assert all(fix_agent(task, tries=1, seed=seed, corpus={text}) for seed in range(20))


def test_an_agent_without_tries_raises(task):
    with pytest.raises(InputError, match="1 edit or more"):
        fix_agent(task, tries=0, seed=0)
