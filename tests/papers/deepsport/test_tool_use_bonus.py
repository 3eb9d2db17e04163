from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.papers.deepsport.tool_use_bonus import tool_use_bonus
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.reply_status import reply_status
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.clips.world import clips

CONTRACT = [{"base": exact_match()}]
LAB = [
    LabCase("tool_use_bonus(...)", partial(clips, loose=6), lambda world: tool_use_bonus(base=world.correct)),
]


def attempts(*used):
    calls = [[["f"], []] if one else [[], []] for one in used]
    replies = [[["1"], []] if one else [[], []] for one in used]
    return make_group(trajectories=[make_trajectory(calls=c, replies=r) for c, r in zip(calls, replies, strict=True)])


def scored(*values):
    return lambda group: Scores(np.array(values, dtype=float))


def test_tool_use_bonus_matches_its_example():
    found = tool_use_bonus(base=scored(1, 1, 0.6, 0.4))(attempts(True, False, True, True))
    assert found.outcome.tolist() == pytest.approx([1.5, 1, 0.9, 0.43])
    assert found.channels["base"].tolist() == [1, 1, 0.6, 0.4] and found.channels["used"].tolist() == [1, 0, 1, 1]


def test_tool_use_bonus_matches_a_slow_loop():
    rng = np.random.default_rng(0)
    values, used = rng.integers(0, 11, 40) / 10, rng.random(40) < 0.5
    wanted = []
    for value, looked in zip(values, used, strict=True):
        tool = (0.3 * value if value >= 0.5 else 0.2) if looked else 0
        wanted.append(value + tool)
    found = tool_use_bonus(base=scored(*values), share=0.3, curiosity=0.2)(attempts(*used))
    assert found.outcome.tolist() == pytest.approx(wanted)


def test_the_accuracy_threshold_is_inclusive_up_to_rounding():
    found = tool_use_bonus(base=scored(0.5 - 1e-12, 0.1 * 3 + 0.2))(attempts(True, True))
    assert found.outcome.tolist() == pytest.approx([0.75, 0.75])


def test_the_reward_with_the_format_gate_matches_the_paper():
    """Accurate with tools 1.5, without 1, wrong with tools 0.03, and -0.05 for one that makes a call again."""
    again = make_trajectory(calls=[["f"], ["f"]], replies=[["1"], ["1"]])
    group = make_group(trajectories=[*attempts(True, False, True), again])
    rungs = [
        Rung("kept", no_repeats(), weight=0.0, failed=-0.05),
        Rung("paid", tool_use_bonus(base=scored(1, 1, 0, 1))),
    ]
    assert ladder(rungs)(group).outcome.tolist() == pytest.approx([1.5, 1, 0.03, -0.05])


def test_a_base_with_per_turn_rewards_is_rejected():
    with pytest.raises(InputError, match="per-turn"):
        tool_use_bonus(base=reply_status())(attempts(True))
