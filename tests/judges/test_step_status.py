from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.judges.step_status import step_status
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("step_status()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: step_status()),
]


FAILED, LOST = ToolReply("1-0", "f", "no", "failed"), ToolReply("0-0", "f", "gone", "infra_error")


def steps(**told):
    (own,) = step_status().score_steps(make_group(trajectories=[make_trajectory(**told)]))
    return own.tolist()


def test_step_status_matches_the_docstring_example():
    one = make_trajectory(texts=["", "", "4"], calls=[["f"], ["f"], []], replies=[["1"], [FAILED], []])
    group = make_group(trajectories=[one])
    assert step_status().score_steps(group)[0].tolist() == [0.8, -0.6, 0.2]
    assert step_status().score(group).tolist() == [pytest.approx(0.4)]


def test_needless_calls_add_up():
    calls = {"calls": [["f"]] * 3 + [[]], "replies": [["1"]] * 3 + [[]]}
    assert sum(steps(**calls)) == pytest.approx(2.6) and steps(texts=["4"]) == [0.2]


def test_malformed_failed_and_truncated_steps_are_bad():
    assert steps(texts=["x"], finish=["length"]) == [-0.6]
    assert steps(texts=["x"], errors=[["not JSON"]]) == [-0.6]
    assert steps(texts=["x"], finish=["header"]) == [-0.6]
    assert steps(texts=[""], calls=[["f"]], replies=[[LOST]]) == [0.8]
    cut = {"calls": [["f"]] * 2, "replies": [["1"]] * 2, "ending": Ending("truncated", "turns")}
    assert steps(**cut) == [0.8, -0.6]


def test_scores_out_of_range_are_errors():
    assert steps(layouts=["Ut"]) == []
    for wrong in ({"good": 0.1}, {"good": 1.2}, {"bad": -1.1}, {"bad": 0.2}):
        with pytest.raises(InputError, match="-1 <= bad < plain <= good <= 1"):
            step_status(**wrong)
