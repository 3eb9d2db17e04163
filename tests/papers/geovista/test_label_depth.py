import itertools

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.geovista.label_depth import label_depth
from handaxe.papers.geovista.places import level_reward, places
from handaxe.testing.make_records import make_group, make_task, make_trajectory

GOLD = ("france", "rhone", "lyon")


def levels(trajectory):
    return trajectory.final_text.split("/")


def scored(*texts, gold=GOLD, **knobs):
    group = make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])
    return label_depth(found=levels, gold=lambda task: gold, **knobs)(group).outcome.tolist()


KNOBS = {"found": levels, "gold": lambda task: ("4", "5")}
CONTRACT = [KNOBS, {**KNOBS, "released": True}]
LAB = [
    LabCase("label_depth(...)", places, lambda world: level_reward()),
]


def test_label_depth_matches_its_example():
    said = ("france/rhone/lyon", "france/rhone/vienne", "france/isere/lyon", "spain/rhone/lyon")
    assert scored(*said) == [4, 2, 1, 0]


def test_in_the_released_form_the_finest_level_decides():
    said = ("spain/rhone/lyon", "spain/rhone/vienne", "france/isere/vienne", "spain/isere/vienne", "lyon", "")
    assert scored(*said, released=True) == [4, 2, 1, 0, 0, 0]


def test_label_depth_matches_a_slow_count_over_all_labels():
    said = ["/".join(words) for n in range(4) for words in itertools.product(("france", "rhone", "lyon"), repeat=n)]
    for text, got in zip(said, scored(*said, beta=3.0)):
        depth = max((d for d in range(4) if text.split("/")[:d] == list(GOLD[:d])), default=0)
        assert got == (3.0 ** (depth - 1) if depth else 0)


@pytest.mark.parametrize(
    ("text", "worth"),
    [("", 0), (" France / RHONE/Lyon ", 4), ("france/rhone/lyon/old town", 4), ("france", 1), ("/france/rhone", 0)],
)
def test_case_and_white_space_are_ignored(text, worth):
    assert scored(text) == [worth]


def test_a_single_level_is_binary():
    assert scored("france", "spain", gold=("france",)) == [1, 0]


def test_label_depth_rejects_invalid_arguments():
    with pytest.raises(InputError, match="beta is 1"):
        label_depth(found=levels, gold=lambda task: GOLD, beta=1.0)
    for gold in ((), ("france", " ")):
        with pytest.raises(TaskError, match="a label on every level"):
            scored("france", gold=gold)


def test_a_trajectory_without_turns_earns_0():
    silent = make_trajectory(layouts=["UUt"], texts=[], task=make_task())
    reward = label_depth(found=levels, gold=lambda task: GOLD)
    assert reward(make_group(trajectories=[silent])).outcome.tolist() == [0]
