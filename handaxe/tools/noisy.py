"""Tool wrapper that answers another query with some probability.

Kept: users train policies on unreliable tools; no method here does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool

__all__ = ["noisy"]

Arguments = Mapping[str, Any]


def noisy(tool: Tool, *, chance: float | Callable[[Arguments], float], queries: Sequence[Arguments]) -> Tool:
    """Make a tool whose reply is, with some probability, the reply to another query.

        reply(x) = tool(y), y drawn from the queries other than x    with probability p(x)
                 = tool(x)                                           else

    The policy cannot detect the noise: name, schema, status and form of the reply are the tool's. Invalid arguments are
    refused as before. The draw depends on the seed of the call, so a replay and all tries of a call give the same
    reply.

    Args:
        tool: tool inside; unchanged.
        chance: p, 0 to 1, or a function of the arguments.
        queries: arguments of the calls that are answered instead.

    Returns:
        A Tool.

    Raises:
        InputError: the chance is not in 0 to 1, there is no query, a query is invalid for the tool, or the tool is a
            subclass of Tool that overrides `prepare`, which would be lost.

    Example:
        noisy(calculator, chance=0.5, queries=[{"expression": "2*3"}]) says "408" or "6" to 12*34

    Idea: evidence may be false, as in a search of the open web; arXiv:2601.07264 (the confidence dichotomy) finds that
    such evidence makes policies overconfident.
    """
    if not callable(chance) and not 0 <= chance <= 1:
        raise InputError(f"chance is {chance}; give 0 to 1")
    if not queries:
        raise InputError("queries is empty; give one or more queries to answer instead")
    if type(tool).prepare is not Tool.prepare:
        raise InputError(f"{tool!r} overrides Tool.prepare, which noisy would replace; wrap the tool inside instead")
    for query in queries:
        if not tool.takes(ToolCall(tool.schema.name, query)):
            raise InputError(f"the query {dict(query)} does not fit the parameters of {tool!r}")
    return _NoisyTool(tool, chance, queries)


class _NoisyTool(Tool):
    def __init__(self, tool: Tool, chance: float | Callable[[Arguments], float], queries: Sequence[Arguments]):
        vars(self).update(vars(tool))
        self._chance = chance
        self._queries = [dict(query) for query in queries]

    def prepare(
        self, call: ToolCall, *, seed: int, tried: int = 0, images: tuple[Image, ...] = ()
    ) -> Callable[[], Any]:
        """Bind the function as `Tool` does, with some probability to the arguments of another query."""
        work = super().prepare(call, seed=seed, tried=tried, images=images)
        rng = random.Random(derive_seed(seed, "noisy"))
        chance = self._chance(call.arguments) if callable(self._chance) else self._chance
        candidates = [query for query in self._queries if query != dict(call.arguments)]
        if rng.random() >= chance or not candidates:
            return work
        return super().prepare(replace(call, arguments=rng.choice(candidates)), seed=seed, tried=tried, images=images)
