"""Study: reports with sources by policies that learn to plan and cite, to cite, or to state facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import RatedGroup, Sampling
from handaxe.evaluation.play_groups import play_groups
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.fathom.reports import FORMS, GAUGES, reports
from handaxe.training.sft.cold_start import start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["fathom_synthesizer"]

SAMPLING = Sampling(temperature=0.0, max_tokens=96)


def fathom_synthesizer(*, tasks: int = 100) -> StudyFunction:
    """Teach three synthesizers by supervised fine-tuning, and compare their reports on held-out people.

    All have as many demonstrations and steps; FORM is plan, cite or bare, see `reports`.

    Figures:
        right/FORM         share of correct reports
        stated/FORM        share of the asked facts with the right value
        cited/FORM         share of the sentences with a source of equal fact and value; plan and cite
        planned            share of the asked facts with the right source in the plan
        gain/plan          right/plan less right/cite, with /low and /high of the 95 % interval over tasks
        gain/cited         correct facts a report, of plan less correct facts of bare, with the interval

    Args:
        tasks: held-out reports.

    Example:
        right 0.9 with a plan and 0.7 without  ->  gain/plan 0.2

    Paper: arXiv:2509.24107 (Fathom), training of the synthesizer by plan and citation.
    Differs: demonstrations are written by rule, and a rule reads the reports.
    """

    def measure(seed: int) -> dict[str, float]:
        played = dict[str, list[RatedGroup]]()
        for form in FORMS:
            world = reports(form=form)
            policy = start_policy(world, seed=seed)
            played[form] = play_groups(
                local.LocalEngine(policy.model),
                policy.format,
                world,
                split="test",
                tasks=tasks,
                siblings=1,
                seed=seed,
                sampling=SAMPLING,
            )
        return _figures(played)

    return measure


def _figures(played: dict[str, list[RatedGroup]]) -> dict[str, float]:
    figures = {f"right/{form}": float(np.mean([one.scores.outcome[0] for one in own])) for form, own in played.items()}
    for form, own in played.items():
        figures[f"stated/{form}"] = _share("stated", own)
        if form != "bare":
            figures[f"cited/{form}"] = _share("cited", own)
    figures["planned"] = _share("planned", played["plan"])
    right = {form: np.array([one.scores.outcome[0] for one in own]) for form, own in played.items()}
    stated = {form: np.array([_top("stated", one) for one in own]) for form, own in played.items()}
    figures |= interval_figures("gain/plan", right["plan"] - right["cite"])
    figures |= interval_figures("gain/cited", stated["plan"] - stated["bare"])
    return dict(sorted(figures.items()))


def _top(name: str, one: RatedGroup) -> float:
    return GAUGES[name].top(one.group[0], 1.0)


def _share(name: str, groups: Sequence[RatedGroup]) -> float:
    whole = sum(GAUGES[name].bottom(one.group[0], 1.0) for one in groups)
    return sum(_top(name, one) for one in groups) / whole if whole else 0.0
