import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.core.validation import check_group
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.rest_mcts.mcts_star import mcts_star, search_strategy
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.search.value_search import CHOSEN, ROOT


class Says:
    """A value model with one value of all turns."""

    def __init__(self, value):
        self.value = value

    def score_steps(self, group):
        return tuple(np.full(len(one.turns), self.value) for one in group)


def play(dice, search, seed=4):
    found = run_plan(search(dice.attempt(seed)), sample=dice.roll)
    check_group(Group(found[0].task, tuple(found)))
    return found


def test_a_value_above_the_gate_ends_the_search_after_one_expansion(dice):
    high, low = (play(dice, mcts_star(judge=Says(value), tokens=300, max_turns=4)) for value in (0.95, 0.5))
    assert high[0].notes[ROOT] == {"visits": 1, "value": pytest.approx(0.95)} and high[0].notes[CHOSEN]
    assert low[0].notes[ROOT]["visits"] > 1 and len(low) > len(high)


def test_strategies_by_name(dice):
    trees, samples = (
        play(dice, search_strategy(name, judge=Says(0.95), tokens=60, max_turns=4)) for name in ("tree", "samples")
    )
    assert any(one.branch_of is not None for one in trees)
    assert total_usage(Group(trees[0].task, tuple(trees))).tokens >= 60, "no end gate"
    assert all(one.branch_of is None for one in samples) and sum(one.usage.tokens for one in samples) >= 60


def test_another_name_is_an_error():
    with pytest.raises(InputError, match="'beam'"):
        search_strategy("beam", judge=Says(0.5), tokens=60, max_turns=4)
