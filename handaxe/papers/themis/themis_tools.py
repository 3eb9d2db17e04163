"""Study: accuracy of a reward model on preference pairs, with tools, without tools, and with random tool results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import EnvFactory
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.themis.pair_accuracy import (
    PairRow,
    accuracy_figures,
    call_figures,
    fit_on_pairs,
    judge_pairs,
    pair_rows,
)
from handaxe.papers.themis.tool_judge import ToolJudge
from handaxe.papers.themis.tool_pairs import DOMAINS, PAIR_TOOLS
from handaxe.tools.decorator import Tool
from handaxe.tools.noisy import noisy
from handaxe.worlds.parts.reference_calls import reference_calls

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["themis_tools"]

QUERIES = 64
"""Calls of training pairs that random results answer, for each tool."""


def themis_tools(*, pairs: int = 1600, held_out: int = 240, epochs: int = 2) -> StudyFunction:
    """Fit reward models with and without tools on the same pairs, and measure both on held-out problems.

    Both start from the shipped policy of 0.85M parameters and take the same number of optimizer steps.

    Figures:
        accuracy/ARM              share of pairs with the higher score for the right answer; a conversation of the judge
                                  without an end counts as wrong. ARM is tools, plain (no tools), or random: the judge
                                  with tools, whose tools answer another call
        accuracy/ARM/DOMAIN       the same in one domain, see `tool_pairs`
        gain/plain, gain/random   accuracy with tools less that of the other arm, with /low and /high of the 95 %
                                  interval over pairs
        gain/plain/DOMAIN         the same in one domain
        random/plain              accuracy with random results less that without tools, with the interval
        calls, reference          calls of a conversation with tools; share of conversations with the reference calls

    Args:
        pairs: for training.
        held_out: for the measurement.
        epochs: passes over the training pairs.

    Example:
        tools right on 3 of 4 pairs, plain on 2 of 4  ->  gain/plain 0.25

    Paper: arXiv:2310.01045 (Themis), pairwise accuracy with and without tools.
    Differs: tiny models, and problems by rule.
    """

    def measure(seed: int) -> dict[str, float]:
        train, test = pair_rows("train", pairs, seed), pair_rows("test", held_out, seed)
        policy = loading.load("tiny")
        engine = local.LocalEngine(policy.model)
        offered: dict[str, Sequence[Tool]] = {"tools": PAIR_TOOLS, "plain": ()}
        judges = {
            name: fit_on_pairs(engine, policy.format, train, tools=tools, epochs=epochs)
            for name, tools in offered.items()
        }
        arms: dict[str, tuple[ToolJudge, EnvFactory | None]] = {
            "tools": (judges["tools"], None),
            "plain": (judges["plain"], None),
            "random": (judges["tools"], _random_tools(train)),
        }
        found = {name: judge_pairs(judge, test, env=env) for name, (judge, env) in arms.items()}
        return _figures({name: one.right for name, one in found.items()}, test) | call_figures(found["tools"], test)

    return measure


def _random_tools(train: Sequence[PairRow]) -> EnvFactory:
    """The same tools, with results of a call of another problem."""
    calls = [call for row in train for call in reference_calls(row.pair.task)]
    queries = {
        one.schema.name: [dict(call.arguments) for call in calls if call.name == one.schema.name][:QUERIES]
        for one in PAIR_TOOLS
    }
    return tool_chat([noisy(one, chance=1.0, queries=queries[one.schema.name]) for one in PAIR_TOOLS])


def _figures(right: dict[str, np.ndarray], rows: Sequence[PairRow]) -> dict[str, float]:
    figures, number = accuracy_figures(right, rows), {arm: own_P.astype(np.float64) for arm, own_P in right.items()}
    domain_P = np.array([row.domain for row in rows])
    for domain in DOMAINS:
        gain_P = number["tools"] - number["plain"]
        figures |= interval_figures(f"gain/plain/{domain}", gain_P[domain_P == domain])
    figures |= interval_figures("gain/plain", number["tools"] - number["plain"])
    figures |= interval_figures("gain/random", number["tools"] - number["random"])
    return figures | interval_figures("random/plain", number["random"] - number["plain"])
