import math

import pytest

from handaxe.papers.aepo.probe_split import probe_split


@pytest.mark.parametrize(("difference", "m"), [(1, 10), (0, 9), (-4, 2)])
def test_probe_split_matches_its_example(difference, m):
    assert probe_split()(2.0 + difference, 2.0, 16) == m


def test_without_a_turn_after_a_tool_the_difference_is_0():
    assert probe_split()(5.0, None, 16) == probe_split()(0.0, 0.0, 16) == 9


@pytest.mark.parametrize("total", [1, 2, 7, 16])
def test_the_number_of_starts_stays_in_range_and_never_falls(total):
    found = [probe_split(slope=2.0)(h, 0.0, total) for h in (-1e6, -9, -1, 0, 0.3, 1, 9, 1e6)]
    assert found == sorted(found) and found[0] == 1 and found[-1] == total
    for h, m in zip((-9, -1, 0, 0.3, 1), found[1:]):
        assert m == min(max(math.floor(total / (1 + math.exp(-2 * h))) + 1, 1), total)
