import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.rewards.ladder import Rung, ladder
from handaxe.testing.make_records import make_group, make_scores

CONTRACT = []
LAB = "passes other rewards on; see the methods"


def fixed(*outcome, turns=None):
    return lambda group: make_scores(list(outcome), turns=turns)


def test_ladder_matches_the_docstring_example():
    climbs = ladder(
        [
            Rung("format", fixed(0, 1, 1, 1), weight=0.0, failed=-1.0),
            Rung("answer", fixed(1, 0, 0.5, 1)),
            Rung("used", fixed(1, 1, 0, 1), weight=0.1),
        ]
    )
    scores = climbs(make_group(size=4))
    assert scores.outcome.tolist() == [-1, 0, 0.5, 1.1]
    assert scores.channels["used"].tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize(("outcome", "steps", "earned"), [(0.5, [0.1, 0.1, -0.1], 0.6), (-1.0, [0.1] * 20, -1.0)])
def test_two_rungs_equal_gated_accumulation(outcome, steps, earned):
    two = [Rung("outcome", fixed(outcome)), Rung("steps", fixed(sum(steps)))]
    assert ladder(two)(make_group(size=1)).outcome.tolist() == pytest.approx([earned], abs=1e-12)


def test_ladder_equals_a_slow_loop():
    random = np.random.default_rng(3)
    for _ in range(200):
        values = random.choice([-1.0, 0.0, 0.4, 1.0], size=(3, 5))
        weight, above = random.normal(size=3), random.choice([0.0, 0.3], size=3)
        failed = [random.choice([None, -1.0, 2.0]) for _ in range(3)]
        rungs = [Rung(str(k), fixed(*values[k]), weight[k], above[k], failed[k]) for k in range(3)]
        expected = []
        for i in range(5):
            earned = 0.0
            for k in range(3):
                earned += weight[k] * values[k][i]
                if values[k][i] <= above[k]:
                    earned = earned if failed[k] is None else failed[k]
                    break
            expected.append(earned)
        assert ladder(rungs)(make_group(size=5)).outcome.tolist() == pytest.approx(expected, abs=1e-12)


def test_invalid_rungs_are_errors():
    with pytest.raises(InputError, match="its own name"):
        ladder([Rung("a", fixed(1)), Rung("a", fixed(1))])
    with pytest.raises(InputError, match="'a' has a number that is not finite"):
        ladder([Rung("a", fixed(1), above=float("nan"))])
    with pytest.raises(InputError, match="at least one"):
        ladder([])
    with pytest.raises(InputError, match=r"'a' has per-turn values"):
        ladder([Rung("a", rewards.per_turn(lambda one: [1.0] * len(one.turns)))])(make_group(size=1))
