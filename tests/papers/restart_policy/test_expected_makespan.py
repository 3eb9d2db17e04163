import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.restart_policy.expected_makespan import AttemptRates, attempt_rates, expected_makespan

EXAMPLE = AttemptRates(0.5, 30.0, 60.0, 15.0, 0.8, 0.1)
share = st.floats(0.0, 1.0)
time = st.floats(0.0, 100.0)
rates = st.builds(AttemptRates, st.floats(0.05, 1.0), time, time, time, share, st.floats(0.0, 0.95))


def slow_makespan(rates, rounds=20000):
    """Sum over attempts of the probability to reach the attempt times its mean time."""
    p, t_s, t_f, t_d, a, b = rates
    cases = [(p * (1 - b), t_s), (p * b, t_d), ((1 - p) * a, t_d), ((1 - p) * (1 - a), t_f)]
    total = 0.0
    reach = 1.0
    for _ in range(rounds):
        for probability, cost in cases:
            total += reach * probability * cost
        reach *= 1 - cases[0][0]
        if reach < 1e-14:
            return total
    raise AssertionError("the sum has not converged")


def test_the_example_by_hand():
    # E1: 0.45 * 30 + 0.05 * 15 + 0.4 * 15 + 0.1 * 60 = 13.5 + 0.75 + 6 + 6 = 26.25, of probability 0.45
    # a*: 0.1 * (0.5 * 15 + 0.5 * 60) / (0.5 * 45) = 3.75 / 22.5
    found = expected_makespan(EXAMPLE)
    assert found == pytest.approx((90.0, 26.25 / 0.45, 3.75 / 22.5), abs=1e-9)
    assert found.pays


def test_a_detector_that_interrupts_successes_does_not_pay():
    # E1: 0.05 * 30 + 0.45 * 15 + 6 + 6 = 20.25, of probability 0.05
    found = expected_makespan(EXAMPLE._replace(false_alarm=0.9))
    assert found == pytest.approx((90.0, 405.0, 1.5), abs=1e-9)
    assert not found.pays
    assert expected_makespan(EXAMPLE._replace(false_alarm=1.0)).restart == inf


@given(rates)
def test_makespan_equals_a_sum_over_attempts(rates):
    found = expected_makespan(rates)
    assert found.restart == pytest.approx(slow_makespan(rates), rel=1e-6, abs=1e-6)
    silent = rates._replace(true_alarm=0.0, false_alarm=0.0)
    assert found.never == pytest.approx(slow_makespan(silent), rel=1e-6, abs=1e-6)


@given(rates)
def test_restarts_pay_above_the_break_even_rate_alone(rates):
    found = expected_makespan(rates)
    if abs(found.restart - found.never) > 1e-6:
        assert found.pays == (rates.true_alarm > found.break_even)


@given(rates)
def test_alarms_without_information_never_pay(rates):
    p, _, _, t_d, _, b = rates
    found = expected_makespan(rates._replace(true_alarm=b))
    assert found.restart - found.never == pytest.approx(b * t_d / (p * (1 - b)), rel=1e-6, abs=1e-6)
    assert not found.restart < found.never - 1e-6


def test_the_mean_of_simulated_makespans_is_the_expected_one():
    rng = random.Random(0)
    p, t_s, t_f, t_d, a, b = EXAMPLE
    times = []
    for _ in range(20000):
        total = 0.0
        while True:
            won = rng.random() < p
            if rng.random() < (b if won else a):
                total += t_d
            elif won:
                break
            else:
                total += t_f
        times.append(total + t_s)
    assert sum(times) / len(times) == pytest.approx(expected_makespan(EXAMPLE).restart, abs=1.0)


def test_rates_of_attempts_by_hand():
    found = attempt_rates([True, False, False], [4, 8, 6], [inf, 3, inf])
    assert found == pytest.approx((1 / 3, 4.0, 7.0, 3.0, 0.5, 0.0), abs=1e-12)
    sure = attempt_rates([True, True], [2, 4], [inf, inf])
    assert sure == (1.0, 3.0, 0.0, 0.0, 0.0, 0.0)
    assert expected_makespan(sure) == (3.0, 3.0, inf)


@pytest.mark.parametrize(
    "change",
    [{"success": 0.0}, {"success": 1.5}, {"true_alarm": -0.1}, {"failure_time": inf}, {"detection_time": -1.0}],
)
def test_bad_rates_raise(change):
    with pytest.raises(InputError, match="give probabilities"):
        expected_makespan(EXAMPLE._replace(**change))


@pytest.mark.parametrize("lists", [([False], [3], [inf]), ([True], [3, 4], [inf]), ([], [], [])])
def test_bad_attempts_raise(lists):
    with pytest.raises(InputError, match="at least one success"):
        attempt_rates(*lists)
