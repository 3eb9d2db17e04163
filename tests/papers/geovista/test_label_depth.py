import itertools

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.testing.records import make_group, make_task, make_trajectory

GOLD = ("france", "rhone", "lyon")


def levels(trajectory):
    return trajectory.final_text.split("/")


def scored(*texts, gold=GOLD, **knobs):
    group = make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])
    return label_depth(found=levels, gold=lambda task: gold, **knobs)(group).outcome.tolist()


KNOBS = {"found": levels, "gold": lambda task: ("4", "5")}
CONTRACT = [KNOBS, {**KNOBS, "released": True}]


def test_example():
    said = ("france/rhone/lyon", "france/rhone/vienne", "france/isere/lyon", "spain/rhone/lyon")
    assert scored(*said) == [4, 2, 1, 0]


def test_as_released_the_finest_level_decides():
    said = ("spain/rhone/lyon", "spain/rhone/vienne", "france/isere/vienne", "spain/isere/vienne", "lyon", "")
    assert scored(*said, released=True) == [4, 2, 1, 0, 0, 0]


def test_slow_count_over_all_that_can_be_said():
    said = ["/".join(words) for n in range(4) for words in itertools.product(("france", "rhone", "lyon"), repeat=n)]
    for text, got in zip(said, scored(*said, beta=3.0)):
        depth = max((d for d in range(4) if text.split("/")[:d] == list(GOLD[:d])), default=0)
        assert got == (3.0 ** (depth - 1) if depth else 0)


@pytest.mark.parametrize(
    ("text", "worth"),
    [("", 0), (" France / RHONE/Lyon ", 4), ("france/rhone/lyon/old town", 4), ("france", 1), ("/france/rhone", 0)],
)
def test_what_is_said_otherwise(text, worth):
    assert scored(text) == [worth]


def test_one_level_is_all_or_nothing():
    assert scored("france", "spain", gold=("france",)) == [1, 0]


def test_what_cannot_be():
    with pytest.raises(InputError, match="beta is 1"):
        label_depth(found=levels, gold=lambda task: GOLD, beta=1.0)
    for gold in ((), ("france", " ")):
        with pytest.raises(TaskError, match="a label on every level"):
            scored("france", gold=gold)


def test_no_turn_is_worth_nothing():
    silent = make_trajectory(layouts=["UUt"], texts=[], task=make_task())
    reward = label_depth(found=levels, gold=lambda task: GOLD)
    assert reward(make_group(trajectories=[silent])).outcome.tolist() == [0]
