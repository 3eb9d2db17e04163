import numpy as np
import pytest

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.mpo.required_letters import line_score, required_letters
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def test_required_letters_keeps_the_world_contract():
    check_world(required_letters(), count=12)


@pytest.mark.parametrize(
    "line, score", [("fbd", 3), ("fb", 2), ("fbdd", 2), ("fbda", 2), ("f", 1), ("xf", 0), ("bbbbbb", 0), ("", 0)]
)
def test_scores_by_hand(line, score):
    """Required b, d and f: one point for each that is there, less one for each further character."""
    assert line_score(line, "bdf") == pytest.approx(score / 3, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_score_equals_a_loop_over_characters(seed):
    rng = np.random.default_rng(seed)
    line = "".join(rng.choice(list("abcdefgh"), 5))
    left = set("bdf")
    points = 0
    for letter in line:
        points += 1 if letter in left else -1
        left -= {letter}
    assert line_score(line, "bdf") == pytest.approx(max(0, points) / 3, abs=1e-12)


def test_careless_lines_are_longer_shorter_and_repeat():
    tasks = required_letters(careless=1.0).tasks("train", 400, 0)
    lines = [(one.metadata["demonstrated"], one.metadata["required"]) for one in tasks]
    assert {len(line) for line, _ in lines} == {1, 2, 3, 4, 5}
    assert np.mean([len(set(line)) < len(line) for line, _ in lines]) > 0.2
    assert 0.2 < np.mean([line_score(*one) for one in lines]) < 0.5


def test_the_gauges():
    world = required_letters()
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(
        world.env(()),
        task,
        lambda task, facts: Message("assistant", task.metadata["required"][:2]),
        format=Compact(),
        max_turns=1,
    )
    assert world.correct(Group(task, (one,))).outcome.tolist() == pytest.approx([2 / 3])
    assert {name: gauge.top(one, 0.0) for name, gauge in world.gauges.items()} == pytest.approx(
        {"quality": 2 / 3, "letters": 2}
    )
