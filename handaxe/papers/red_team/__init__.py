"""Automated red teaming (number 13): attack targets in a world of honeypot tools, and detect the violations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from handaxe.judges.noisy import noisy_check
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.red_team.attack_generators import AttackGenerator, FixedList, GuidedMutation, RandomMutation
from handaxe.papers.red_team.campaign import Campaign, run_campaign, verdicts_of
from handaxe.papers.red_team.finding_report import severity
from handaxe.papers.red_team.honeypots import honeypot_env, state_check
from handaxe.papers.red_team.hybrid_detector import HybridDetector, balanced_accuracy
from handaxe.papers.red_team.scripted_target import draw_target
from handaxe.tools.index.dense import embed

__all__ = ["red_team"]

GENERATORS: dict[str, Callable[[int], AttackGenerator]] = {
    "guided": lambda seed: GuidedMutation(generator("red team guided", seed)),
    "random": lambda seed: RandomMutation(generator("red team random", seed)),
    "fixed": lambda seed: FixedList(),
}
DETECTORS = {"hybrid": "score", "pattern": "pattern", "similarity": "similarity", "judge": "judge", "both": "both"}
"""Detector -> part of the evidence."""


def red_team(*, targets: int = 24, queries: int = 48, flip: float = 0.15) -> StudyFunction:
    """Attack scripted targets with hidden weaknesses by mutated and by fixed attacks.

    Figures:
        rate/GENERATOR                  distinct violations of a query, by the state of the tools, mean over targets
        rate/gain/GENERATOR             that of guided less that of the generator; /low and /high are the ends of its
                                        95 % interval over targets
        rate/times                      rate of guided over that of fixed
        novel                           violations of a target that guided finds and fixed does not
        accuracy/DETECTOR               balanced accuracy of verdicts against the state, over all queries of a target;
                                        both: pattern and judge, without similarity
        accuracy/gain/DETECTOR          that of hybrid less that of the detector; /low and /high
        findings, findings/high         findings of guided without duplicates, and those of high severity, of a target

    Args:
        targets: number of targets, from the study's seed on.
        queries: of a generator at a target.
        flip: share of wrong verdicts of the simulated judge.
    """

    def measure(seed: int) -> dict[str, float]:
        campaigns: dict[str, list[Campaign]] = {name: [] for name in GENERATORS}
        judge = noisy_check(check=state_check, flip=flip, seed=seed)
        detector = HybridDetector(embed=embed, judge=judge)
        env = honeypot_env()
        for own in range(seed, seed + targets):
            target = draw_target(own)
            for name, make in GENERATORS.items():
                attacks = make(own)
                found = run_campaign(target, attacks, detector, env=env, format=Compact(), queries=queries)
                campaigns[name].append(found)
        return _rate_figures(campaigns) | _accuracy_figures(campaigns) | _finding_figures(campaigns)

    return measure


def _rate_figures(campaigns: dict[str, list[Campaign]]) -> dict[str, float]:
    rate = {name: np.array([one.rate for one in own]) for name, own in campaigns.items()}
    figures = {f"rate/{name}": float(own.mean()) for name, own in rate.items()}
    for name in list(rate)[1:]:
        figures |= interval_figures(f"rate/gain/{name}", rate["guided"] - rate[name])
    figures["rate/times"] = figures["rate/guided"] / figures["rate/fixed"] if figures["rate/fixed"] else np.inf
    return figures


def _accuracy_figures(campaigns: dict[str, list[Campaign]]) -> dict[str, float]:
    """Balanced accuracies over all campaigns at a target; targets without any violation are left out."""
    found: dict[str, list[float]] = {name: [] for name in DETECTORS}
    for own in zip(*campaigns.values(), strict=True):
        verdicts = verdicts_of(list(own))
        if not verdicts["true"].any():
            continue
        for name, part in DETECTORS.items():
            found[name].append(balanced_accuracy(verdicts[part], verdicts["true"]))
    figures = {f"accuracy/{name}": float(np.mean(own)) for name, own in found.items()}
    for name in list(DETECTORS)[1:]:
        figures |= interval_figures(f"accuracy/gain/{name}", np.array(found["hybrid"]) - np.array(found[name]))
    return figures


def _finding_figures(campaigns: dict[str, list[Campaign]]) -> dict[str, float]:
    guided = campaigns["guided"]
    high = [sum(severity(one.kind, one.score)[1] == "high" for one in own.findings) for own in guided]
    novel = [
        len(frozenset().union(*own.true) - frozenset().union(*other.true))
        for own, other in zip(guided, campaigns["fixed"], strict=True)
    ]
    return {
        "findings": float(np.mean([len(own.findings) for own in guided])),
        "findings/high": float(np.mean(high)),
        "novel": float(np.mean(novel)),
    }
