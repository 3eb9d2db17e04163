from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.latm.amortised_cost import amortised_cost, break_even


def test_a_tool_of_ten_for_a_hundred_questions_costs_110():
    assert amortised_cost(100, make=10, use=1) == 110


@pytest.mark.parametrize(
    "make, use, alone, count",
    [(10, 1, 10, 2), (9, 1, 10, 2), (0, 1, 2, 1), (5, 2, 2, inf), (5, 3, 2, inf), (10, 0, 1, 11)],
)
def test_break_even_examples(make, use, alone, count):
    assert break_even(make=make, use=use, alone=alone) == count


@given(st.integers(0, 50), st.integers(0, 10), st.integers(0, 20))
def test_break_even_is_the_first_cheaper_count_of_a_loop(make, use, alone):
    loop = next((n for n in range(200) if amortised_cost(n, make=make, use=use) < n * alone), inf)
    assert break_even(make=make, use=use, alone=alone) == loop


def test_negative_numbers_raise():
    with pytest.raises(InputError, match="0 or more"):
        amortised_cost(-1, make=1, use=1)
    with pytest.raises(InputError, match="0 or more"):
        break_even(make=-1, use=1, alone=2)
