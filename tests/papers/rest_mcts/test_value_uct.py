from math import log, sqrt

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.rest_mcts.value_uct import value_uct


def test_value_uct_by_hand():
    """sqrt(2 ln 10 / 4) = sqrt(1.151293) = 1.072983, times 0.7 = 0.751088."""
    select = value_uct()
    assert select(0.6, 10, 4) == pytest.approx(1.351088, abs=1e-6)
    assert select(0.7, 10, 6) == pytest.approx(0.7 + 0.7 * sqrt(log(10) / 3), abs=1e-12)
    assert select(0.6, 10, 4) > select(0.7, 10, 6)
    assert select(0.5, 10, 0) == 1.5 and select(0.5, 0, 0) == 1.5 and select(0.5, 1, 1) == 0.5


def test_a_negative_weight_is_an_error():
    with pytest.raises(InputError, match="-1"):
        value_uct(c=-1)
