import pytest

pytest.importorskip("toolz")
pytest.importorskip("hyperlink")

from handaxe.papers.swe_rebench.fix_agent import fix_agent
from handaxe.papers.swe_rebench.mine_fixes import STAGES, function_text, listed_modules, mine_fixes, run_tests


@pytest.fixture(scope="module")
def mined(sandbox):
    module = next(one for one in listed_modules() if one.name == "toolz.dicttoolz")
    return module, *mine_fixes(module, count=6, seed=0)


def test_every_task_fails_before_and_passes_after_the_fix(mined):
    module, tasks, reached = mined
    assert tasks and reached["candidates"] == 6 and reached["stable"] == len(tasks)
    assert [reached[stage] for stage in STAGES] == sorted(reached.values(), reverse=True)
    for one in tasks:
        assert run_tests(module, one.function, one.source.mutated(one.edit)).failed == one.tests.fail_to_pass
        assert run_tests(module, one.function, one.source.rows).failed == ()
        assert set(module.names) == {*one.tests.fail_to_pass, *one.tests.pass_to_pass} and one.tests.pass_to_pass


def test_known_edits_are_no_candidates(mined):
    module, tasks, _ = mined
    again, reached = mine_fixes(module, count=6, seed=0, known=tasks)
    assert not {one.edit for one in again} & {one.edit for one in tasks} and reached["candidates"] == 6


def test_an_agent_with_the_function_in_its_corpus_resolves_the_task(mined):
    _, tasks, _ = mined
    task = tasks[0]
    text = function_text(task.function, task.source.rows)
    assert "def " in text and '"""' not in text
    assert fix_agent(task, tries=1, seed=0, corpus={text})
    found = [fix_agent(task, tries=1, seed=seed, corpus={"other"}) for seed in range(12)]
    assert not all(found) and found == [fix_agent(task, tries=1, seed=seed) for seed in range(12)]
