"""Unified cost of a rollout: tokens and tool calls in one currency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Trajectory

__all__ = ["TokenCounts", "TokenPrices", "token_counts", "unified_cost"]


class TokenPrices(NamedTuple):
    """Dollars for a million tokens: read for the first time, read from the cache, and sampled."""

    input: float = 1.25
    cached: float = 0.31
    output: float = 10.0


class TokenCounts(NamedTuple):
    """Tokens of rollouts, as in `TokenPrices`."""

    input: int = 0
    cached: int = 0
    output: int = 0


def token_counts(trajectories: Sequence[Trajectory]) -> TokenCounts:
    """Count new, cached and sampled tokens for a server with a prefix cache.

        input_t = start_t - stop_{t-1}      cached_t = stop_{t-1}      output_t = stop_t - start_t

    over the turns t of each sequence, with stop_{-1} = 0.

    Example:
        turns at [10, 14) and [20, 25) of one sequence  ->  input 16, cached 14, output 9
    """
    total = TokenCounts()
    for one in trajectories:
        before: dict[int, int] = {}
        for turn in one.turns:
            read = before.get(turn.sequence, 0)
            total = TokenCounts(
                total.input + turn.start - read, total.cached + read, total.output + turn.stop - turn.start
            )
            before[turn.sequence] = turn.stop
    return total


def unified_cost(
    tokens: TokenCounts, calls: Mapping[str, int], *, token_prices: TokenPrices, tool_prices: Mapping[str, float]
) -> float:
    """Add the costs of tokens and tool calls.

        C = sum_k n_k q_k / 10^6 + sum_i c_i p_i

    Args:
        tokens: n by kind.
        calls: c, executed calls by tool.
        token_prices: q, dollars for a million tokens.
        tool_prices: p, dollars for a call.

    Returns:
        Dollars.

    Raises:
        InputError: a tool without a price.

    Example:
        tokens of $0.020, 14 searches of $0.001, 1 page of $0.002  ->  $0.036

    Paper: arXiv:2511.17006 (BATS), section 2, the unified cost.
    Unconfirmed: default prices, those of Gemini 2.5 Pro below 200,000 tokens, from memory.
    Differs: nothing.
    """
    if missing := sorted(set(calls) - set(tool_prices)):
        raise InputError(f"tools without a price: {', '.join(missing)}; there are prices of {sorted(tool_prices)}")
    paid = sum(count * price for count, price in zip(tokens, token_prices, strict=True)) / 1e6
    return paid + sum(count * tool_prices[name] for name, count in calls.items())
