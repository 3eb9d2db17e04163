"""Graph of tools with weights and summaries of states on its edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from handaxe.core.errors import InputError
from handaxe.ops.text_store import Embed, TextStore
from handaxe.papers.sit_graph.advised_env import START, ToolStep

__all__ = ["StateToolGraph"]


class StateToolGraph:
    """Tool graph of successful trajectories.

        w'(u, v) = N_uv + c * sum over trajectories k with u -> v of 1 / n_k
        w(u, v)  = w'(u, v) / sum over v of w'(u, v)

    N_uv: number of successful trajectories in which v follows u; n_k: steps of trajectory k. An edge also has the
    summaries that were written right before the choice of v (episodes).

    Suggestions after u:

        recall      if a summary was written: the tools of the m edges whose nearest episode has the largest cosine with
                    the summary, if it is `least` or more
        routine     without a summary, or without such an edge: the m tools of the largest weights

    Among equal edges the one that was added first goes first. An unknown tool has no suggestions.

    Args:
        embed: vectors of summaries.
        c: weight of short trajectories, >= 0; 1 in the paper.
        most: m, suggestions, >= 1; 2 in the paper.
        least: smallest cosine of a recalled episode, -1 to 1.
        episodes: False leaves the graph without recall, for comparisons.

    Raises:
        InputError: a number out of range.

    Example:
        u -> v in successful trajectories of 3 and 4 steps, u -> x in one of 5:
        w' = 2 + 1/3 + 1/4 = 2.583 and 1 + 1/5 = 1.2, so w = 0.683 and 0.317

    Paper: arXiv:2512.07287 (SIT-Graph), sections 4.1 and 4.2.
    Unconfirmed: the threshold of the cosine, and the routine fallback below it.
    Differs: only a summary written right before a choice becomes an episode; the step after it has a new state.
    """

    def __init__(self, embed: Embed, *, c: float = 1.0, most: int = 2, least: float = 0.6, episodes: bool = True):
        if c < 0 or most < 1 or not -1 <= least <= 1:
            raise InputError(f"a tool graph has c >= 0, most >= 1 and least from -1 to 1: {c}, {most}, {least}")
        self.c = c
        self.most = most
        self.least = least
        self._embed, self._episodes = embed, episodes
        self._counts: dict[str, dict[str, int]] = defaultdict(dict)
        self._shares: dict[str, dict[str, float]] = defaultdict(dict)
        self._stores: dict[tuple[str, str], TextStore] = {}

    def add(self, steps: Sequence[ToolStep]) -> None:
        """Add a successful trajectory; one without steps adds nothing."""
        path = [ToolStep(START), *steps]
        for before, tool in dict.fromkeys((u.tool, v.tool) for u, v in pairwise(path)):
            self._counts[before][tool] = self._counts[before].get(tool, 0) + 1
            self._shares[before][tool] = self._shares[before].get(tool, 0.0) + 1 / len(steps)
        for last, step in pairwise(path):
            if self._episodes and step.summary:
                self._stores.setdefault((last.tool, step.tool), TextStore(self._embed)).add(step.summary)

    def weights(self, tool: str) -> dict[str, float]:
        """Return w of the tool's edges; {} for a tool without edges."""
        raw = {v: count + self.c * self._shares[tool][v] for v, count in self._counts.get(tool, {}).items()}
        total = sum(raw.values())
        return {v: weight / total for v, weight in raw.items()}

    def recall(self, tool: str, summary: str) -> dict[str, float]:
        """Return tools that followed in similar states: tool -> cosine of the nearest episode, if large enough."""
        found = dict[str, float]()
        for next_tool in self._counts.get(tool, {}):
            store = self._stores.get((tool, next_tool))
            for one in store.nearest(summary, k=1, least=self.least) if store else ():
                found[next_tool] = one.cosine
        return found

    def suggest(self, tool: str, summary: str = "") -> tuple[str, ...]:
        """Suggest at most m next tools, best first.

        Args:
            tool: of the last step; `START` before the first one.
            summary: written since the last step; "" is routine.
        """
        ranked = (self.recall(tool, summary) if summary else {}) or self.weights(tool)
        return tuple(sorted(ranked, key=ranked.__getitem__, reverse=True)[: self.most])
