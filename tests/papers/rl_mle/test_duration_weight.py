from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.evaluation.gradient_bias import BiasCase
from handaxe.papers.rl_mle.duration_weight import duration_weight
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"unit": "turn"}, {"power": 0.5}, {"tools_only": True}]


def taking(*seconds, replies=0.0):
    """An attempt of a one-token turn for each number of seconds; its first call takes `replies` more."""
    turns = len(seconds)
    made = make_trajectory(layouts=["Ut" + "tTt".join("p" * turns)], calls=[["run"]] * turns, replies=[["ok"]] * turns)
    timed = [replace(turn, seconds=float(own)) for turn, own in zip(made.turns, seconds)]
    if replies:
        slow = replace(timed[0].replies[0], seconds=replies)
        timed[0] = replace(timed[0], replies=(slow,))
    return replace(made, turns=tuple(timed))


def rated(*attempts, **options):
    return make_rated(group=make_group(trajectories=attempts), advantage=[1.0] * len(attempts), **options)


def after_a_second_a_turn(shape):
    """The transform, of trajectories whose turns took one second each."""

    def timed(one):
        siblings = tuple(
            replace(each, turns=tuple(replace(turn, seconds=1.0) for turn in each.turns)) for each in one.group
        )
        return one.with_group(replace(one.group, trajectories=siblings))

    return lambda rated: shape([timed(one) for one in rated])


BIAS = [
    BiasCase(
        "duration_weight() of leave_one_out(), a second a turn, without a race",
        leave_one_out,
        lambda: after_a_second_a_turn(duration_weight()),
        groups=2,
    )
]


def levels(rated):
    return [[row[row != 0].tolist() for (row,) in one.advantages.tokens] for one in rated]


