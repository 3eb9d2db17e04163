"""Expected time to the first success with and without early restarts, and the alarm rate at which restarts pay."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["AttemptRates", "Makespan", "attempt_rates", "expected_makespan"]


class AttemptRates(NamedTuple):
    """Statistics of independent attempts at a task, and the confusion matrix of a failure detector.

    success          p, probability that an undisturbed attempt succeeds
    success_time     t_s, mean time of an undisturbed success
    failure_time     t_f, mean time of an undisturbed failure
    detection_time   t_d, mean time of the first alarm
    true_alarm       a, probability of an alarm in an attempt that would fail
    false_alarm      b, probability of an alarm in an attempt that would succeed
    """

    success: float
    success_time: float
    failure_time: float
    detection_time: float
    true_alarm: float
    false_alarm: float


class Makespan(NamedTuple):
    """Expected times to the first success.

    never        E0, without restarts before the end
    restart      E1, with a restart at every alarm; inf if every success is interrupted
    break_even   true alarm rate above which restarts pay; above 1 or inf: restarts never pay
    """

    never: float
    restart: float
    break_even: float

    @property
    def pays(self) -> bool:
        """True if restarts have the lower expected time."""
        return self.restart < self.never


def expected_makespan(rates: AttemptRates) -> Makespan:
    """Compute the expected time to the first success by renewal: attempts repeat until one succeeds.

        E0  =  t_s + (1 - p) / p * t_f
        E1  =  [p (1 - b) t_s + (p b + (1 - p) a) t_d + (1 - p)(1 - a) t_f] / (p (1 - b))
        E1 < E0   <=>   a > a*  =  b (p t_d + (1 - p) t_f) / ((1 - p)(t_f - t_d))

    The numerator of E1 is the mean time of an attempt, the denominator the probability of its success. A detector that
    knows nothing, a = b, never pays: E1 - E0 = b t_d / (p (1 - b)).

    Args:
        rates: statistics of attempts. Times may be in any unit, such as turns.

    Returns:
        E0, E1 and a*. a* is inf where no rate suffices: p is 1, or t_d is not below t_f.

    Raises:
        InputError: a probability outside [0, 1], p of 0, or a time that is negative or not finite.

    Example:
        p 0.5, t_s 30, t_f 60, t_d 15, a 0.8, b 0.1  ->  E0 90, E1 26.25 / 0.45 = 58.33, a* 3.75 / 22.5 = 0.1667;
        with b 0.9 E1 is 20.25 / 0.05 = 405 and a* is 1.5

    Paper: arXiv:2301.10846 (Restart policy), the makespan from the confusion matrix of the failure predictor.
    Unconfirmed: the formulas, which are derived here; the paper has a closed form from a Markov jump process.
    Differs: a single mean time of alarms.
    """
    p, t_s, t_f, t_d, a, b = _checked(rates)
    never = t_s + (1 - p) / p * t_f
    attempt = p * (1 - b) * t_s + (p * b + (1 - p) * a) * t_d + (1 - p) * (1 - a) * t_f
    restart = inf if b == 1 else attempt / (p * (1 - b))
    saved = (1 - p) * (t_f - t_d)
    return Makespan(never, restart, b * (p * t_d + (1 - p) * t_f) / saved if saved > 0 else inf)


def attempt_rates(success_N: Sequence[bool], time_N: Sequence[float], alarm_N: Sequence[float]) -> AttemptRates:
    """Estimate the statistics from undisturbed attempts on which a detector was only watched.

    Args:
        success_N: True for a success.
        time_N: of the whole attempt.
        alarm_N: time of the first alarm, inf for none.

    Returns:
        Means and shares. The time of failures is 0 without a failure, that of alarms 0 without an alarm.

    Raises:
        InputError: no success, or lists of unequal length.

    Example:
        success 1, 0, 0, times 4, 8, 6, alarms inf, 3, inf  ->  p 1/3, t_s 4, t_f 7, t_d 3, a 0.5, b 0
    """
    won_N = np.asarray(success_N, bool)
    total_N = np.asarray(time_N, np.float64)
    first_N = np.asarray(alarm_N, np.float64)
    if not won_N.any() or not len(won_N) == len(total_N) == len(first_N):
        raise InputError(
            f"{len(won_N)} attempts with {int(won_N.sum())} successes, {len(total_N)} times and {len(first_N)} alarms: "
            "give one of each an attempt, and at least one success"
        )
    rung_N = np.isfinite(first_N)
    return AttemptRates(
        success=float(won_N.mean()),
        success_time=float(total_N[won_N].mean()),
        failure_time=_mean(total_N[~won_N]),
        detection_time=_mean(first_N[rung_N]),
        true_alarm=_mean(rung_N[~won_N]),
        false_alarm=_mean(rung_N[won_N]),
    )


def _mean(value_N: np.ndarray) -> float:
    return float(value_N.mean()) if len(value_N) else 0.0


def _checked(rates: AttemptRates) -> AttemptRates:
    shares = (rates.success, rates.true_alarm, rates.false_alarm)
    times = (rates.success_time, rates.failure_time, rates.detection_time)
    if not all(0 <= one <= 1 for one in shares) or rates.success == 0 or not all(0 <= one < inf for one in times):
        raise InputError(f"{rates}: give probabilities from 0 to 1, a success above 0, and finite times of 0 or more")
    return rates
