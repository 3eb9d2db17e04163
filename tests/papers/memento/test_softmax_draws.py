import itertools

import numpy as np
import pytest
import scipy.stats

from handaxe.core.errors import InputError
from handaxe.ops.seeds import generator
from handaxe.papers.memento.softmax_draws import softmax_draws

Q = np.array([0.3, 0.2, 0.0])
"""At temperature 0.1 / log 2 the weights are 8, 4 and 1."""
TEMPERATURE = 0.1 / np.log(2)
ORDERS = {(0, 1): 8 * 4 / 65, (0, 2): 8 / 65, (1, 0): 4 * 8 / 117, (1, 2): 4 / 117, (2, 0): 8 / 156, (2, 1): 4 / 156}
"""Probability of each ordered draw of two, by hand: 8 / 13 * 4 / 5 for cases 0 and 1, and so on."""


def order_probability(q, order, temperature):
    """Draws one after the other: each by its weight among the cases that are left."""
    left, found = list(range(len(q))), 1.0
    for case in order:
        weight = {n: np.exp(q[n] / temperature) for n in left}
        found *= weight[case] / sum(weight.values())
        left.remove(case)
    return found


def test_probabilities_of_two_draws_by_hand():
    assert sum(ORDERS.values()) == pytest.approx(1.0)
    for order, expected in ORDERS.items():
        assert order_probability(Q, order, TEMPERATURE) == pytest.approx(expected)


@pytest.mark.parametrize(
    "q, k, temperature", [(Q, 2, TEMPERATURE), (Q, 1, 0.5), (Q, 3, 0.2), (np.array([0.1, 0.9, 0.4, 0.4]), 2, 0.3)]
)
def test_frequencies_of_ordered_draws_are_the_products_of_the_softmax(q, k, temperature):
    """Chi-squared over 20,000 draws with a fixed seed; uniform draws fail it by far."""
    rng, count = generator("frequency of draws", k), 20_000
    orders = list(itertools.permutations(range(len(q)), k))
    seen = dict.fromkeys(orders, 0)
    for _ in range(count):
        seen[tuple(softmax_draws(q, k, temperature=temperature, rng=rng))] += 1
    expected = [count * order_probability(q, order, temperature) for order in orders]
    assert scipy.stats.chisquare(list(seen.values()), expected).pvalue > 0.01
    assert scipy.stats.chisquare(list(seen.values())).pvalue < 1e-6


def test_the_first_draw_by_hand():
    """Q = (1, 0) at temperature 0.5: 0.881."""
    assert order_probability([1.0, 0.0], (0,), 0.5) == pytest.approx(0.8807971)
    rng = generator("first draw")
    first = [softmax_draws(np.array([1.0, 0.0]), 1, temperature=0.5, rng=rng)[0] for _ in range(10_000)]
    assert np.mean([one == 0 for one in first]) == pytest.approx(0.8808, abs=0.01)


def test_a_smaller_number_draws_the_first_cases():
    q_N = generator("values").random(9)
    drawn = [softmax_draws(q_N, k, temperature=0.3, rng=generator("draw")) for k in range(12)]
    assert [len(one) for one in drawn] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9] and len(set(drawn[9])) == 9
    assert all(drawn[k] == drawn[9][:k] for k in range(10))


def test_a_small_temperature_draws_the_largest():
    assert softmax_draws(np.array([0.1, 0.9, 0.4]), 2, temperature=1e-4, rng=generator("small")) == [1, 2]


@pytest.mark.parametrize("q_N", [[0.0, np.nan], [np.inf], [[0.1]]])
def test_values_that_are_no_finite_vector_raise(q_N):
    with pytest.raises(InputError, match="vector of finite numbers"):
        softmax_draws(np.array(q_N), 1, temperature=0.1, rng=generator("bad"))


@pytest.mark.parametrize("k, temperature", [(-1, 0.1), (1, 0.0), (1, -0.5), (1, np.nan), (1, np.inf)])
def test_numbers_out_of_range_raise(k, temperature):
    with pytest.raises(InputError, match="temperature above 0"):
        softmax_draws(Q, k, temperature=temperature, rng=generator("bad"))
