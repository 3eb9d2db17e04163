"""ScaleMCP (arXiv:2505.06416): tools of a changing MCP server, found by the agent in a synchronized index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.methods.method import StudyFunction
from handaxe.ops.ranking import ndcg_at, recall_at
from handaxe.ops.stats import interval_figures
from handaxe.papers.scale_mcp.weighted_vectors import weighted_vectors
from handaxe.tools.index.dense import embed
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest, labelled_requests, sample_entries
from handaxe.worlds.toolbox.live_index import DocumentVectors, LiveIndex, TextVectors, embedded_text
from handaxe.worlds.toolbox.plan_queries import plan_queries, task_verbs
from handaxe.worlds.toolbox.tool_documents import ToolDocument, template_questions, tool_document

if TYPE_CHECKING:
    import handaxe.papers.scale_mcp.play_releases as playing
else:
    playing = DeferredModule("handaxe.papers.scale_mcp.play_releases")

__all__ = ["scale_mcp"]

PLACES = 5
"""k of a query; 5 in the paper."""
JOINED = ("name", "description", "arguments", "questions")
WEIGHTS = {
    "all": {"name": 0.2, "description": 0.2, "arguments": 0.2, "questions": 0.4},
    "questions": {"name": 0.2, "description": 0.3, "questions": 0.5},
    "no_questions": {"name": 0.3, "description": 0.4, "arguments": 0.3},
}
"""Weights of parts: two settings of the paper, and one without questions."""
PLAYED = ("sufficient", "made", "correct", "held")


def scale_mcp(*, singles: int = 40, multis: int = 40, tools: int = 240, share: float = 0.05) -> StudyFunction:
    """Serve tools by an MCP process that changes them, and play an agent that searches them.

    Figures:
        WAY/recall, WAY/ndcg    Recall@5 and NDCG@5 of all requests by bm25, dense and hybrid ranking of joined texts,
                                and by vectors weighted as in WEIGHTS (tdwa_NAME)
        gain/tdwa, gain/questions       NDCG@5 of tdwa_all less that of dense, and of the better weights with questions
                                less that without
        ARM/sufficient, /made, /correct, /held      of rollouts with several needed tools, means: every needed tool held
                                at the end; share of steps with a correct call; share of correct calls; held tools. ARM
                                is once, a search with the request before the agent acts; many, the same with the number
                                of tools that agent held; agent, queries of the agent by part, and further searches
        gain/agent, gain/many   sufficient of agent less that of once, and of many
        stale/..., synced/...   of agent, while the server publishes a release in each rollout, between search and call
        gain/synced             made of synced less that of stale; gain/... have /low and /high, 95 % over requests
        sync/releases, sync/changes, sync/mismatches    releases; created, updated and deleted tools of all; tools that
                                differ from the server's list after synchronization
        sync/embedded           embedded documents over those of an index that is built again at each release
        stale/mismatches        tools of the stale index that differ at the end

    Args:
        singles, multis: requests for one tool, and for several.
        tools: of the server.
        share: of the tools that a release changes.
    """

    def measure(seed: int) -> dict[str, float]:
        requests = labelled_requests("test")
        several = [one for one in requests if len(one.needed) > 1][:multis]
        both = [*[one for one in requests if len(one.needed) == 1][:singles], *several]
        larger = sample_entries(both, tools + tools // 4, seed)
        entries = sample_entries(both, tools, seed)
        names = {entry.name for entry in entries}
        reserve = [entry for entry in larger if entry.name not in names]
        vectors = TextVectors(embed)
        figures = _retrieval(both, entries, vectors)
        return figures | _rollouts(several, entries, reserve, vectors, share, seed)

    return measure


def _retrieval(
    requests: Sequence[LabelledRequest], entries: Sequence[ToolEntry], vectors: TextVectors
) -> dict[str, float]:
    documents = [tool_document(entry)._replace(questions=template_questions(entry)) for entry in entries]
    joined = _index(vectors, documents, embedded_text(vectors, JOINED))
    ways = {way: _ranker(joined, way) for way in ("bm25", "dense", "hybrid")}
    for name, weights in WEIGHTS.items():
        index = _index(vectors, documents, weighted_vectors(vectors, weights))
        ways[f"tdwa_{name}"] = _ranker(index, "dense")
    figures, ndcg_R = dict[str, float](), dict[str, np.ndarray]()
    for name, rank in ways.items():
        found = [(rank(one.text), one.needed) for one in requests]
        ndcg_R[name] = np.array([ndcg_at(ranking, needed, PLACES) for ranking, needed in found])
        recall_R = [recall_at(ranking, needed, PLACES) for ranking, needed in found]
        figures |= {f"{name}/recall": float(np.mean(recall_R)), f"{name}/ndcg": float(ndcg_R[name].mean())}
    best = max(("tdwa_all", "tdwa_questions"), key=lambda name: ndcg_R[name].mean())
    figures |= interval_figures("gain/tdwa", ndcg_R["tdwa_all"] - ndcg_R["dense"])
    return figures | interval_figures("gain/questions", ndcg_R[best] - ndcg_R["tdwa_no_questions"])


def _rollouts(
    requests: Sequence[LabelledRequest],
    entries: Sequence[ToolEntry],
    reserve: Sequence[ToolEntry],
    vectors: TextVectors,
    share: float,
    seed: int,
) -> dict[str, float]:
    verbs = task_verbs([tool_document(entry) for entry in entries])
    parts = [plan_queries(one.text, verbs).subqueries for one in requests]
    needed = sorted({step["function"] for one in requests for step in one.steps})

    def play(
        store: playing.McpStore | playing.ReleasingStore, arm: str, counts: Sequence[int]
    ) -> list[playing.PlayedTools]:
        return [
            playing.play_tools(
                store.store(),
                one,
                vectors=vectors,
                queries=own if arm == "agent" else (one.text,),
                texts=own,
                results=count,
                searches=2 if arm == "agent" else 0,
            )
            for one, own, count in zip(requests, parts, counts, strict=True)
        ]

    fixed = [PLACES] * len(requests)
    played = dict[str, list[playing.PlayedTools]]()
    figures = dict[str, float]()
    with playing.catalogue_session(entries, reserve, needed=needed, share=share, seed=seed) as (session, served):
        still = playing.make_store(session, served, vectors, keep_in_step=False)
        played["agent"] = play(still, "agent", fixed)
        played["once"] = play(still, "once", fixed)
        played["many"] = play(still, "many", [max(1, one.held) for one in played["agent"]])
    for arm in ("stale", "synced"):
        with playing.catalogue_session(entries, reserve, needed=needed, share=share, seed=seed) as (session, served):
            store = playing.make_store(session, served, vectors, keep_in_step=arm == "synced")
            releasing = playing.ReleasingStore(store, served)
            played[arm] = play(releasing, "agent", fixed)
            figures |= releasing.figures(arm)
    for arm, own in played.items():
        figures |= {f"{arm}/{name}": float(np.mean([getattr(one, name) for one in own])) for name in PLAYED}

    def gain(name: str, arm: str, other: str, figure: str) -> dict[str, float]:
        one, two = ([getattr(rollout, figure) for rollout in played[side]] for side in (arm, other))
        return interval_figures(f"gain/{name}", np.subtract(one, two))

    figures |= gain("agent", "agent", "once", "sufficient") | gain("many", "agent", "many", "sufficient")
    return figures | gain("synced", "synced", "stale", "made")


def _index(vectors: TextVectors, documents: Sequence[ToolDocument], rows: DocumentVectors) -> LiveIndex:
    index = LiveIndex(vectors, fields=JOINED, document_vectors=rows)
    index.put(documents)
    return index


def _ranker(index: LiveIndex, way: str) -> Callable[[str], list[str]]:
    return lambda text: index.rank(text, PLACES, way=way)
