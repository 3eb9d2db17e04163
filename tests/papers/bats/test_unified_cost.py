from types import SimpleNamespace

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.bats.unified_cost import TokenCounts, TokenPrices, token_counts, unified_cost

PRICES = {"search": 0.001, "browse": 0.002}


def made(*spans):
    return SimpleNamespace(turns=[SimpleNamespace(sequence=s, start=a, stop=b) for s, a, b in spans])


def test_tokens_are_split_into_new_cached_and_sampled():
    assert token_counts([made((0, 10, 14), (0, 20, 25))]) == (16, 14, 9)
    # a new sequence is read from its first token; a second rollout adds
    assert token_counts([made((0, 10, 14), (1, 6, 7)), made((0, 3, 5))]) == (19, 0, 7)
    assert token_counts([]) == (0, 0, 0)


def test_the_worked_example_costs_3_6_cents():
    tokens = TokenCounts(8000, 0, 1000)  # 0.010 + 0.010
    cost = unified_cost(tokens, {"search": 14, "browse": 1}, token_prices=TokenPrices(), tool_prices=PRICES)
    assert cost == pytest.approx(0.036, abs=1e-12)


def test_each_kind_of_token_has_its_price():
    prices = TokenPrices(1.0, 10.0, 100.0)
    assert unified_cost(TokenCounts(2, 3, 4), {}, token_prices=prices, tool_prices={}) == pytest.approx(432e-6)


def test_a_tool_without_a_price_raises():
    with pytest.raises(InputError, match="tools without a price: mail"):
        unified_cost(TokenCounts(), {"mail": 1}, token_prices=TokenPrices(), tool_prices=PRICES)
