"""Restart policy (arXiv:2301.10846): give up an attempt at a predicted failure if the confusion matrix says it pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Trajectory
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.restart_policy.abort_rule import AbortRule, abort_rule
from handaxe.papers.restart_policy.failure_detector import failure_detector
from handaxe.papers.restart_policy.play_attempts import AttemptCounts, AttemptPlayer, count_attempts, play_attempts
from handaxe.papers.restart_policy.retry_attempts import Alarm
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.minigrid_text.world import minigrid_text

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["restart_policy"]

COIN = 0.1
"""Detectors: learned, the fitted one at the threshold with the lowest expected time; coin, an alarm after each turn
with probability COIN, whatever happened; inverted, an alarm where the fitted detector is surest of success, at 5 %
of the turns."""
LEVELS = np.linspace(0.05, 0.95, 19)
"""Quantiles of the predicted probabilities that are candidates for the threshold."""


def restart_policy(
    *, fitted: int = 256, seeds: int = 8, tasks: int = 32, retried: int = 6, most: int = 5, max_turns: int = 12
) -> StudyFunction:
    """Measure restarts with the cold-start checkpoint of `minigrid_text` on held-out grids.

    Half of the fitted attempts fit the detector, the other half its confusion matrix. Nothing is fitted on the seeds
    that measure. An attempt costs its turns.

    Figures:
        p, success_turns, failure_turns      of the attempts that give the confusion matrix
        DETECTOR/true_alarm, /false_alarm, /alarm_turn, /break_even    confusion matrix, and the rate that would pay
        DETECTOR/adopted                     1 if the expected time is lower than without restarts
        expected/never, expected/DETECTOR    E0 and E1, in turns
        PLACE/RULE                           successes per 100 turns over all seeds. The place is stream, each attempt
                                             at another grid, or retries, a failed grid tried again; the rule is never
                                             or a detector, whose alarm acts whether adopted or not
        PLACE/RULE/turns, /interrupted, /solved    turns per success; shares of attempts, and of grids with a success
        PLACE/gain/DETECTOR                  successes per 100 turns less never's, mean over seeds, with /low and /high
                                             of the 95 % interval
        PLACE/error/RULE                     difference of turns per success and expected turns, over expected turns

    Args:
        fitted: attempts before the measurement.
        seeds: of grids and attempts, from the study's seed on.
        tasks: grids of a seed, each played once.
        retried: grids of a seed that are tried up to `most` times.
        most: attempts at a grid.
        max_turns: of an attempt.
    """

    def measure(seed: int) -> dict[str, float]:
        world = minigrid_text()
        policy = start_policy(world)
        player = AttemptPlayer(world, local.LocalEngine(policy.model), policy.format, max_turns)
        attempts = [own[0] for own in play_attempts(player, count=fitted, seeds=[seed + seeds])[0]]
        rules, alarms = _fit(player, attempts)
        numbers = range(seed, seed + seeds)

        def counts(alarm: Alarm | None, count: int, most: int) -> list[AttemptCounts]:
            played = play_attempts(player, count=count, seeds=numbers, alarm=alarm, most=most)
            return [count_attempts(own, player.succeeded) for own in played]

        stream = {name: counts(alarm, tasks, 1) for name, alarm in {"never": None, **alarms}.items()}
        two: dict[str, Alarm | None] = {"never": None, "learned": alarms["learned"]}
        retries = {name: counts(alarm, retried, most) for name, alarm in two.items()}
        figures = _rule_figures(rules)
        for place, found in (("stream", stream), ("retries", retries)):
            figures |= {f"{place}/{name}": value for name, value in _place_figures(rules, found).items()}
        return figures

    return measure


def _fit(player: AttemptPlayer, attempts: Sequence[Trajectory]) -> tuple[dict[str, AbortRule], dict[str, Alarm]]:
    """Fit the detector on the first half, and all confusion matrices on the second."""
    half = len(attempts) // 2
    success_N = [player.succeeded(one) for one in attempts]
    detector = failure_detector(attempts[:half], success_N[:half], turns=player.max_turns)
    watched = [detector.probabilities(one) for one in attempts[half:]]
    levels = np.quantile(np.concatenate(watched), LEVELS)
    sure = float(levels[0])
    rules = {
        "learned": abort_rule(watched, success_N[half:], thresholds=levels),
        "coin": abort_rule([_coins(one) for one in attempts[half:]], success_N[half:], thresholds=[1 - COIN]),
        "inverted": abort_rule([1 - own for own in watched], success_N[half:], thresholds=[1 - sure]),
    }
    threshold = rules["learned"].threshold
    alarms: dict[str, Alarm] = {
        "learned": lambda one: bool(detector.probabilities(one)[-1] > threshold),
        "coin": lambda one: bool(_coins(one)[-1] > 1 - COIN),
        "inverted": lambda one: bool(1 - detector.probabilities(one)[-1] > 1 - sure),
    }
    return rules, alarms


def _coins(one: Trajectory) -> np.ndarray:
    """Uniform numbers, one a turn, by the id and seed of the attempt."""
    return generator("coin", one.id, one.seed).random(len(one.turns))


def _rule_figures(rules: Mapping[str, AbortRule]) -> dict[str, float]:
    rates = rules["learned"].rates
    figures = {"p": rates.success, "success_turns": rates.success_time, "failure_turns": rates.failure_time}
    figures["expected/never"] = rules["learned"].makespan.never
    for name, rule in rules.items():
        figures |= {
            f"expected/{name}": rule.makespan.restart,
            f"{name}/adopted": float(rule.makespan.pays),
            f"{name}/true_alarm": rule.rates.true_alarm,
            f"{name}/false_alarm": rule.rates.false_alarm,
            f"{name}/alarm_turn": rule.rates.detection_time,
            f"{name}/break_even": rule.makespan.break_even,
        }
    return figures


def _place_figures(rules: Mapping[str, AbortRule], found: Mapping[str, Sequence[AttemptCounts]]) -> dict[str, float]:
    figures = dict[str, float]()
    rate_S = {name: np.array([one.rate for one in own]) for name, own in found.items()}
    for name, own in found.items():
        total = AttemptCounts(*(sum(column) for column in zip(*own, strict=True)))
        turns = total.turns / total.successes if total.successes else inf
        makespan = rules["learned" if name == "never" else name].makespan
        expected = makespan.never if name == "never" else makespan.restart
        figures |= {
            name: total.rate,
            f"{name}/turns": turns,
            f"{name}/interrupted": total.interrupted / total.attempts,
            f"{name}/solved": total.successes / total.tasks,
            f"error/{name}": abs(turns - expected) / expected if isfinite(turns) and isfinite(expected) else inf,
        }
        if name != "never":
            figures |= interval_figures(f"gain/{name}", rate_S[name] - rate_S["never"])
    return figures
