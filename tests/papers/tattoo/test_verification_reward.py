from functools import partial
from math import log

import pytest
from helpers.verification import verification

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.tattoo.table_steps import table_steps
from handaxe.papers.tattoo.verification_reward import step_rewards, verification_reward
from handaxe.testing.make_records import make_group

LAB = [LabCase("verification_reward()", partial(table_steps, terse=0.0), lambda world: verification_reward())]


SIBLINGS = make_group(
    trajectories=[
        verification(("", ["a3"]), ("12:12+", ["45+50"]), ("95:93-", ["93+12"]), ("105:105+", [])),
        verification(("12:12+ 95:93+ 105:105+", []), logp=-0.2),
        verification(("", [])),
        verification(("", ["a3"]), ("12:12-", []), logp=-0.5),
    ]
)


def test_the_reward_of_a_step_by_hand():
    """A correct label of probability 0.8 with support: 1 - 0.1 0.2231 + 0.2; an incorrect one without: -0.1609."""
    one = verification(("", ["a3"]), ("12:12+ 93:93+", []), logp=log(0.8))
    found = step_rewards(one, calibration=0.1, tools=0.2)
    assert found == pytest.approx([1.1777, -0.1609, 0.1 * log(0.01)], abs=1e-4)


def test_the_reward_is_the_mean_over_steps_and_equals_a_slow_loop():
    turns = [("", ["a3"]), ("12:12+", ["45+50"]), ("95:93+ 105:105+", [])]
    group = make_group(trajectories=[verification(*turns, logp=log(0.7)), verification(("105:105+", []))])
    weights = [(0.1, 0.2), (0.0, 0.0), (1.0, 0.5)]
    for calibration, tools in weights:
        slow = []
        p = 0.7
        gold = (1, -1, 1)
        for k, (label, support) in enumerate([(1, 1), (1, 1), (1, 0)]):
            chance = p if label == gold[k] else 1 - p
            slow.append((label == gold[k]) + calibration * log(chance) + tools * support)
        second = [1.0, *[calibration * log(0.01)] * 2]
        found = verification_reward(calibration=calibration, tools=tools)(group).outcome
        assert found == pytest.approx([sum(slow) / 3, sum(second) / 3], abs=1e-6)


def test_confidence_in_a_wrong_label_costs_more():
    sure, unsure = (verification(("12:12-", []), logp=log(p)) for p in (0.9, 0.6))
    found = verification_reward()(make_group(trajectories=[sure, unsure])).outcome
    assert found[0] < found[1]


@pytest.mark.parametrize("weights", [{"calibration": -0.1}, {"tools": -1.0}])
def test_weights_below_0_are_refused(weights):
    with pytest.raises(InputError, match="give 0 or more"):
        verification_reward(**weights)
