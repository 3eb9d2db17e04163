"""Choice of the least explored action."""

import random
from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.cues.exploration_memory import ExplorationMemory


def test_the_unexplored_action_is_chosen():
    memory = ExplorationMemory()
    memory.counts.update("ab")
    assert memory.choose("abc", random.Random(0)) == "c" and memory.counts == {"a": 1, "b": 1, "c": 1}


def test_curiosity_makes_every_action_equally_often():
    memory, rng = ExplorationMemory(), random.Random(1)
    for step in range(1, 61):
        memory.choose(range(12), rng)
        counts = [memory.counts[one] for one in range(12)]
        assert max(counts) - min(counts) <= 1 and sum(counts) == step
    assert memory.distinct == 12 / 60


def test_without_curiosity_actions_repeat():
    rng = random.Random(2)
    curious, blind = ExplorationMemory(), ExplorationMemory(curious=False)
    for _ in range(12):
        curious.choose(range(12), rng)
        blind.choose(range(12), rng)
    assert curious.distinct == 1.0 > blind.distinct
    drawn = Counter(blind.choose("ab", rng) for _ in range(2000))
    assert abs(drawn["a"] / 2000 - 0.5) < 0.05


def test_no_candidate_is_refused():
    with pytest.raises(InputError, match="no action to choose"):
        ExplorationMemory().choose([], random.Random(0))
    assert ExplorationMemory().distinct == 1.0
