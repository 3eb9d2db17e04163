import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.tool_light.step_entropy import StepEntropy, most_uncertain, step_entropy


def slow(entropies, sizes):
    best = None
    for n in sorted(sizes):
        if n > len(entropies):
            continue
        total = 0.0
        for t in range(n):
            total += entropies[t]
        if best is None or total / n > best[0]:
            best = (total / n, n)
    return best or (sum(entropies) / len(entropies), len(entropies))


def test_step_entropy_by_hand():
    """Top probabilities (.5, .5), then 1: H_1 = ln 2, H_2 = ln 2 / 2."""
    values = [math.log(2), 0.0]
    assert step_entropy(values, sizes=[2]) == pytest.approx((0.34657359, 2), abs=1e-8)
    assert step_entropy(values, sizes=[1, 2]) == pytest.approx((0.69314718, 1), abs=1e-8)
    assert step_entropy([0.25, 0.75, 0.5], sizes=[1, 2, 3, 9]) == (0.5, 2)  # means 0.25, 0.5, 0.5
    assert step_entropy([0.25, 0.75]) == (0.5, 2), "shorter than every size"


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.sets(st.integers(1, 60), min_size=1, max_size=5))
def test_step_entropy_equals_a_slow_loop(entropies, sizes):
    found = step_entropy(entropies, sizes=sorted(sizes))
    wanted = slow(entropies, sizes)
    assert found.entropy == pytest.approx(wanted[0], abs=1e-9)
    assert found.tokens == wanted[1] or abs(slow(entropies, [found.tokens])[0] - wanted[0]) < 1e-9


def test_most_uncertain_steps_by_hand():
    steps = [StepEntropy(value, 1) for value in (0.2, 0.9, 0.5, 0.7)]
    assert most_uncertain(steps, count=3) == [1, 3, 2]
    assert most_uncertain([steps[0], steps[0]], count=5) == [0, 1]


def test_bad_input_is_an_input_error():
    with pytest.raises(InputError, match="without tokens"):
        step_entropy([])
    for sizes in ([], [0, 2]):
        with pytest.raises(InputError, match="above 0"):
            step_entropy([1.0], sizes=sizes)
