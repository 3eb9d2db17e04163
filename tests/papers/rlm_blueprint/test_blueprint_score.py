from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.rlm_blueprint.blueprint_score import blueprint_score


def test_blueprint_score_by_hand():
    """N = 5: sqrt(4) = 2, ln(19657 / 19652) = 0.000254; 1 + 2/4 * 1.250254 and 0 + 2/2 * 1.250254."""
    select = blueprint_score()
    assert select(1.0, 5, 3) == pytest.approx(1.625127, abs=1e-6)
    assert select(-1.0, 5, 1) == pytest.approx(1.250254, abs=1e-6)
    assert select(0.0, 1, 1) == 0.5 and select(0.0, 0, 1) == 0.5
    assert blueprint_score(c1=0.0, c2=1.0, lowest=0.0, highest=2.0)(1.0, 2, 0) == pytest.approx(0.5 + log(3), abs=1e-12)


@given(st.floats(-1, 1), st.integers(1, 100), st.integers(0, 20))
def test_scores_fall_with_visits_and_rise_with_values(value, parent, own):
    select = blueprint_score()
    assert select(value, parent, own) >= select(value, parent, own + 1)
    assert select(value, parent, own) <= select(value + 0.5, parent, own)


@pytest.mark.parametrize("knobs", [{"c1": -1.0}, {"c2": 0.0}, {"lowest": 1.0}])
def test_numbers_out_of_range_are_errors(knobs):
    with pytest.raises(InputError, match="c1 from 0"):
        blueprint_score(**knobs)
