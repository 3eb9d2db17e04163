"""Typed tables, and names of two halves."""

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.astra.records import KINDS, TABLES, make_records


def test_records_are_typed_and_their_halves_are_apart():
    records = make_records(seed=1, size=40)
    sides = [{name for kind in records.halves for name in records.halves[kind][half]} for half in (0, 1)]
    assert not sides[0] & sides[1] and len(records.facts) == 40 * len(TABLES)
    for (table, key), value in records.facts.items():
        source, target = TABLES[table]
        half = 0 if key in records.halves[source][0] else 1
        assert key in records.halves[source][half] and value in records.halves[target][half]


def test_a_quarter_of_the_names_of_a_kind_is_the_test_half():
    records = make_records(seed=0, size=16)
    for kind, (low, high) in KINDS.items():
        train, test = records.halves[kind]
        assert (len(train), len(test)) == (12, 4) and all(low <= int(name) < high for name in (*train, *test))
    assert all(records.facts[table, key] != key for table, key in records.facts)
    assert make_records(seed=2, size=16).facts != records.facts


@pytest.mark.parametrize("size", [15, 2001])
def test_sizes_out_of_range_are_refused(size):
    with pytest.raises(InputError, match=f"16 to 2000 names, not {size}"):
        make_records(seed=0, size=size)
