"""Inertia of tools: how often a tool follows the last ones, and how well the context fits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from handaxe.core.errors import InputError

__all__ = ["InertiaGraph", "combined_scores", "frequency_scores"]

CONFIDENCE = 1.1


def frequency_scores(weights: Mapping[str, float]) -> dict[str, float]:
    """Compute the frequency score of next tools.

        Score_freq(t) = freq(t) / F * (1 - 1.1^(-F)),   F = sum over t of freq(t)

    Args:
        weights: freq, of each next tool; a negative one counts 0.

    Returns:
        Tool -> score, 0 to 1; {} if F is 0.

    Example:
        open 3, click 1: F = 4, 1 - 1.1^-4 = 0.317  ->  open 0.238, click 0.079

    Paper: arXiv:2511.14650 (AutoTool), the frequency part of its inertia score.
    Differs: nothing.
    """
    counts = {tool: max(0.0, weight) for tool, weight in weights.items()}
    total = sum(counts.values())
    if total == 0:
        return {}
    return {tool: count / total * (1 - CONFIDENCE**-total) for tool, count in counts.items()}


def combined_scores(frequency: Mapping[str, float], context: Mapping[str, float], *, alpha: float) -> dict[str, float]:
    """Combine frequency and context.

        CIPS(t) = (1 - alpha) * Score_freq(t) + alpha * Score_ctx(t)

    Args:
        frequency: Score_freq of the next tools.
        context: Score_ctx of these tools, a cosine; a missing one counts 0.
        alpha: 0 to 1; 0.5 in the paper.

    Raises:
        InputError: alpha outside [0, 1].

    Example:
        Score_freq 0.238, Score_ctx 0.6, alpha = 0.5  ->  0.419

    Paper: arXiv:2511.14650 (AutoTool), comprehensive inertia potential score.
    Differs: nothing.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha is a weight from 0 to 1, not {alpha}")
    return {tool: (1 - alpha) * own + alpha * context.get(tool, 0.0) for tool, own in frequency.items()}


class InertiaGraph:
    """Paths of executed tools with weights.

        freq(t) = sum of the weights of the stored paths in which t follows the last k tools

    A path is a sequence of tools of a trajectory, cut at inertial calls: the graph learns from the policy's choices
    alone. Feedback changes the weight of the path of the last k tools and the chosen one: 1 for an inertial call, 0.5
    for a call of the policy, added after a success and subtracted after a failure.

    Args:
        k: tools of the key, >= 1; 2 in the paper.
        alpha: weight of the context, 0 to 1; 0.5 in the paper.
        similarity: (context, tool) -> Score_ctx.

    Raises:
        InputError: a number out of range.

    Example:
        graph.learn(["start", "search", "open"]) twice, and k = 2: graph.frequencies(["start", "search"]) == {"open": 2}

    Paper: arXiv:2511.14650 (AutoTool), tool inertia graph.
    Differs: nothing.
    """

    def __init__(self, *, similarity: Callable[[str, str], float], k: int = 2, alpha: float = 0.5):
        if k < 1 or not 0 <= alpha <= 1:
            raise InputError(f"an inertia graph has k >= 1 and alpha from 0 to 1: {k}, {alpha}")
        self.k, self.alpha = k, alpha
        self._similarity = similarity
        self._paths: dict[tuple[str, ...], float] = {}

    def learn(self, path: Sequence[str]) -> None:
        """Add an executed path of two tools or more."""
        if len(path) > 1:
            self._paths[tuple(path)] = self._paths.get(tuple(path), 0.0) + 1.0

    def feedback(self, path: Sequence[str], *, success: bool, inertial: bool) -> None:
        """Change the weight of the last k tools of a path and its end."""
        key = tuple(path[-self.k - 1 :])
        change = (1.0 if inertial else 0.5) * (1 if success else -1)
        self._paths[key] = self._paths.get(key, 0.0) + change

    def frequencies(self, tools: Sequence[str]) -> dict[str, float]:
        """Return freq of the tools that follow the last k of `tools`."""
        key = tuple(tools[-self.k :])
        found: dict[str, float] = {}
        for path, weight in self._paths.items():
            starts = [n for n in range(len(path) - len(key)) if path[n : n + len(key)] == key]
            for tool in {path[n + len(key)] for n in starts}:
                found[tool] = found.get(tool, 0.0) + weight
        return found

    def scores(self, tools: Sequence[str], context: str) -> dict[str, float]:
        """Return CIPS of the next tools, {} without a stored path."""
        frequency = frequency_scores(self.frequencies(tools))
        context_scores = {tool: self._similarity(context, tool) for tool in frequency} if self.alpha else {}
        return combined_scores(frequency, context_scores, alpha=self.alpha)
