import pytest

from handaxe.core.records import ToolReply
from handaxe.papers.arm_thinker.verdict_rewards import FORMED, RIGHT, SUCCEEDED, WRONG
from handaxe.testing.make_records import make_group, make_trajectory

VERDICT = "46: 2"


@pytest.mark.parametrize(
    "statuses, text, expected",
    [
        (["ok"], VERDICT, [1, 1, 0.4, 1]),
        (["failed"], VERDICT, [1, 1, 0.4, 0]),
        (["failed", "ok"], VERDICT, [1, 1, 0.4, 1]),
        ([], VERDICT, [1, 1, 0.3, 0]),
        ([], "2", [0, 1, 0.3, 0]),
    ],
)
def test_parts_of_the_reward_by_hand(statuses, text, expected):
    """Form, value of a correct verdict, value of a wrong one, and a successful call."""
    replies = [ToolReply(f"0-{i}", "zoom", "", status) for i, status in enumerate(statuses)]
    calls = [["zoom"] * len(statuses), []] if statuses else [[]]
    texts = ["", text] if statuses else [text]
    one = make_trajectory(texts=texts, calls=calls, replies=[replies, []] if statuses else [[]])
    group = make_group(trajectories=[one])
    assert [part(group).outcome[0] for part in (FORMED, RIGHT, WRONG, SUCCEEDED)] == expected
