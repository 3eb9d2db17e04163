from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.annealed_calls import annealed_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.gate import gate
from handaxe.testing.make_records import make_group, make_task, make_trajectory
from handaxe.training.loop.schedule import cosine
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"scale": 0.5}, {"scale": lambda step: 1.0, "per_turn": 1.0}]
LAB = [
    LabCase(
        "annealed_calls(scale=1)", partial(arithmetic, easy=0.0, mistakes=True), lambda world: annealed_calls(scale=1.0)
    ),
]
MU = cosine(1.0, steps=200)


def group_of(*counts, step=0, texts=None):
    """Rollouts with given numbers of turns with a call, and a turn without."""
    task = make_task(answer="4")
    return make_group(
        trajectories=[
            make_trajectory(texts=[""] * n + [text], calls=[["f"]] * n + [[]], task=task)
            for n, text in zip(counts, texts or [""] * len(counts))
        ],
        task=task,
        step=step,
    )


def test_annealed_calls_matches_the_docstring_example():
    assert [MU(step) for step in (0, 50, 100, 200, 300)] == pytest.approx([1, 0.8536, 0.5, 0, 0], abs=1e-4)
    assert annealed_calls(scale=MU)(group_of(4, step=50)).outcome.tolist() == pytest.approx([0.3414], abs=1e-4)


def test_turns_are_counted_up_to_the_cap():
    assert annealed_calls(scale=1.0)(group_of(0, 1, 9, 10, 12)).outcome.tolist() == pytest.approx([0, 0.1, 0.9, 1, 1])
    two_in_a_turn = make_group(trajectories=[make_trajectory(texts=[""], calls=[["f", "g"]])])
    assert annealed_calls(scale=1.0)(two_in_a_turn).outcome.tolist() == [0.1]


def test_gated_form_pays_correct_answers_with_calls():
    reward = gate(on=exact_match(), then=annealed_calls(scale=MU, per_turn=1.0), otherwise=annealed_calls(scale=MU))
    group = group_of(4, 4, 0, step=50, texts=["4", "5", "4"])
    assert reward(group).outcome.tolist() == pytest.approx([0.8536, 0.3414, 0], abs=1e-4)


def test_negative_numbers_are_errors():
    for wrong in ({"per_turn": -0.1}, {"cap": -1.0}):
        with pytest.raises(InputError, match="per_turn"):
            annealed_calls(scale=1.0, **wrong)
