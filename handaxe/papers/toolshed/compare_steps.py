"""Recall of retrieval with and without single steps, and the sweep over numbers of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from handaxe.ops.ranking import recall_at
from handaxe.papers.toolshed.play_requests import Chooser, play_request
from handaxe.papers.toolshed.tool_fusion import FusionSteps, ToolFusion
from handaxe.worlds.toolbox.held_tools import catalogue_store
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, function_catalogue
from handaxe.worlds.toolbox.live_index import LiveIndex
from handaxe.worlds.toolbox.plan_queries import QueryPlan

__all__ = ["ARMS", "PLACES", "Planner", "compare_steps", "sweep_figures"]

PLACES = 5
"""k of Recall@k."""
ARMS = (
    "bm25", "dense", "raw", "plain", "fusion", "no_rewrite", "no_decompose", "no_expand", "no_rerank", "no_reflect",
)  # fmt: skip
"""bm25, dense: the raw request on names and descriptions. raw: the raw request on enhanced documents, hybrid. plain:
all steps on names and descriptions. fusion: all steps on enhanced documents. no_STEP: fusion without a step."""
COUNTS = (1, 5, 20)
Planner = Callable[[str], QueryPlan]


def compare_steps(
    requests: Sequence[LabelledRequest], *, plain: LiveIndex, enhanced: LiveIndex, plans: Mapping[str, Planner]
) -> dict[str, np.ndarray]:
    """Measure Recall@5 of each arm on each request.

    Args:
        requests: R of them.
        plain: index of names and descriptions.
        enhanced: index of enhanced documents with the same tools.
        plans: "all", "no_rewrite" and "no_decompose" -> planner.

    Returns:
        Arm of `ARMS` -> [R], from 0 to 1.

    Example:
        a request for tools a and b of which an arm finds a alone has 0.5

    Paper: arXiv:2410.14594 (Toolshed), Recall@5 against retrieval of the raw request.
    Differs: other requests, and ablations of single steps.
    """
    every = plans["all"]
    arms: dict[str, Callable[[str], list[str]]] = {
        "bm25": lambda text: plain.rank(text, PLACES, way="bm25"),
        "dense": lambda text: plain.rank(text, PLACES, way="dense"),
        "raw": lambda text: enhanced.rank(text, PLACES),
        "plain": _first(ToolFusion(plain, every)),
        "fusion": _first(ToolFusion(enhanced, every)),
        "no_rewrite": _first(ToolFusion(enhanced, plans["no_rewrite"])),
        "no_decompose": _first(ToolFusion(enhanced, plans["no_decompose"])),
        "no_expand": _first(ToolFusion(enhanced, every, steps=FusionSteps(expand=False))),
        "no_rerank": _first(ToolFusion(enhanced, every, steps=FusionSteps(rerank=False))),
        "no_reflect": _first(ToolFusion(enhanced, every, steps=FusionSteps(reflect=False))),
    }
    return {
        name: np.array([recall_at(retrieve(one.text), one.needed, PLACES) for one in requests])
        for name, retrieve in arms.items()
    }


def sweep_figures(requests: Sequence[LabelledRequest], index: LiveIndex, plan: Planner) -> dict[str, float]:
    """Measure retrieval, agent and context at 1, 5 and 20 retrieved tools.

    Returns:
        K/recall, Recall@K; K/made, share of steps with a correct call; K/read, thousand tokens that the agent reads in
        a request, bytes in the format of the tiny policy; means over requests.
    """
    fusion = ToolFusion(index, plan)
    store = catalogue_store(function_catalogue(), fusion.retrieve)
    figures = dict[str, float]()
    for count in COUNTS:
        recalls = [recall_at(fusion.retrieve(one.text, count), one.needed, count) for one in requests]
        played = [
            play_request(
                store,
                one,
                parts=plan(one.text).subqueries,
                scores=_scores(index),
                count=count,
            )
            for one in requests
        ]
        figures |= {
            f"{count}/recall": float(np.mean(recalls)),
            f"{count}/made": float(np.mean([one.made for one in played])),
            f"{count}/read": float(np.mean([one.read for one in played])) / 1000,
        }
    return figures


def _first(fusion: ToolFusion) -> Callable[[str], list[str]]:
    return lambda text: fusion.retrieve(text, PLACES)


def _scores(index: LiveIndex) -> Chooser:
    return lambda text, names: [float(one) for one in index.similarities(text, names)]
