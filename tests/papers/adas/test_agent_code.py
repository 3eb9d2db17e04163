import pytest

from handaxe.papers.adas.agent_code import CHOICES, AgentDesign, evaluate, write_agent
from handaxe.papers.adas.agent_search import SEEDS
from handaxe.worlds.parts.rule_tasks import rule_tasks

pytest.importorskip("reasoning_gym")


@pytest.fixture(scope="module")
def tasks():
    return rule_tasks("arc_1d", count=12, seed=1, rules="move_.pix_solid_left|change")


def test_designs_have_a_value_of_each_choice():
    assert tuple(CHOICES) == AgentDesign._fields
    for design in SEEDS.values():
        assert all(value in CHOICES[name] for name, value in design._asdict().items())


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_seeds_run_in_the_sandbox_without_errors(name, tasks):
    found = evaluate(write_agent(SEEDS[name]), tasks, seed=0)
    assert found.error == "" and found.correct_T.shape == (12,)


def test_more_drafts_are_more_accurate_and_runs_repeat(tasks):
    one, many = (AgentDesign(samples=n, length=1, step_back=True) for n in (1, 16))
    few, found = (evaluate(write_agent(design), tasks, seed=0).correct_T for design in (one, many))
    assert found.mean() > few.mean()
    assert evaluate(write_agent(many), tasks, seed=0).correct_T.tolist() == found.tolist()


def test_an_agent_over_budget_has_an_error_and_no_answer(tasks):
    found = evaluate(write_agent(AgentDesign(samples=32, restarts=16)), tasks, seed=0)
    assert "over budget" in found.error and not found.correct_T.all()


def test_code_of_others_runs_as_well(tasks):
    found = evaluate("def forward(examples, query, seed): return examples[0][1]", tasks, seed=0)
    assert found.error == "" and not found.correct_T.any()
    assert evaluate("def forward(", tasks, seed=0).error.startswith("SyntaxError")
