"""Every judge keeps its contract; `helpers.contract` finds them."""

import inspect
from dataclasses import replace

import pytest
from helpers import contract

from handaxe.core.judging import StepJudge
from handaxe.core.records import ToolReply
from handaxe.testing.judges import check_judge
from handaxe.testing.records import make_group, make_trajectory

FAILED = ToolReply("0-0", "f", "no", "failed")


def siblings():
    """Attempts that differ in tokens, in turns, in sequences and in what came of their calls."""
    told = [
        {"texts": ["", "4"], "calls": [["f"], []], "replies": [["4"], []]},
        {"texts": ["", "", "4"], "calls": [["f"], ["g"], []], "replies": [[FAILED], ["1"], []]},
        {"layouts": ["UUtpppp", "Utpp"]},
        {"texts": ["5"], "errors": [["not JSON"]], "finish": ["length"]},
    ]
    logp = {"logp": -4.0, "features": {"old_logp": -4.5}, "off_mask": 7.0}
    return make_group(trajectories=[make_trajectory(id=f"attempt-{i}", **one, **logp) for i, one in enumerate(told)])


RULES = ("papers.agent_evolver.earned_steps", "judges.exact_steps")
"""Judges that apply a rule of the world, and say so."""
JUDGES = contract.cases(contract.mechanisms("Judge"))


@pytest.mark.parametrize("name, arguments", JUDGES, ids=contract.label)
def test_judge(name, arguments):
    check_judge(contract.factory(name)(**arguments), siblings())


@pytest.mark.parametrize("name, arguments", JUDGES, ids=contract.label)
def test_a_judge_does_not_know_the_answer_and_a_rule_is_called_one(name, arguments):
    make = contract.factory(name)
    if name in RULES:
        assert "by rule" in inspect.getdoc(make).partition("\n")[0]
        return
    group, judge = siblings(), make(**arguments)

    def of(task):
        same = tuple(replace(one, task=task) for one in group)
        asked = replace(group, task=task, trajectories=same)
        steps = judge.score_steps(asked) if isinstance(judge, StepJudge) else ()
        return [judge.score(asked).tolist(), *(own.tolist() for own in steps)]

    told = replace(group.task, answer="4", metadata={"gold": "4", "criteria": ["4"]})
    assert of(told) == of(replace(told, answer=None, metadata={}))
