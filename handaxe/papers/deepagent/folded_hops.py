"""Multi-hop questions for a policy with a tool that folds the memory into a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Rollout
from handaxe.core.records import Task, ToolCall
from handaxe.rewards.action_score import count_correct_calls
from handaxe.rollouts.folding import folding
from handaxe.tools.fold_memory import fold_memory
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.search_tools import reference_searches
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["folded_hops"]

START = Start(DemonstrationNoise(call_rate=0.85, corrupt_rate=0.05), skill=500, steps=60, batch_size=24)
FOLD = fold_memory.schema.name
FOLDS = RatioMetric(lambda one, right: float(any(r.name == FOLD and r.status == "ok" for r in one.replies)))
"""The share of rollouts with a fold."""
PRECISION = RatioMetric(
    lambda one, right: count_correct_calls(one, reference_calls(one.task)),
    lambda one, right: sum(c.name != FOLD for c in one.calls),
)
"""The share of calls that equal a reference call; folds are excluded."""


def folded_hops(
    *, lengths: tuple[int, ...] = (1, 2, 3), fold_after: int = 1, size: int = 200, world_seed: int = 0
) -> World:
    """Questions of `hops` in key words, with a tool that folds the memory and restarts the conversation from a summary.

    The expert searches for `fold_after` facts, folds its memory into the remaining question, and continues.
    Demonstrations of the start policy contain folds. `rollouts.folding` plays the rollouts of methods without a rollout
    strategy of their own; with another strategy the call has no effect.

    Args:
        lengths: number of facts of a question, each 1 to 4; drawn evenly.
        fold_after: searches before the expert's fold if further searches are needed; >= 1.
        size: people in questions, 16 to 900; four facts each.
        world_seed: seed of the knowledge base.

    Returns:
        A world broken down by "hops", with the gauges folds, the share of rollouts with a fold, and call_precision, the
        share of correct searches. Its reference calls are the searches.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": search {"query": "4071 boss"} finds "[4071 boss] 4071 boss 5526"; fold_memory {"summary":
        "5526 ally?"} restarts with the question and "Your memory: 5526 ally?"; the next call searches for "5526 ally"
    """
    if fold_after < 1:
        raise InputError(f"fold_after is {fold_after}; give 1 search or more")
    made = hops(lengths=lengths, size=size, world_seed=world_seed)

    def calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
        searches = list(reference_searches(task, facts))
        if FOLD not in facts["tools"] or len(searches) <= fold_after:
            return searches
        found, rest = task.metadata["gold_answers"][fold_after - 1], task.metadata["path"][fold_after:]
        return [
            *searches[:fold_after],
            ToolCall(FOLD, {"summary": f"{' '.join([found, *rest])}?"}),
            *searches[fold_after:],
        ]

    return replace(
        made,
        name="folded_hops",
        tools=(*made.tools, fold_memory),
        expert=calls_then_answer(calls),
        start=START,
        rollout=_folding,
        gauges={"call_precision": PRECISION, "folds": FOLDS},
    )


def _folding(max_turns: int) -> Rollout:
    return folding(max_turns=max_turns)
