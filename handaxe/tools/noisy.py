"""Makes a tool unreliable: now and then it replies to another question than the one it was asked."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.ops.seeds import derive_seed
from handaxe.tools.decorator import Tool

__all__ = ["noisy"]

Arguments = Mapping[str, Any]


def noisy(tool: Tool, *, chance: float | Callable[[Arguments], float], queries: Sequence[Arguments]) -> Tool:
    """Make a tool whose reply is, with some chance, that to another query.

        reply(x) = tool(y), y drawn from the queries other than x    with probability p(x)
                 = tool(x)                                           else

    The policy cannot see it: name, schema, status and form of the reply are the tool's own. Arguments that do not fit
    are refused as ever. It is drawn from the seed of the call, so that a replay says the same, and so do all tries.

    Args:
        tool: what is asked; it stays as it is.
        chance: p, 0 to 1, or a function of the arguments.
        queries: arguments of the calls that are answered instead.

    Returns:
        A Tool.

    Raises:
        InputError: a chance that is not between 0 and 1, no query, a query that does not fit the tool, or a tool with a
            way of its own to carry out calls (a subclass of Tool that overrides `prepare`), which would be lost.

    Example:
        noisy(calculator, chance=0.5, queries=[{"expression": "2*3"}]) says "408" or "6" to 12*34

    Idea: evidence that may be wrong, as that of a search in the open web; arXiv:2601.07264 (the confidence dichotomy)
    says that it makes policies surer than they should be.
    """
    if not callable(chance) and not 0 <= chance <= 1:
        raise InputError(f"the chance of noise is {chance}; give 0 to 1")
    if not queries:
        raise InputError("a noisy tool needs queries to answer instead; give one or more")
    if type(tool).prepare is not Tool.prepare:
        raise InputError(f"{tool!r} carries out calls in a way of its own; make noise of the tool that it was made of")
    for query in queries:
        if not tool.takes(ToolCall(tool.schema.name, query)):
            raise InputError(f"the query {dict(query)} does not fit the parameters of {tool!r}")
    return _NoisyTool(tool, chance, queries)


class _NoisyTool(Tool):
    def __init__(self, tool: Tool, chance: float | Callable[[Arguments], float], queries: Sequence[Arguments]):
        vars(self).update(vars(tool))
        self._chance = chance
        self._queries = [dict(one) for one in queries]

    def prepare(self, call: ToolCall, *, seed: int, tried: int = 0) -> Callable[[], Any]:
        """As of `Tool`, with the arguments of another call by chance."""
        work = super().prepare(call, seed=seed, tried=tried)
        rng = random.Random(derive_seed(seed, "noisy"))
        chance = self._chance(call.arguments) if callable(self._chance) else self._chance
        others = [one for one in self._queries if one != dict(call.arguments)]
        if rng.random() >= chance or not others:
            return work
        return super().prepare(replace(call, arguments=rng.choice(others)), seed=seed, tried=tried)
