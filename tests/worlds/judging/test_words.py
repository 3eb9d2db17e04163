import pytest

from handaxe.core.records import Group, Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.worlds.judging.words import words
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = words()
TASK = Task("w", (Message("user", "w: 1..4"),), None, (), {"first": "1", "last": "4"})


def test_words_keeps_the_world_contract():
    check_world(WORLD, count=12)


@pytest.mark.parametrize(
    "text, score", [("14", 1), ("24", 1), ("41", 0), ("44", 0), ("124", 0), ("54", 0), ("4", 0), ("", 0)]
)
def test_scores_by_hand(text, score):
    one = demonstrate(
        WORLD.env(()), TASK, lambda task, facts: Message("assistant", text), format=Compact(), max_turns=1
    )
    assert WORLD.correct(Group(TASK, (one,))).outcome[0] == score


def test_splits_share_no_pair_of_digits():
    pairs = [
        {frozenset((task.metadata["first"], task.metadata["last"])) for task in WORLD.tasks(split, 200, 0)}
        for split in ("train", "test")
    ]
    assert pairs[0] and pairs[1] and not pairs[0] & pairs[1]
