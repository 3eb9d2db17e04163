from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.restart_policy.abort_rule import abort_rule
from handaxe.papers.restart_policy.expected_makespan import attempt_rates, expected_makespan

ATTEMPTS = [np.array([0.2, 0.1]), np.array([0.2, 0.9, 0.9])]


def test_the_example_by_hand():
    # at 0.1 both attempts have an alarm after turn 1; at 0.5 the failure alone, after turn 2 of 3
    found = abort_rule(ATTEMPTS, [True, False], thresholds=[0.1, 0.5])
    assert found.threshold == 0.5
    assert found.rates == (0.5, 2.0, 3.0, 2.0, 1.0, 0.0)
    assert found.makespan == (5.0, 4.0, 0.0)
    assert found.makespan.pays


def test_reversed_predictions_do_not_pay():
    found = abort_rule([1 - own for own in ATTEMPTS], [True, False], thresholds=[0.1])
    assert found.makespan.restart == inf and not found.makespan.pays


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=6), st.data())
def test_no_threshold_has_a_lower_expected_time(probabilities, data):
    success_N = [True, *(data.draw(st.booleans()) for _ in probabilities[1:])]
    found = abort_rule([np.array(own) for own in probabilities], success_N, thresholds=[0.2, 0.5, 0.8])
    slow = []
    for threshold in (0.2, 0.5, 0.8):
        alarm_N = []
        for own in probabilities:
            alarm_N.append(next((k + 1 for k, value in enumerate(own[:-1]) if value > threshold), inf))
        slow.append(expected_makespan(attempt_rates(success_N, [len(own) for own in probabilities], alarm_N)).restart)
    assert found.makespan.restart == min(slow)
    assert found.threshold == (0.2, 0.5, 0.8)[slow.index(min(slow))]


def test_no_threshold_raises():
    with pytest.raises(InputError, match="give one or more"):
        abort_rule(ATTEMPTS, [True, False], thresholds=[])
