import random
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("vega_datasets")
from vega_datasets import local_data  # noqa: E402

from handaxe.worlds.charts.tables import HIGH, LOW, MIN_DISTINCT, draw_values, table_columns

SPLITS = ("train", "test")


def test_a_column_is_its_table_on_a_scale_from_10_to_99():
    found = {column.name: column.values for split in SPLITS for column in table_columns(split)}
    horsepower = [float(value) for value in local_data.cars()["Horsepower"].dropna()]
    low, high = min(horsepower), max(horsepower)
    assert found["cars.Horsepower"] == tuple(round(10 + 89 * (value - low) / (high - low)) for value in horsepower)


def test_columns_reach_both_ends_and_vary():
    for split in SPLITS:
        for column in table_columns(split):
            assert (min(column.values), max(column.values)) == (LOW, HIGH)
            assert len(set(column.values)) >= MIN_DISTINCT


def test_no_column_is_in_both_splits_by_content():
    train, test = ({column.values for column in table_columns(split)} for split in SPLITS)
    assert not train & test and len(train) > 2 * len(test) > 10


def test_drawn_values_are_distinct_and_in_the_order_of_the_table():
    for seed in range(40):
        name, values = draw_values(random.Random(seed), "train", 4)
        (column,) = (one for one in table_columns("train") if one.name == name)
        places = iter(column.values)
        assert len(set(values)) == 4 and all(value in places for value in values)
    drawn = [draw_values(random.Random(seed), "test", 1)[1][0] for seed in range(400)]
    assert np.std(drawn) > 15


def test_missing_tables_are_named_with_their_extra():
    code = """
import sys
sys.modules["vega_datasets"] = None
from handaxe.core.errors import InputError
from handaxe.worlds.charts.world import charts
try:
    charts().tasks("train", 1, 0)
except InputError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("the world charts reads tables of vega_datasets, which is missing: ")
    assert said.strip().endswith('pip install "handaxe[charts]"') and said.count("\n") == 1
