import pytest

from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.hybrid.mixed_reward import mixed_reward
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

TASK = make_task(answer="4")
MODEL = outcome(lambda one: 0.4)
CONTRACT = [{"correct": exact_match(), "model": MODEL}]
LAB = [
    LabCase(
        "mixed_reward(model=0.4)",
        arithmetic,
        lambda world: mixed_reward(correct=world.correct, model=MODEL),
        why="The model's score is constant, and the format is paid beside the answer.",
    )
]


def scored(length, **weights):
    """Rewards of a correct and a wrong number, and of a word, with `length` sampled tokens each."""
    texts = ("4", "5", "four")
    trajectories = [make_trajectory(layouts=["U" + "p" * length], texts=[text], task=TASK) for text in texts]
    scores = mixed_reward(correct=exact_match(), model=MODEL, **weights)(
        make_group(task=TASK, trajectories=trajectories)
    )
    return scores.outcome.tolist(), scores.channels["unsure"].tolist()


def test_the_reward_equals_the_worked_example():
    """Numbers: 0.8 rule + 0.2 * 0.4 + 0.2 for the format; the word: 0.4 + 0.2."""
    found, doubtful = scored(20)
    assert found == pytest.approx([1.08, 0.28, 0.6], abs=1e-9)
    assert doubtful == [0, 0, 1]


def test_length_costs_from_32_tokens_to_64():
    """48 tokens are half of the way, at half of the weight 0.5."""
    assert scored(48)[0] == pytest.approx([0.83, 0.03, 0.35], abs=1e-9)
    assert scored(80)[0] == pytest.approx([0.58, -0.22, 0.1], abs=1e-9)


def test_trust_of_0_leaves_the_model_alone():
    assert scored(20, trust=0.0, format_weight=0.0)[0] == pytest.approx([0.4, 0.4, 0.4], abs=1e-9)
