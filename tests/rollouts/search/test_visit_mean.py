import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.rollouts.search.visit_mean import visit_mean


def test_visit_mean_by_hand():
    """(3 * 0.96 * 0.5 - 0.96) / 4 = (1.44 - 0.96) / 4 = 0.12"""
    children = [(0.5, 3), (-1.0, 1)]
    assert visit_mean(gamma=0.96)(0.7, children) == pytest.approx(0.12, abs=1e-12)
    assert visit_mean(gamma=0.96, rate=0.5)(0.0, children) == pytest.approx(0.06, abs=1e-12)
    assert visit_mean()(0.7, [(0.4, 0)]) == 0.7


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 5)), min_size=1, max_size=5), st.floats(-1, 1))
def test_visit_mean_equals_a_mean_over_repeated_children(children, value):
    repeated = [own for own, n in children for _ in range(n)]
    expected = sum(repeated) / len(repeated) if repeated else value
    assert visit_mean()(value, children) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("knobs", [{"gamma": 1.1}, {"rate": -0.1}])
def test_numbers_out_of_range_are_errors(knobs):
    with pytest.raises(InputError, match="gamma and rate"):
        visit_mean(**knobs)
