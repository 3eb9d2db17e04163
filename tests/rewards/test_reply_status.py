from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.reply_status import reply_status
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

LAB = [
    LabCase("reply_status()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: reply_status()),
]


def rollout(*turns, errors=None):
    replies = [[ToolReply(f"{n}-{i}", "f", "", status) for i, status in enumerate(one)] for n, one in enumerate(turns)]
    return make_trajectory(
        texts=[""] * len(turns), calls=[["f"] * len(one) for one in turns], replies=replies, errors=errors
    )


def turns(one, **options):
    return reply_status(**options)(make_group(trajectories=[one])).turns[0].tolist()


def test_reply_status_matches_the_docstring_example():
    assert turns(rollout(["ok"], ["ok", "failed"], [])) == [0, -0.5, 0]


def test_the_worst_status_counts_and_infrastructure_errors_do_not():
    values = {"ok": 1.0, "failed": -0.5, "timeout": -0.7}
    assert turns(rollout(["ok", "timeout", "failed"], ["infra_error"], ["retry"]), values=values) == [-0.7, 0, 0]


def test_malformed_calls_have_their_own_value():
    assert turns(rollout([], ["ok"], errors=[["not JSON"], ["not JSON"]]), malformed=-0.2) == [-0.2, -0.2]


def test_an_unknown_status_is_an_error():
    with pytest.raises(InputError, match=r"unknown statuses \['broken'\]"):
        reply_status(values={"broken": 1.0})
