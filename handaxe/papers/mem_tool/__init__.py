"""MemTool (arXiv:2507.21428): tools that an agent or a workflow adds and removes over a long conversation."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import difference_figures
from handaxe.papers.mem_tool.draw_conversation import draw_conversation
from handaxe.papers.mem_tool.play_modes import Habits, Mode, play_conversation
from handaxe.papers.mem_tool.turn_figures import turn_figures
from handaxe.tools.index.dense import embed
from handaxe.worlds.toolbox.held_agent import cosine_scores
from handaxe.worlds.toolbox.held_tools import catalogue_store
from handaxe.worlds.toolbox.labelled_requests import (
    function_catalogue,
    sample_entries,
)
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors, embedded_text
from handaxe.worlds.toolbox.plan_queries import plan_queries, task_verbs
from handaxe.worlds.toolbox.tool_documents import tool_document

__all__ = ["mem_tool"]

MODES: tuple[Mode, ...] = ("autonomous", "workflow", "hybrid")
SEARCHING: tuple[Mode, ...] = ("hybrid", "autonomous")
"""Modes in which the agent searches."""
AGENTS = {"strong": Habits(removes=True, parts=True), "weak": Habits(removes=False, parts=False)}
RELATED = 0.35
"""Least cosine of a request and a tool's name and description; the prune step removes tools below."""
FIELDS = ("name", "description")


def mem_tool(*, turns: int = 100, several: float = 0.4, tools: int = 300, limit: int = 128) -> StudyFunction:
    """Play a conversation of consecutive requests in three modes, with a strong and a weak scripted agent.

    Figures:
        MODE/AGENT/removal, .../windows, .../residual    metrics of `memory_metrics`
        MODE/AGENT/held         held tools after a request, mean
        MODE/AGENT/correct      correct calls over calls
        MODE/AGENT/complete     share of requests with all steps made
        gap/MODE                difference of the removal ratios of both agents, without sign
        gain/hybrid, gain/autonomous    complete of the strong agent less that in the workflow mode, with /low and
                                /high of the 95 % interval over requests

    Args:
        turns: consecutive requests.
        several: share of requests with several needed tools.
        tools: number of tools.
        limit: most held tools.
    """

    def measure(seed: int) -> dict[str, float]:
        requests = draw_conversation(turns, several=several, seed=seed)
        entries = sample_entries(requests, tools, seed)
        documents = [tool_document(entry) for entry in entries]
        vectors = TextVectors(embed)
        index = LiveIndex(
            vectors,
            fields=("name", "description", "arguments"),
            document_vectors=embedded_text(vectors, FIELDS),
        )
        index.put(documents)
        verbs = task_verbs(documents)

        def prune(request: str, held: Sequence[str]) -> list[str]:
            found = index.similarities(request, held) if held else ()
            return [name for name, cosine in zip(held, found, strict=True) if cosine < RELATED]

        played = {
            (mode, agent): play_conversation(
                mode,
                requests,
                store=catalogue_store(function_catalogue(), index.rank),
                prune=prune,
                habits=habits,
                texts={one.id: plan_queries(one.text, verbs).subqueries for one in requests},
                scores=cosine_scores(vectors),
                limit=limit,
            )
            for mode in MODES
            for agent, habits in AGENTS.items()
        }
        figures = dict[str, float]()
        for (mode, agent), own in played.items():
            figures |= {f"{mode}/{agent}/{name}": value for name, value in turn_figures(own).items()}
        for mode in MODES:
            figures[f"gap/{mode}"] = abs(figures[f"{mode}/strong/removal"] - figures[f"{mode}/weak/removal"])
        complete: dict[str, list[float]] = {mode: [one.complete for one in played[mode, "strong"]] for mode in MODES}
        return figures | difference_figures(complete, {f"gain/{mode}": (mode, "workflow") for mode in SEARCHING})

    return measure
