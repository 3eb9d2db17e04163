"""Arms of the study: graphs with parts left out, and the context score."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.records import ToolSchema
from handaxe.ops.text_store import Embed
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph
from handaxe.papers.auto_tool.inertial_calls import ANSWER, Inertia
from handaxe.papers.auto_tool.parameter_edges import ParameterGraph

__all__ = ["InertiaArm", "make_arms", "tool_similarity"]

InertiaArm = Callable[[Sequence[ToolSchema]], Inertia]
"""Offered tools -> empty graph."""
ANSWERS = "tell the customer the result in words"
"""Description of the node "answer"."""


def make_arms(embed: Embed) -> dict[str, InertiaArm | None]:
    """Make the compared arms; None is the policy without a graph.

    Example:
        make_arms(embed)["frequency"](schemas).tools.alpha == 0

    Paper: arXiv:2511.14650 (AutoTool), ablation of the context score; the limit of 30 % on inertial calls.
    Differs: nothing known.
    """

    def arm(*, alpha: float = 0.5, limited: bool = True) -> InertiaArm:
        def make(schemas: Sequence[ToolSchema]) -> Inertia:
            similarity = tool_similarity(schemas, embed)
            return Inertia(
                InertiaGraph(similarity=similarity, alpha=alpha),
                ParameterGraph(),
                share=0.3 if limited else 1.0,
                in_a_row=not limited,
            )

        return make

    return {"policy": None, "auto_tool": arm(), "frequency": arm(alpha=0.0), "unlimited": arm(limited=False)}


def tool_similarity(schemas: Sequence[ToolSchema], embed: Embed) -> Callable[[str, str], float]:
    """Make Score_ctx: the cosine of a context and "name: description" of a tool; 0 for a node without description.

    Example:
        "cancel an order" is nearer to the tool "cancel: cancel an order" than to "look: see"

    Paper: arXiv:2511.14650 (AutoTool), the context part of its score.
    Differs: all-MiniLM instead of SimCSE.
    """
    described = {one.name: f"{one.name}: {one.description}" for one in schemas} | {ANSWER: f"{ANSWER}: {ANSWERS}"}

    @functools.lru_cache(maxsize=65_536)
    def vector(text: str) -> np.ndarray:
        return np.asarray(embed([text]), np.float64)[0]

    def similarity(context: str, tool: str) -> float:
        return float(vector(context) @ vector(described[tool])) if tool in described else 0.0

    return similarity
