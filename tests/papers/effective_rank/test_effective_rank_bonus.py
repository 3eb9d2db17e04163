import math

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.ops.ragged import gather
from handaxe.papers.effective_rank.effective_rank_bonus import effective_rank_bonus, rank_dynamics
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.testing.random_groups import random_group

CONTRACT = [{"feature": "value", "stride": 1}, {"feature": "value", "stride": 2, "kappa": 0.5}]
BIAS = "the process has no hidden states"
RANKS = [1.0, 2.0, 3.0, 5.0, 6.0]


def rated(*ranks, advantage=0.8, **options):
    siblings = [make_trajectory(layouts=["U" + "p" * len(own)], features={"effective_rank": own}) for own in ranks]
    values = [advantage] * len(siblings) if isinstance(advantage, float) else advantage
    return make_rated(group=make_group(trajectories=siblings), advantage=values, **options)


def levels(one):
    return [float(row[-1]) for (row,) in one.advantages.tokens]


def test_rank_dynamics_match_their_example():
    found = rank_dynamics(np.array(RANKS), stride=1)
    assert found["velocity"] == pytest.approx((1 + 2.5 + 8 / 3) / 3) == pytest.approx(2.0556, abs=1e-4)
    assert found["acceleration"] == pytest.approx((1.5 + 1 / 6) / 2) == pytest.approx(0.8333, abs=1e-4)
    assert found["rank"] == 6
    assert rank_dynamics(np.array(RANKS), stride=2)["velocity"] == pytest.approx(6 - 3)
    for short, wanted in ([], (0, 0, 0)), ([1.0], (1, 0, 0)), ([1.0, 2.0], (2, 0, 0)), ([1.0, 2.0, 4.0], (4, 2, 0)):
        got = rank_dynamics(np.array(short), stride=1)
        assert (got["rank"], got["velocity"], got["acceleration"]) == wanted


@pytest.mark.parametrize(("phi", "wanted"), [(0.5, [1.2, -0.4, 0.0]), (-0.5, [0.8, -0.8, 0.0])])
def test_effective_rank_bonus_matches_its_example(phi, wanted):
    """A rank alone, so far above or below the usual one that Phi is what is asked for."""
    shape = effective_rank_bonus(stride=9, gain=0.0)
    usual = {"acceleration": 0.0, "velocity": 0.0, "rank": 3.0}
    shape.load_state_dict({"usual": usual})
    far = 3 * (1 + math.atanh(abs(phi) / 0.5 - 1e-9)) if phi > 0 else 0.0
    (one,) = shape([rated([far], [far], [far], advantage=[0.8, -0.8, 0.0])])
    assert levels(one) == pytest.approx(wanted, abs=1e-6)


def test_a_small_bonus_is_added_whole():
    shape = effective_rank_bonus(stride=9, gain=0.0)
    shape.load_state_dict({"usual": {"acceleration": 0.0, "velocity": 0.0, "rank": 2.0}})
    (one,) = shape([rated([2.2], advantage=[0.8])])
    assert levels(one) == pytest.approx([0.8 + 0.5 * math.tanh(0.1)])


@pytest.mark.parametrize("seed", range(4))
def test_effective_rank_bonus_matches_a_slow_loop_over_three_steps(seed):
    rng = np.random.default_rng(seed)
    shape, usual = effective_rank_bonus(stride=2, kappa=1.5, gain=0.7, rate=0.4), []
    for _ in range(3):
        batch = [make_rated(group=random_group(seed, features=("effective_rank",)))]
        batch[0].trained[:] = rng.random(len(batch[0].group)) < 0.8
        seen = []
        (got,) = shape(batch)
        for i, one in enumerate(batch[0].group):
            ranks = gather(one, [s.features["effective_rank"] for s in one.sequences]).tolist()
            adv, new = gather(one, batch[0].advantages.tokens[i]), gather(one, got.advantages.tokens[i])
            if not ranks or not batch[0].trained[i]:
                np.testing.assert_array_equal(new, adv)
                continue
            m = [ranks[t] for t in range(2, len(ranks), 2)]
            first = [m[k] - sum(m[:k]) / k for k in range(1, len(m))]
            second = [b - a for a, b in zip(first, first[1:])]
            x = [sum(own) / len(own) if own else 0.0 for own in (second, first)] + [ranks[-1]]
            phi = 0.0
            if usual:
                d = [min(5.0, max(-5.0, (v - mu) / (abs(mu) + 1e-8))) for v, mu in zip(x, usual)]
                b = 1 / (1 + math.exp(-0.7 * d[0]))
                phi = (1 - b) * math.tanh(d[1]) + b * math.tanh(d[2])
            slow = [a + min(max(phi, 0.0), abs(a) / 1.5) for a in adv]
            np.testing.assert_allclose(new, slow, atol=1e-12)
            seen.append(x)
        means = [sum(x[k] for x in seen) / len(seen) for k in range(3)]
        usual = [0.6 * mu + 0.4 * mean for mu, mean in zip(usual, means)] if usual else means
    assert list(shape.usual.values()) == pytest.approx(usual)


def test_untrained_and_short_rollouts_and_invalid_arguments():
    shape = effective_rank_bonus(stride=1)
    (one,) = shape([rated(RANKS, trained=[False])])
    assert levels(one) == [0.8] and shape.usual == {}
    (one,) = shape([rated(RANKS, RANKS, advantage=0.0)])
    assert levels(one) == [0, 0]
    with pytest.raises(InputError, match="effective_rank"):
        shape([make_rated(group=make_group(layouts=["Up"]), advantage=[1.0])])
    for wrong in ({"stride": 0}, {"kappa": 0.0}, {"rate": 0.0}):
        with pytest.raises(InputError, match="give 1 or more"):
            effective_rank_bonus(**wrong)


def test_a_constant_statistic_earns_no_bonus():
    """With means that start at 0 the bonus of five equal batches would be near its most."""
    shape = effective_rank_bonus(stride=1)
    for _ in range(5):
        (one,) = shape([rated(RANKS)])
        assert levels(one) == pytest.approx([0.8])
    (one,) = shape([rated([2 * rank for rank in RANKS])])
    assert levels(one)[0] > 1.0


def test_running_means_round_trip_before_and_after_the_first_batch():
    shape, other = effective_rank_bonus(stride=1), effective_rank_bonus(stride=1)
    other.load_state_dict(shape.state_dict())
    assert other.usual == {}
    shape([rated(RANKS)])
    other.load_state_dict(shape.state_dict())
    assert other.usual == shape.usual != {}
