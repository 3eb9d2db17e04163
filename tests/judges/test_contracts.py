"""Contract of every judge; `helpers.contract` lists the mechanisms."""

import inspect
from dataclasses import replace

import pytest
from helpers import contract

from handaxe.core.protocols import StepJudge
from handaxe.core.records import ToolReply
from handaxe.testing.judges import check_judge
from handaxe.testing.make_records import make_group, make_trajectory

FAILED = ToolReply("0-0", "f", "no", "failed")


def siblings():
    """Rollouts that differ in tokens, turns, sequences and statuses of calls."""
    differences = [
        {"texts": ["", "4"], "calls": [["f"], []], "replies": [["4"], []]},
        {"texts": ["", "", "4"], "calls": [["f"], ["g"], []], "replies": [[FAILED], ["1"], []]},
        {"layouts": ["UUtpppp", "Utpp"]},
        {"texts": ["5"], "errors": [["not JSON"]], "finish": ["length"]},
    ]
    logp = {"logp": -4.0, "features": {"old_logp": -4.5}, "off_mask": 7.0}
    return make_group(
        trajectories=[make_trajectory(id=f"rollout-{i}", **one, **logp) for i, one in enumerate(differences)]
    )


JUDGES = contract.cases(contract.mechanisms("Judge"))


@pytest.mark.parametrize("name, arguments", JUDGES, ids=contract.label)
def test_judge_keeps_the_contract(name, arguments):
    check_judge(contract.factory(name)(**arguments), siblings())


@pytest.mark.parametrize("name, arguments", JUDGES, ids=contract.label)
def test_a_judge_ignores_the_answer_unless_it_is_a_rule(name, arguments):
    """A rule of the world has "by rule" in the first line of its docstring, a judge that sees the answer "beside the
    reference"."""
    make = contract.factory(name)
    first_line = inspect.getdoc(make).partition("\n")[0]
    if "by rule" in first_line or "beside the reference" in first_line:
        return
    group, judge = siblings(), make(**arguments)

    def of(task):
        same = tuple(replace(one, task=task) for one in group)
        changed = replace(group, task=task, trajectories=same)
        steps = judge.score_steps(changed) if isinstance(judge, StepJudge) else ()
        return [judge.score(changed).tolist(), *(own.tolist() for own in steps)]

    known = replace(group.task, answer="4", metadata={"gold": "4", "criteria": ["4"]})
    assert of(known) == of(replace(known, answer=None, metadata={}))
