"""Definitions of the library."""

import dataclasses

import pytest

from handaxe.evaluation.benchmarks.lookup import BENCHMARKS

MADE = [make() for make in BENCHMARKS.values()]


@pytest.mark.parametrize("made", MADE, ids=lambda one: one.name)
def test_parts_differ_and_limits_are_positive(made):
    names = [one.name for one in made.parts]
    assert names and len(set(names)) == len(names)
    assert min(made.trials, made.max_turns, made.max_tokens, made.room) >= 1 and made.room <= made.max_tokens


@pytest.mark.parametrize("made", MADE, ids=lambda one: one.name)
def test_several_trials_are_drawn(made):
    """Greedy trials would be equal, and pass^k equal for every k."""
    assert made.trials == 1 or made.temperature > 0


def test_a_definition_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MADE[0].trials = 2
