import pytest

from handaxe.core.errors import InputError
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.parts.extract import final_text
from handaxe.rewards.parts.schedules import ramp
from handaxe.testing.records import make_group, make_trajectory


def group_of(*texts, step=0):
    return make_group(trajectories=[make_trajectory(texts=[t]) for t in texts], step=step)


def test_example():
    group = group_of("<think>one two three</think>", "<think>one two three four five</think>", "no thought")
    assert thought_length(target=4)(group).outcome.tolist() == [0.75, 1, 0]


def test_dynamic_target():
    reward = thought_length(target=ramp(384, 640, steps=105))
    text = "<think>" + "w " * 320 + "</think>"
    assert reward(group_of(text, step=0)).outcome.tolist() == [320 / 384]
    assert reward(group_of(text, step=105)).outcome.tolist() == [0.5]


def test_any_text_may_count_as_thought():
    assert thought_length(target=4, thought=final_text)(group_of("one two")).outcome.tolist() == [0.5]


def test_target_must_be_positive():
    with pytest.raises(InputError):
        thought_length(target=0)(group_of("x"))
