import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.perceptual_rewards.segments import average_std, best_split, segment_demonstrations


def column(*values):
    return np.array(values, float)[:, None]


def test_average_std_equals_the_worked_example():
    assert average_std(np.array([[0.0, 0], [2, 0]])) == 0.5
    assert average_std(column(3)) == 0


def test_best_split_equals_the_worked_examples():
    assert best_split(column(0, 0, 1, 1), segments=2) == ([2], 0)
    assert best_split(column(0, 1), segments=1) == ([], 0.5)
    splits, mean = best_split(column(0, 2, 4, 4), segments=2, least=2)
    assert splits == [2] and mean == pytest.approx(0.5, abs=1e-12), "(1 + 0) / 2"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(3, 9), segments=st.integers(1, 4), least=st.integers(1, 2))
def test_best_split_equals_an_exhaustive_search(seed, count, segments, least):
    features = np.random.default_rng(seed).normal(size=(count, 2))
    if segments * least > count:
        with pytest.raises(InputError, match="cannot have"):
            best_split(features, segments=segments, least=least)
        return
    found = []
    for splits in itertools.combinations(range(1, count), segments - 1):
        bounds = [0, *splits, count]
        if all(stop - start >= least for start, stop in itertools.pairwise(bounds)):
            parts = [average_std(features[start:stop]) for start, stop in itertools.pairwise(bounds)]
            found.append(sum(parts) / segments)
    splits, mean = best_split(features, segments=segments, least=least)
    assert mean == pytest.approx(min(found), abs=1e-9)
    bounds = [0, *splits, count]
    assert all(stop - start >= least for start, stop in itertools.pairwise(bounds))


def test_demonstrations_are_numbered_by_segment():
    found = segment_demonstrations([column(0, 0, 1, 1), column(0, 1, 1)], segments=2)
    assert [one.tolist() for one in found] == [[0, 0, 1, 1], [0, 1, 1]]
    with pytest.raises(InputError, match="no demonstration"):
        segment_demonstrations([], segments=2)


@pytest.mark.parametrize("features", [np.zeros(3), np.array([[np.nan], [0]])])
def test_bad_features_are_refused(features):
    with pytest.raises(InputError, match="a row per frame"):
        best_split(features, segments=1)
