"""Choice of an alarm threshold by the expected makespan, or of no restarts at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.papers.restart_policy.expected_makespan import AttemptRates, Makespan, attempt_rates, expected_makespan
from handaxe.papers.restart_policy.failure_detector import first_alarm

__all__ = ["AbortRule", "abort_rule"]


class AbortRule(NamedTuple):
    """A threshold of a failure detector, the statistics behind it, and the expected times.

    The rule is adopted only if `makespan.pays`.
    """

    threshold: float
    rates: AttemptRates
    makespan: Makespan


def abort_rule(
    probabilities: Sequence[np.ndarray], success_N: Sequence[bool], *, thresholds: Sequence[float]
) -> AbortRule:
    """Choose the threshold with the lowest expected time to the first success, in turns.

        alarm of attempt n  =  first turn before the last one with a probability above the threshold
        threshold  =  argmin over thresholds of E1 of `expected_makespan`, the first of equal ones

    Args:
        probabilities: of failure after each turn, an array [K] for each of N undisturbed attempts. The attempts should
            be others than those the detector was fitted on.
        success_N: outcomes.
        thresholds: candidates, at least one.

    Returns:
        The rule.

    Raises:
        InputError: no threshold, or as `attempt_rates`.

    Example:
        attempts 0.2, 0.1 (success) and 0.2, 0.9, 0.9 (failure), thresholds 0.1 and 0.5
        ->  0.5: the alarm after turn 2 of the failure alone; E0 = 2 + 3 = 5, E1 = 2 + 2 = 4

    Paper: arXiv:2301.10846 (Restart policy), adoption of a preemptive policy only if it saves time.
    Unconfirmed: how the paper sets the threshold of its predictor.
    Differs: nothing known.
    """
    if not len(thresholds):
        raise InputError("abort_rule has no threshold to choose from; give one or more")
    time_N = [len(own) for own in probabilities]
    rules = list[AbortRule]()
    for threshold in thresholds:
        alarm_N = [first_alarm(own, threshold) for own in probabilities]
        rates = attempt_rates(success_N, time_N, alarm_N)
        rules.append(AbortRule(float(threshold), rates, expected_makespan(rates)))
    return min(rules, key=lambda rule: rule.makespan.restart)
