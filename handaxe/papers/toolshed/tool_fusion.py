"""Advanced RAG-Tool Fusion: retrieval over enhanced documents, for planned queries, with fused and checked rankings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.papers.toolshed.fuse_rankings import (
    cover_subqueries,
    fuse_variations,
    rerank_candidates,
    union_by_rank,
)
from handaxe.worlds.toolbox.live_index import LiveIndex
from handaxe.worlds.toolbox.plan_queries import QueryPlan

__all__ = ["FusionSteps", "ToolFusion"]

DEPTH = 20
"""Places of a query's ranking that are fused."""
CANDIDATES = 10
"""Places of a sub-query's ranking that are reranked."""
FEEDBACK = 1
"""Tools that expand a sub-query by the words of their names."""


class FusionSteps(NamedTuple):
    """Steps of the retrieval that are carried out."""

    expand: bool = True
    rerank: bool = True
    reflect: bool = True


EVERY = FusionSteps()


class ToolFusion:
    """Retriever of tools for requests with several intents.

        plan      request -> sub-queries with variations
        expand    a further variation: sub-query and words of the name of its first tool
        retrieve  a hybrid ranking for each variation, fused for each sub-query; union by the best rank
        rerank    candidates by similarity to each sub-query, fused with its ranking; union again
        reflect   the best tool of each sub-query is among the first k

    Args:
        index: of enhanced documents.
        plan: request -> sub-queries, such as `plan_queries`.
        steps: False leaves a step out.

    Example:
        ToolFusion(index, lambda text: plan_queries(text, verbs)).retrieve("Find a hotel, then book a taxi.", 5)

    Paper: arXiv:2410.14594 (Toolshed), Advanced RAG-Tool Fusion.
    Differs: see `plan_queries`, `rerank_candidates` and `cover_subqueries`.
    Unconfirmed: the order of the steps.
    """

    def __init__(self, index: LiveIndex, plan: Callable[[str], QueryPlan], *, steps: FusionSteps = EVERY):
        self._index = index
        self._plan = plan
        self._steps = steps

    def retrieve(self, text: str, count: int) -> list[str]:
        """Choose at most `count` tools for a request, best first. An empty request finds nothing."""
        if not text.strip():
            return []
        plan = self._plan(text)
        rankings = [self._ranking(own) for own in plan.variations]
        union = union_by_rank(rankings)
        if self._steps.rerank and union:
            candidates = union_by_rank([own[:CANDIDATES] for own in rankings])
            reranked = rerank_candidates(candidates, plan.subqueries, self._similarity)
            rankings = [fuse_variations([own, other]) for own, other in zip(rankings, reranked, strict=True)]
            union = union_by_rank(rankings)
        return cover_subqueries(union, rankings, count) if self._steps.reflect else union[:count]

    def _ranking(self, variations: Sequence[str]) -> list[str]:
        ranked = [self._index.rank(one, DEPTH) for one in variations]
        if self._steps.expand:
            known = self._index.documents
            words = " ".join(known[name].name for name in ranked[0][:FEEDBACK])
            ranked.append(self._index.rank(f"{variations[0]} {words}", DEPTH))
        return fuse_variations(ranked)

    def _similarity(self, text: str, names: Sequence[str]) -> Sequence[float]:
        return [float(one) for one in self._index.similarities(text, names)]
