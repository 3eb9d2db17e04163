import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.rewards.reply_status import reply_status
from handaxe.testing.records import make_group, make_trajectory


def attempt(*turns, errors=None):
    replies = [[ToolReply(f"{n}-{i}", "f", "", status) for i, status in enumerate(one)] for n, one in enumerate(turns)]
    return make_trajectory(
        texts=[""] * len(turns), calls=[["f"] * len(one) for one in turns], replies=replies, errors=errors
    )


def turns(one, **options):
    return reply_status(**options)(make_group(trajectories=[one])).turns[0].tolist()


def test_example():
    assert turns(attempt(["ok"], ["ok", "failed"], [])) == [0, -0.5, 0]


def test_the_worst_counts_and_infrastructure_does_not():
    values = {"ok": 1.0, "failed": -0.5, "timeout": -0.7}
    assert turns(attempt(["ok", "timeout", "failed"], ["infra_error"], ["retry"]), values=values) == [-0.7, 0, 0]


def test_malformed_calls():
    assert turns(attempt([], ["ok"], errors=[["not JSON"], ["not JSON"]]), malformed=-0.2) == [-0.2, -0.2]


def test_a_status_that_replies_do_not_have():
    with pytest.raises(InputError, match=r"never \['broken'\]"):
        reply_status(values={"broken": 1.0})
