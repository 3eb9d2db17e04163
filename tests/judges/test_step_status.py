import pytest

from handaxe.errors import InputError
from handaxe.judges.step_status import step_status
from handaxe.records import ToolReply
from handaxe.testing.records import make_group, make_trajectory

FAILED, LOST = ToolReply("1-0", "f", "no", "failed"), ToolReply("0-0", "f", "gone", "infra_error")


def steps(**told):
    (own,) = step_status().score_steps(make_group(trajectories=[make_trajectory(**told)]))
    return own.tolist()


def test_example():
    one = make_trajectory(texts=["", "", "4"], calls=[["f"], ["f"], []], replies=[["1"], [FAILED], []])
    group = make_group(trajectories=[one])
    assert step_status().score_steps(group)[0].tolist() == [0.8, -0.6, 0.8]
    assert step_status().score(group).tolist() == [pytest.approx(1.0)]


def test_a_needless_step_adds_up():
    calls = {"calls": [["f"]] * 3 + [[]], "replies": [["1"]] * 3 + [[]]}
    assert sum(steps(**calls)) == pytest.approx(3.2) and steps(texts=["4"]) == [0.8]


def test_what_is_bad():
    assert steps(texts=["x"], finish=["length"]) == [-0.6]
    assert steps(texts=["x"], errors=[["not JSON"]]) == [-0.6]
    assert steps(texts=["x"], finish=["header"]) == [-0.6]
    assert steps(texts=[""], calls=[["f"]], replies=[[LOST]]) == [0.8]


def test_edges():
    assert steps(layouts=["Ut"]) == []
    for good, bad in ((0.5, 0.5), (1.2, 0.0), (0.5, -1.1)):
        with pytest.raises(InputError, match="-1 <= bad < good <= 1"):
            step_status(good=good, bad=bad)
