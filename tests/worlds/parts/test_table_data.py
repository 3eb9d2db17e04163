import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn import datasets

from handaxe.core.errors import InputError
from handaxe.worlds.parts.table_data import METRICS, table_data, table_score


@pytest.mark.parametrize("name", METRICS)
def test_parts_are_equal_in_size_and_repeat(name):
    own = table_data(name, number=3, rows=60)
    assert {len(part) for part in own} == {20}
    for first, second in zip(own, table_data(name, number=3, rows=60), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(own.train_X, table_data(name, number=4, rows=60).train_X, equal_nan=True)


def test_cells_are_those_of_the_data_set_times_a_power_of_ten():
    own = table_data("iris", number=0, rows=150, missing=0.0)
    X, y = datasets.load_iris(return_X_y=True)
    stacked = np.concatenate([own.train_X, own.public_X, own.private_X])
    units = stacked.sum(0) / X.sum(0)
    np.testing.assert_allclose(np.log10(units), np.round(np.log10(units)), atol=1e-9)
    rows = sorted(map(tuple, np.round(np.column_stack([stacked / units, np.concatenate(own[1::2])]), 6)))
    assert rows == sorted(map(tuple, np.column_stack([X, y])))


def test_the_share_of_missing_cells_is_the_given_one():
    own = table_data("digits", number=0, missing=0.2)
    share = np.mean([np.isnan(part).mean() for part in own[::2]])
    assert share == pytest.approx(0.2, abs=0.02)


def test_targets_of_a_regression_have_unit_deviation():
    own = table_data("diabetes", number=0, rows=442)
    assert np.concatenate(own[1::2]).std() == pytest.approx(1.0, abs=0.01)


def test_scores_equal_numbers_by_hand():
    assert table_score("iris", np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])) == 0.75
    assert table_score("diabetes", np.array([1.0, 3.0]), np.array([4.0, 7.0])) == pytest.approx(12.5**0.5, abs=1e-9)


@pytest.mark.parametrize("knobs", [{"name": "titanic"}, {"rows": 47}, {"missing": 0.6}])
def test_arguments_out_of_range_raise(knobs):
    with pytest.raises(InputError, match="a table has a name of"):
        table_data(**{"name": "iris", "number": 0, **knobs})
