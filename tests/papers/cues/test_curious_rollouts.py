"""Exploration of hops: concepts, coverage, and the training half."""

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.cues.curious_rollouts import concept_pool, curious_rollouts
from handaxe.papers.cues.exploration_memory import ExplorationMemory
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.hops.knowledge_base import RELATIONS
from handaxe.worlds.hops.world import hops

WORLD = hops(size=40)


def test_concepts_are_the_words_of_several_seed_tasks():
    assert concept_pool(WORLD.tasks("train", 32, 0)) == sorted(RELATIONS)
    with pytest.raises(InputError, match="give other seed tasks"):
        concept_pool(WORLD.tasks("train", 8, 0), common=1.5)


def test_memory_covers_more_actions_than_chance():
    shares = {}
    for curious in (True, False):
        memory = ExplorationMemory(curious=curious)
        played = curious_rollouts(WORLD, WORLD.env(WORLD.tools), memory, rollouts=4, steps=12, seed=0)
        assert [len(one.turns) for one in played] == [12] * 4 and memory.counts.total() == 48
        shares[curious] = memory.distinct
    assert shares[True] > shares[False] + 0.05


def test_equal_seeds_explore_equally_and_rollouts_share_the_memory():
    def calls(seed):
        memory = ExplorationMemory()
        played = curious_rollouts(WORLD, WORLD.env(WORLD.tools), memory, rollouts=2, steps=6, seed=seed)
        return [str(call.arguments["query"]) for one in played for call in one.calls], memory

    queries, memory = calls(3)
    assert queries == calls(3)[0] != calls(4)[0] and sorted(memory.counts.elements()) == sorted(queries)


def test_wrong_input():
    other = arithmetic()
    with pytest.raises(InputError, match="has no 'exploration'"):
        curious_rollouts(other, other.env(other.tools), ExplorationMemory())
    with pytest.raises(InputError, match="give 1 or more"):
        curious_rollouts(WORLD, WORLD.env(WORLD.tools), ExplorationMemory(), steps=0)
