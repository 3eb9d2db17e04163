import pytest

from handaxe.errors import InputError
from handaxe.training.balance import assign, prefix_weight


def test_the_example_of_the_paper():
    chosen = assign([5, 4, 3, 3], 2)
    assert chosen == [0, 1, 1, 0]
    assert [sum(w for w, r in zip([5, 4, 3, 3], chosen) if r == k) for k in (0, 1)] == [8, 7]


def test_a_request_goes_where_its_cache_lies_unless_that_is_too_full():
    assert assign([5, 4, 3], 2, home=[None, None, 0]) == [0, 1, 0]
    assert assign([5, 4, 3], 2, home=[None, None, 0], slack=1) == [0, 1, 0]  # 1 fuller: still home
    assert assign([5, 4, 3], 2, home=[None, None, 0], slack=0.5) == [0, 1, 1]


def test_the_greedy_rule_keeps_loads_within_the_heaviest_request():
    weights = [1 + (7 * k) % 5 for k in range(40)]
    loads = [0] * 3
    for weight, replica in zip(weights, assign(weights, 3)):
        assert loads[replica] == min(loads)
        loads[replica] += weight
    assert max(loads) - min(loads) <= max(weights)


def test_the_weight_of_a_prefix():
    assert prefix_weight(2048) == 3.0 and prefix_weight(0) == 1.0 and prefix_weight(5, unit=2) == 3.5


def test_edges_and_bad_input():
    assert assign([], 2) == []
    assert assign([1, 1], 1) == [0, 0]
    for bad in (
        lambda: assign([1], 0),
        lambda: assign([0.0], 1),
        lambda: assign([1], 1, home=[]),
        lambda: assign([1], 1, slack=-1),
        lambda: assign([float("nan")], 1),
    ):
        with pytest.raises(InputError, match="weights above 0"):
            bad()
    with pytest.raises(InputError, match="none of the 2 replicas"):
        assign([1], 2, home=[2])
    with pytest.raises(InputError, match="a prefix of -1"):
        prefix_weight(-1)
