from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.scaling_inter_rl.horizon import horizon
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear


def test_horizon_equals_the_worked_example():
    turns = horizon(turns=[6, 13, 20], every=100)
    assert [turns(step) for step in (0, 99, 100, 250, 900)] == [6, 6, 13, 20, 20]


@pytest.mark.parametrize("stages, every", [((6, 13, 20), 100), ((1,), 1), ((2, 4), 3)])
def test_horizon_equals_a_slow_loop(stages, every):
    turns, k = horizon(turns=stages, every=every), 0
    for step in range(4 * every * len(stages)):
        if step and step % every == 0 and k + 1 < len(stages):
            k += 1
        assert turns(step) == stages[k]


def test_horizon_copies_its_stages():
    stages = [1, 2]
    turns = horizon(turns=stages, every=1)
    stages[0] = 9
    assert turns(0) == 1


@pytest.mark.parametrize("arguments", [{"turns": []}, {"turns": [2, 0]}, {"turns": [2], "every": 0}])
def test_horizon_refuses_numbers_out_of_range(arguments):
    with pytest.raises(InputError, match="give one stage or more"):
        horizon(**arguments)


def test_linear_reads_the_horizon_at_every_step(dice):
    """The same attempt takes more turns later in training; at an evaluation's step 0 it takes the first stage's."""
    rollout, lengths = linear(max_turns=horizon(turns=[1, 2, 3], every=10)), []
    for seed in range(40):
        found = []
        for step in (0, 9, 10, 25, 99):
            (one,) = run_plan(rollout(replace(dice.attempt(seed), step=step)), sample=dice.roll)
            (fixed,) = run_plan(linear(max_turns=1 + min(step // 10, 2))(dice.attempt(seed)), sample=dice.roll)
            assert one.ending == fixed.ending and list(one.sequences[0].ids) == list(fixed.sequences[0].ids)
            found.append(len(one.turns))
        lengths.append(found)
    assert [1, 1, 2, 3, 3] in lengths
    with pytest.raises(InputError, match="max_turns is 0"):
        linear(max_turns=lambda step: 0)
