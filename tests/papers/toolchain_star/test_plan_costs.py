import itertools
import random

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.toolchain_star.plan_costs import (
    lcs_length,
    memory_match,
    plan_costs,
    relative_position,
)


def slow_lcs_length(one, other):
    """Longest of all subsequences of one that are subsequences of the other."""

    def is_part(part):
        rest = iter(other)
        return all(any(step == own for own in rest) for step in part)

    sizes = range(len(one), -1, -1)
    return next(n for n in sizes if any(is_part(part) for part in itertools.combinations(one, n)))


@pytest.mark.parametrize("seed", range(60))
def test_lcs_length_equals_the_longest_of_all_subsequences(seed):
    rng = random.Random(seed)
    one, other = ("".join(rng.choices("abcd", k=rng.randrange(7))) for _ in range(2))
    assert lcs_length(one, other) == slow_lcs_length(one, other)


def test_memory_match_by_hand():
    assert memory_match(tuple("abc"), [tuple("acd")]) == pytest.approx(2 / 3, abs=1e-12)
    # a of length 1 in a plan of 3: 1 / 1; b c against a b: 1 / 2; the greatest counts
    assert memory_match(("a",), [tuple("xyz"), tuple("abc")]) == 1
    assert memory_match(tuple("bc"), [tuple("ab")]) == 0.5
    assert memory_match(("a",), []) == 0


def test_relative_position_by_hand():
    assert relative_position("b", [tuple("ab"), tuple("bcde")]) == pytest.approx(0.625, abs=1e-12)
    # twice in one plan: the mean of 1 and 3, of 4
    assert relative_position("a", [tuple("abac"), tuple("xyz")]) == pytest.approx(0.5, abs=1e-12)
    assert relative_position("q", [tuple("ab")]) == 0


def test_costs_match_the_worked_example():
    # g1 0.64 and 0.84, h1 0.5: the mixtures alone, by plans with these scores
    memory = [tuple(f"s{n}" for n in range(25))]
    first = (*[f"s{n}" for n in range(16)], *["x"] * 9)  # 16 of 25
    second = (*[f"s{n}" for n in range(21)], *["x"] * 4)  # 21 of 25
    costs = plan_costs(memory)
    assert costs.step_cost(first, 0.75) == pytest.approx(0.3, abs=1e-9)
    assert costs.step_cost(second, 0.36) == pytest.approx(0.32, abs=1e-9)
    half = plan_costs([("a", "b")])
    assert half.future_cost(("a",), ("a", "q")) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_costs_equal_a_slow_loop(seed):
    rng = random.Random(seed)
    memory = [tuple(rng.choices("abcd", k=rng.randrange(1, 6))) for _ in range(4)]
    plan = tuple(rng.choices("abcde", k=rng.randrange(1, 5)))
    imagined = (*plan, *rng.choices("abcd", k=rng.randrange(3)))
    alpha = rng.random()
    beta = rng.random()
    share = rng.random()
    best = 0.0
    for one in memory:
        best = max(best, slow_lcs_length(plan, one) / min(len(plan), len(one)))
    shares = []
    for one in memory:
        places = [n + 1 for n in range(len(one)) if one[n] == plan[-1]]
        if places:
            shares.append(sum(places) / len(places) / len(one))
    position = sum(shares) / len(shares) if shares else 0.0
    done = slow_lcs_length(plan, imagined) / len(imagined)
    costs = plan_costs(memory, alpha=alpha, beta=beta)
    assert costs.step_cost(plan, share) == pytest.approx((1 - best) ** alpha * (1 - share) ** (1 - alpha), abs=1e-9)
    expected = (1 - position) ** beta * (1 - done) ** (1 - beta)
    assert costs.future_cost(plan, imagined) == pytest.approx(expected, abs=1e-9)


def test_a_weight_of_0_takes_its_factor_out():
    own, memory = (plan_costs([("a",)], alpha=weight, beta=weight) for weight in (0.0, 1.0))
    assert own.step_cost(("a",), 0.25) == 0.75 and memory.step_cost(("x",), 1.0) == 1
    assert own.future_cost(("a",), ("a", "b", "c", "d")) == 0.75 and memory.future_cost(("a",), ("a", "b")) == 0


@pytest.mark.parametrize("knobs", [{"alpha": -0.1}, {"beta": 1.1}, {"memory": [()]}])
def test_bad_weights_and_empty_plans_raise(knobs):
    with pytest.raises(InputError, match="give"):
        plan_costs(**{"memory": [("a",)], **knobs})
