import random

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.ops.seeds import derive_seed
from handaxe.papers.prompt_enhancer.alignment_reward import alignment_reward
from handaxe.papers.prompt_enhancer.image_requests import image_requests, met_points
from handaxe.testing.make_records import make_group, make_task, make_trajectory

pytest.importorskip("PIL")
CONTRACT = []
LAB = [
    LabCase("alignment_reward(error=0.1)", image_requests, lambda world: alignment_reward(met=met_points, error=0.1)),
]


def group_of(*texts):
    task = make_task(id="t")
    return make_group(trajectories=[make_trajectory(texts=[text], task=task) for text in texts], task=task)


def points(one):
    """As many met points of two images of 24 as the two numbers of the text say."""
    return [[n < met for n in range(24)] for met in map(int, one.final_text.split())]


def test_the_reward_equals_the_worked_example():
    scores = alignment_reward(met=points)(group_of("18 12", "24 24", "0 0"))
    assert scores.outcome == pytest.approx([0.625, 1, 0]) and scores.channels["aligned"] == pytest.approx([0.625, 1, 0])
    assert scores.channels["errs"].tolist() == [0, 0, 0]


def test_errors_equal_a_slow_loop():
    reward = alignment_reward(met=points, error=0.3)
    scores = reward(group_of("18 12", "3 4"))
    for number, text in enumerate(("18 12", "3 4")):
        rng, total, wrong = random.Random(derive_seed("alignment", "t", text)), 0, 0
        for met in map(int, text.split()):
            for n in range(24):
                flipped = rng.random() < 0.3
                wrong += flipped
                total += (n < met) != flipped
        assert scores.outcome[number] == pytest.approx(total / 48) and wrong > 0
        assert scores.channels["errs"][number] == pytest.approx(wrong / 48)
    assert reward(group_of("18 12", "18 12")).outcome.tolist() == [scores.outcome[0]] * 2


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="error is 0.6"):
        alignment_reward(met=points, error=0.6)
    with pytest.raises(InputError, match="no key point"):
        alignment_reward(met=lambda one: [[]])(group_of("1 1"))
