"""Constants of the method urpo, read by the tests of every method (tests/papers), and its rewards by hand."""

import pytest
from helpers.methods import made

from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.mixture import PART
from handaxe.worlds.parts.demonstrate import demonstrate

LAB = "its referee is the policy"
ASKS_MODEL = True


REPLIES = {
    "verifiable": {"": 0.0, "expert": 1.0},
    "ranking": {"x": -1.0, "expert": 1.0},
    "open": {"1": 0.0, "expert": 1.0},
}


def test_each_part_has_its_reward():
    """The rule as referee gives the true score."""
    method = made("urpo", "--judge", "rule", "--world.careless", "0")
    for task in method.world.tasks("train", 3, 0):
        part, expert = task.metadata[PART], method.world.expert(task, {}).content
        for text, reward in REPLIES[part].items():
            one = played(method, task, expert if text == "expert" else text)
            scores = method.reward(Group(task, (one,)))
            assert scores.outcome.tolist() == [reward]
            assert sorted(scores.channels) == (["judged", "quality"] if part == "open" else [])


def played(method, task, text):
    return demonstrate(
        method.world.env(()), task, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )


@pytest.mark.parametrize("judge", ["trained", "head:tiny"])
def test_a_taught_referee_is_refused(judge):
    with pytest.raises(InputError, match="this method asks for texts"):
        made("urpo", "--judge", judge)
