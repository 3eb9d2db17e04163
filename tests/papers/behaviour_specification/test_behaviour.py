import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.papers.behaviour_specification.behaviour import behaviour
from handaxe.testing.make_records import make_group, make_trajectory

CONTRACT = [{"kind": "call"}, {"kind": "failed_call"}]
LAB = "an indicator of a behaviour, with a negative weight"


def rollout(*statuses):
    replies = [ToolReply(f"0-{i}", "f", "", status) for i, status in enumerate(statuses)]
    return make_trajectory(texts=["", "4"], calls=[["f"] * len(statuses), []], replies=[replies, []])


GROUP = make_group(
    trajectories=[
        rollout("ok", "failed"),
        rollout("ok", "ok"),
        rollout("ok", "infra_error"),
        rollout("timeout"),
        make_trajectory(texts=["4"]),
        make_trajectory(texts=["5"], errors=[["not JSON"]]),
    ]
)


@pytest.mark.parametrize("kind, found", [("call", [1, 1, 1, 1, 0, 1]), ("failed_call", [1, 0, 0, 1, 0, 1])])
def test_indicators_match_their_definition(kind, found):
    assert behaviour(kind=kind)(GROUP).outcome.tolist() == found


def test_another_kind_is_rejected():
    with pytest.raises(InputError, match="call or failed_call"):
        behaviour(kind="lies")