def test_duration_weight_equals_the_worked_example():
    got = levels(duration_weight()([rated(taking(1)), rated(taking(10))]))
    assert got == [[pytest.approx([0.1818], abs=1e-4)], [pytest.approx([1.8182], abs=1e-4)]]
    (one,) = duration_weight()([rated(taking(0.5, replies=0.5), taking(4, 6))])
    assert levels([one])[0] == [pytest.approx([2 / 11]), pytest.approx([20 / 11] * 2)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("unit", ["rollout", "turn"])
def test_duration_weight_equals_a_slow_loop(unit, seed):
    rng = np.random.default_rng(seed)
    times = [[rng.random(rng.integers(1, 4)).tolist() for _ in range(3)] for _ in range(2)]
    trained = [[True, bool(rng.integers(2)), True] for _ in range(2)]
    batch = [rated(*[taking(*own) for own in group], trained=keep) for group, keep in zip(times, trained)]
    counted = [
        dt
        for group, keep in zip(times, trained)
        for own, kept in zip(group, keep)
        if kept
        for dt in ([sum(own)] if unit == "rollout" else own)
    ]
    mean = sum(counted) / len(counted)
    for group, keep, one in zip(times, trained, levels(duration_weight(unit=unit)(batch))):
        for own, kept, found in zip(group, keep, one):
            each = [sum(own)] * len(own) if unit == "rollout" else own
            assert found == pytest.approx([dt / mean if kept else 1.0 for dt in each])


def test_only_trained_turns_are_counted_and_changed():
    """Turns of 1 and 3 seconds, of which the second trains alone: it is the mean of itself."""
    one = rated(taking(1, 3))
    second = tuple((np.cumsum(of.sequences[0].mask) == 2,) for of in one.group)
    alone = replace(one, advantages=replace(one.advantages, trains=second))
    other = rated(taking(1))
    assert levels(duration_weight(unit="turn")([alone])) == [[[1.0, 1.0]]]
    assert levels(duration_weight(unit="turn")([alone, other])) == [[[1.0, 1.5]], [[0.5]]]
    assert levels(duration_weight()([alone, other])) == [[[1.0, pytest.approx(1.6)]], [pytest.approx([0.4])]]


def test_duration_weight_handles_zero_durations_and_bad_arguments():
    assert levels(duration_weight()([rated(taking(0), taking(0))])) == [[[1.0], [1.0]]]
    silent = rated(make_trajectory(layouts=["Ut"]), taking(2))
    assert levels(duration_weight()([silent])) == [[[], [1.0]]]  # who said nothing is not in the mean
    assert levels(duration_weight()([rated(taking(3), trained=[False])])) == [[[1.0]]]
    with pytest.raises(InputError, match="'rollout' or 'turn'"):
        duration_weight(unit="token")
    for power in (-1.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="give a finite number of 0 or more"):
            duration_weight(power=power)


def test_tools_only_ignores_sampling_time():
    """Sampling takes 90 seconds of each; their tools take 1 and 3, and the third calls none."""
    slow = [taking(90, replies=1.0), taking(90, replies=3.0), taking(90)]
    assert levels(duration_weight(tools_only=True)([rated(*slow)])) == [
        [pytest.approx([0.75]), pytest.approx([2.25]), []]
    ]
    assert levels(duration_weight(tools_only=True)([rated(taking(5), taking(7))])) == [[[1.0], [1.0]]]


def test_a_power_between_zero_and_one_interpolates():
    """Seconds 1 and 9, power 1/2: weights 1/2 and 3/2. With power 0 not even what took no time is changed."""
    assert levels(duration_weight(power=0.5)([rated(taking(1), taking(9))])) == [[[0.5], [1.5]]]
    batch = [rated(taking(0), taking(9))]
    assert duration_weight(power=0)(batch) == batch


# An arm that takes 1 second and pays 0.3, one that takes 10 and pays 1; the policy chooses either with 1/2. The exact
# gradient pushes slow by 1 where it pushes fast by 0.3.
SECONDS = {"fast": 1, "slow": 10}
PAYS = {"fast": 0.3, "slow": 1.0}
EXACT = 0.3


def push(seen, weighted):
    """By how much arrivals push fast, as a share of that of slow."""
    batch = [make_rated(group=make_group(trajectories=[taking(SECONDS[arm])]), outcome=[PAYS[arm]]) for arm in seen]
    out = dict.fromkeys(SECONDS, 0.0)
    for arm, one in zip(seen, duration_weight()(batch) if weighted else batch, strict=True):
        out[arm] += float(one.advantages.tokens[0][0].sum())
    return out["fast"] / out["slow"]


def test_a_race_without_weights_pushes_to_the_fast_arm():
    """In 10 seconds fast arrives ten times, slow once."""
    seen = ["fast"] * 10 + ["slow"]
    assert push(seen, weighted=False) == pytest.approx(3 / 1)
    assert push(seen, weighted=True) == pytest.approx(3 / 10) == EXACT


def test_weights_are_a_bias_without_a_race():
    seen = ["fast", "slow"]
    assert push(seen, weighted=False) == pytest.approx(EXACT)
    assert push(seen, weighted=True) == pytest.approx(EXACT / 10)


def test_weights_overcorrect_a_race_with_a_time_limit():
    """One worker draws an arm anew whenever it is free, for 10 seconds. Slow ends only where it is drawn first: with
    chance 1/2. Fast ends n times or more where the first n draws are fast: 1 - 2^-10 times on average."""
    fast, slow = 1 - 2**-10, 0.5
    simulated = {"fast": 0.0, "slow": 0.0}
    for draws in range(2**10):
        clock = 0
        for k in range(10):
            arm = "slow" if draws >> k & 1 else "fast"
            clock += SECONDS[arm]
            if clock > 10:
                break
            simulated[arm] += 2**-10
    assert simulated == pytest.approx({"fast": fast, "slow": slow})
    without, weighted = fast * 0.3 / slow, fast * 0.3 * 1 / (slow * 10)
    assert without == pytest.approx(0.5994, abs=1e-4) and weighted == pytest.approx(0.05994, abs=1e-5)
    assert abs(np.log(without / EXACT)) < abs(np.log(weighted / EXACT))  # the weights do more than undo this race
