import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.bleuberi.descriptions import descriptions
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.schedules import ramp
from handaxe.testing.make_records import make_group, make_trajectory

LAB = [
    LabCase("thought_length(target=8, ...)", descriptions, lambda world: thought_length(target=8, thought=final_text)),
]


def group_of(*texts, step=0):
    return make_group(trajectories=[make_trajectory(texts=[t]) for t in texts], step=step)


def test_thought_length_equals_the_worked_examples():
    group = group_of("<think>one two three</think>", "<think>one two three four five</think>", "no thought")
    assert thought_length(target=4)(group).outcome.tolist() == [0.75, 1, 0]


def test_the_target_may_depend_on_the_step():
    reward = thought_length(target=ramp(384, 640, steps=105))
    text = "<think>" + "w " * 320 + "</think>"
    assert reward(group_of(text, step=0)).outcome.tolist() == [320 / 384]
    assert reward(group_of(text, step=105)).outcome.tolist() == [0.5]


def test_the_thought_is_an_argument():
    assert thought_length(target=4, thought=final_text)(group_of("one two")).outcome.tolist() == [0.5]


def test_thought_length_refuses_targets_that_are_not_positive():
    with pytest.raises(InputError):
        thought_length(target=0)(group_of("x"))
