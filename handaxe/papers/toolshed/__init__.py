"""Toolshed (arXiv:2410.14594): retrieval of tools with enhanced documents, planned queries and checked rankings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from handaxe.core.deferred import DeferredModule
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.toolshed.compare_steps import ARMS, Planner, compare_steps, sweep_figures
from handaxe.tools.index.dense import embed
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.labelled_requests import (
    LabelledRequest,
    labelled_requests,
    sample_entries,
    spread,
)
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.plan_queries import plan_queries, task_verbs
from handaxe.worlds.toolbox.tool_documents import (
    ToolDocument,
    template_questions,
    template_topics,
    tool_document,
)

if TYPE_CHECKING:
    import handaxe.papers.toolshed.ask_planner as asking
    from handaxe.asking.desk import AskDesk
else:
    asking = DeferredModule("handaxe.papers.toolshed.ask_planner")

__all__ = ["toolshed"]

PLAIN = ("name", "description")
GAINS = {
    "baseline": ("fusion", "bm25"),
    "dense": ("fusion", "dense"),
    "documents": ("fusion", "plain"),
    "queries": ("fusion", "raw"),
    "rewrite": ("fusion", "no_rewrite"),
    "decompose": ("fusion", "no_decompose"),
    "expand": ("fusion", "no_expand"),
    "rerank": ("fusion", "no_rerank"),
    "reflect": ("fusion", "no_reflect"),
}
"""Gain -> arm and the arm that it is compared with."""


def toolshed(
    *, singles: int = 60, multis: int = 60, tools: int = 800, sizes: tuple[int, ...] = (250,), model: str = ""
) -> StudyFunction:
    """Retrieve tools for held-out requests, and play an agent with the retrieved tools.

    Figures:
        KIND/ARM            Recall@5, mean over requests; KIND is single or multi, requests for one tool or several; for
                            ARM see `compare_steps.ARMS`
        KIND/gain/NAME      that of fusion less that of another arm, see GAINS; /low and /high are the ends of the 95 %
                            interval over requests; KIND all has both kinds
        M/K/recall, M/K/made, M/K/read      with M tools and K retrieved ones, multi: Recall@K, share of steps with a
                            correct call, thousand tokens read in a request
        sweep/tools         Recall@5 with the fewest tools less that with all
        sweep/made, sweep/more      share of correct steps with 5 tools less that with 1; with 20 less that with 5
        sweep/read          tokens read with 20 tools over those with 5

    Args:
        singles: requests for one tool.
        multis: requests for several tools.
        tools: number of tools, M.
        sizes: smaller numbers of tools of the sweep.
        model: plans queries and writes hypothetical questions: smollm2, or http://HOST/v1#NAME; empty for rules and
            templates.
    """

    def measure(seed: int) -> dict[str, float]:
        requests = labelled_requests("test")
        kinds = {
            "single": spread([one for one in requests if len(one.needed) == 1], singles),
            "multi": spread([one for one in requests if len(one.needed) > 1], multis),
        }
        both = [*kinds["single"], *kinds["multi"]]
        entries = sample_entries(both, tools, seed)
        desk = asking.model_desk(model) if model else None
        documents = {entry.name: _document(entry, desk) for entry in entries}
        vectors = TextVectors(embed)
        plain, enhanced = LiveIndex(vectors, fields=PLAIN), LiveIndex(vectors)
        for index in (plain, enhanced):
            index.put(list(documents.values()))
        plans = _planners(list(documents.values()), desk)
        recalls = compare_steps(both, plain=plain, enhanced=enhanced, plans=plans)
        split = len(kinds["single"])
        figures = dict[str, float]()
        for kind, part in {"single": slice(split), "multi": slice(split, None)}.items():
            figures |= {f"{kind}/{arm}": float(recalls[arm][part].mean()) for arm in ARMS}
        for kind, part in {"single": slice(split), "multi": slice(split, None), "all": slice(None)}.items():
            for name, (arm, other) in GAINS.items():
                figures |= interval_figures(f"{kind}/gain/{name}", recalls[arm][part] - recalls[other][part])
        return figures | _sweep(kinds["multi"], entries, documents, vectors, plans["all"], [*sizes, tools], seed)

    return measure


def _document(entry: ToolEntry, desk: AskDesk | None) -> ToolDocument:
    questions = template_questions(entry) if desk is None else asking.ask_questions(desk, entry)
    return tool_document(entry)._replace(questions=questions, topics=template_topics(entry))


def _planners(documents: Sequence[ToolDocument], desk: AskDesk | None) -> dict[str, Planner]:
    verbs = task_verbs(documents)
    return {
        "all": partial(plan_queries, verbs=verbs) if desk is None else asking.ask_planner(desk),
        "no_rewrite": partial(plan_queries, verbs=verbs, rewrite=False),
        "no_decompose": partial(plan_queries, verbs=verbs, decompose=False),
    }


def _sweep(
    requests: Sequence[LabelledRequest],
    entries: Sequence[ToolEntry],
    documents: dict[str, ToolDocument],
    vectors: TextVectors,
    plan: Planner,
    sizes: Sequence[int],
    seed: int,
) -> dict[str, float]:
    figures = dict[str, float]()
    for size in sizes:
        index = LiveIndex(vectors)
        index.put([documents[entry.name] for entry in sample_entries(requests, size, seed, among=entries)])
        figures |= {f"{size}/{name}": value for name, value in sweep_figures(requests, index, plan).items()}
    least, most = sizes[0], sizes[-1]
    return figures | {
        "sweep/tools": figures[f"{least}/5/recall"] - figures[f"{most}/5/recall"],
        "sweep/made": figures[f"{most}/5/made"] - figures[f"{most}/1/made"],
        "sweep/more": figures[f"{most}/20/made"] - figures[f"{most}/5/made"],
        "sweep/read": figures[f"{most}/20/read"] / figures[f"{most}/5/read"],
    }
