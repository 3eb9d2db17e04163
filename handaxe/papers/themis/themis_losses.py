"""Study: accuracy of a reward model with tools without the loss on tool results, and with the mean over tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.themis.joint_losses import Reads
from handaxe.papers.themis.pair_accuracy import (
    PairRow,
    accuracy_figures,
    call_figures,
    fit_on_pairs,
    judge_pairs,
    pair_rows,
)
from handaxe.papers.themis.tool_pairs import PAIR_TOOLS

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["themis_losses"]


class _Arm(NamedTuple):
    learn_results: bool
    reads: Reads


ARMS: Mapping[str, _Arm] = {
    "full": _Arm(True, "last"),
    "no_results": _Arm(False, "last"),
    "mean": _Arm(True, "mean"),
}
"""Arm -> options of the reward model."""


def themis_losses(*, pairs: int = 1200, held_out: int = 200, epochs: int = 2) -> StudyFunction:
    """Fit reward models with tools with and without the loss on tool results, and with the mean score of all tokens.

    All start from the shipped policy of 0.85M parameters and take the same optimizer steps on the same pairs.

    Figures:
        accuracy/ARM         share of pairs with the higher score for the right answer, as in `themis_tools`. ARM is
                             full (loss on tool results, score of the last token), no_results (no loss on tool
                             results) or mean (mean score of all tokens)
        accuracy/ARM/DOMAIN  the same in one domain, see `tool_pairs`
        gain/no_results      accuracy of full less that without the loss on tool results, with /low and /high of the
                             95 % interval over pairs; gain/mean likewise
        calls/ARM            calls of a conversation
        reference/ARM        share of conversations with the reference calls
        results/ARM          cross-entropy of tool results in reference traces of held-out pairs, nats per token
        results/gap          results/no_results less results/full: the ablation acts

    Args:
        pairs: for training.
        held_out: for the measurement.
        epochs: passes over the training pairs.

    Example:
        full right on 3 of 4 pairs, mean on 2 of 4  ->  gain/mean 0.25

    Paper: arXiv:2310.01045 (Themis), flag no_observation and ranking_way of the released code.
    Differs: tiny models, and problems by rule.
    """

    def measure(seed: int) -> dict[str, float]:
        train, test = pair_rows("train", pairs, seed), pair_rows("test", held_out, seed)
        policy = loading.load("tiny")
        engine = local.LocalEngine(policy.model)
        right, figures = dict[str, np.ndarray](), dict[str, float]()
        for name, arm in ARMS.items():
            judge = fit_on_pairs(
                engine,
                policy.format,
                train,
                tools=PAIR_TOOLS,
                epochs=epochs,
                learn_results=arm.learn_results,
                reads=arm.reads,
            )
            found = judge_pairs(judge, test)
            right[name] = found.right
            figures |= {f"{key}/{name}": value for key, value in call_figures(found, test).items()}
            losses_N = judge.result_losses([one for row in test for one in row.group])
            figures[f"results/{name}"] = float(losses_N.mean())
        figures["results/gap"] = figures["results/no_results"] - figures["results/full"]
        return _figures(right, test) | figures

    return measure


def _figures(right: Mapping[str, np.ndarray], rows: Sequence[PairRow]) -> dict[str, float]:
    figures = accuracy_figures(right, rows)
    for arm in ("no_results", "mean"):
        figures |= interval_figures(f"gain/{arm}", right["full"].astype(np.float64) - right[arm])
    return figures
