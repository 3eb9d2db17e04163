"""Every judge keeps its contract. A file in handaxe/judges is found here without being named anywhere; its own test may
say with which arguments (see tests/contract.py)."""

import importlib.util
import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import handaxe.judges
from handaxe.core.judging import StepJudge
from handaxe.core.records import ToolReply
from handaxe.testing.judges import check_judge
from handaxe.testing.records import make_group, make_trajectory

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).parents[1] / "contract.py")
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)

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


RULES = ("earned_steps", "exact_steps")
"""Which are handed a rule of the world's, and say so."""


@pytest.mark.parametrize(
    "name, arguments", contract.cases("judges", contract.names_in(handaxe.judges)), ids=contract.told
)
def test_judge(name, arguments):
    check_judge(contract.factory("judges", name)(**arguments), siblings())


@pytest.mark.parametrize(
    "name, arguments", contract.cases("judges", contract.names_in(handaxe.judges)), ids=contract.told
)
def test_a_judge_does_not_know_the_answer_and_a_rule_is_called_one(name, arguments):
    make = contract.factory("judges", name)
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
