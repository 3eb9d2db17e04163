import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.info_mosaic.mosaic_metrics import mosaic_metrics

ITEMS = st.lists(st.tuples(st.integers(0, 2), st.none() | st.lists(st.booleans(), max_size=4)), min_size=1, max_size=6)


def test_metrics_equal_numbers_by_hand():
    found = mosaic_metrics([2, 1, 0], [[True, True, False], [True, False], None])
    assert found["accuracy"] == pytest.approx(1 / 3, abs=1e-12)
    assert found["pass_rate"] == pytest.approx((2 / 3 + 1 / 2) / 2, abs=1e-12) == pytest.approx(0.583, abs=5e-4)
    assert mosaic_metrics([2], [None]) == {"accuracy": 1.0, "pass_rate": 0.0}


@settings(max_examples=50)
@given(ITEMS)
def test_metrics_equal_a_loop(items):
    right, total, counted = 0, 0.0, 0
    for label, cases in items:
        right += label == 2
        if cases:
            counted += 1
            total += sum(1 for case in cases if case) / len(cases)
    found = mosaic_metrics([label for label, _ in items], [cases for _, cases in items])
    assert found["accuracy"] == pytest.approx(right / len(items), abs=1e-9)
    assert found["pass_rate"] == pytest.approx(total / counted if counted else 0.0, abs=1e-9)


@pytest.mark.parametrize("labels, passes", [([], []), ([2], []), ([3], [None])])
def test_bad_items_raise(labels, passes):
    with pytest.raises(InputError, match="labels 0, 1 or 2"):
        mosaic_metrics(labels, passes)
