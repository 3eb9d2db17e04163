"""The world of hops for a policy that folds its memory: what it read gives way to the question that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Rollout
from handaxe.core.records import Task, ToolCall
from handaxe.rewards.action_score import right_calls
from handaxe.rollouts.folding import folding
from handaxe.tools.fold_memory import fold_memory
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.experts import calls_then_answer
from handaxe.worlds.parts.search_tools import gold_searches
from handaxe.worlds.sums import kept_calls
from handaxe.worlds.world import DemonstrationNoise, Facts, Start, World

__all__ = ["folded_hops"]

START = Start(DemonstrationNoise(needed=0.85, clumsy=0.05), skill=500, steps=60, batch_size=24)
FOLD = fold_memory.schema.name
FOLDS = RatioMetric(lambda one, right: float(any(r.name == FOLD and r.status == "ok" for r in one.replies)))
"""The share of attempts that folded their memory."""
PRECISION = RatioMetric(
    lambda one, right: right_calls(one, kept_calls(one.task)), lambda one, right: sum(c.name != FOLD for c in one.calls)
)
"""The share of calls that are a reference call; folds are not counted."""


def folded_hops(*, lengths: tuple[int, ...] = (1, 2, 3), after: int = 1, size: int = 200, world_seed: int = 0) -> World:
    """Questions as in `hops`, in key words, with a tool that folds the memory, and attempts that begin anew after it.

    The expert searches for `after` facts, folds its memory to the question that is left, and goes on from that. The
    policy that training starts from has seen this, and may or may not do it. Attempts are played by `rollouts.folding`
    wherever a recipe plays them as its world does; with a rollout of the recipe's own the call has no effect.

    Args:
        lengths: how many facts a question needs, each 1 to 4; drawn evenly.
        after: searches before the expert folds, where further ones are needed; 1 or more.
        size: people of whom questions ask, 16 to 900; four facts each.
        world_seed: of the knowledge base.

    Returns:
        A world broken down by "hops", with the gauges folds, the share of attempts that folded, and call_precision,
        the share of searches that are right. Its reference calls are the searches.

    Raises:
        InputError: an argument out of range, or a missing package (extra [search]).

    Example:
        "4071 boss ally?": search {"query": "4071 boss"} finds "[4071 boss] 4071 boss 5526"; fold_memory {"summary":
        "5526 ally?"} begins anew with the question and "Your memory: 5526 ally?"; then comes the search for that
    """
    if after < 1:
        raise InputError(f"after is {after}; give 1 search or more")
    made = hops(lengths=lengths, size=size, world_seed=world_seed)

    def calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
        searches = list(gold_searches(task, facts))
        if FOLD not in facts["tools"] or len(searches) <= after:
            return searches
        found, left = task.metadata["gold_answers"][after - 1], task.metadata["path"][after:]
        return [*searches[:after], ToolCall(FOLD, {"summary": f"{' '.join([found, *left])}?"}), *searches[after:]]

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
