import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.snapshot_rl.status_classes import draw_snapshot, snapshot_probabilities, status_classes

pytest.importorskip("sklearn")


def spread(value_N, classes):
    return sum(((value_N[one] - value_N[one].mean()) ** 2).sum() for one in classes)


def test_status_classes_equal_the_worked_example():
    classes = status_classes(np.array([0, 0.1, 0.9, 1, 1]), clusters=2)
    assert [one.tolist() for one in classes] == [[2, 3, 4], [0, 1]]


def test_status_classes_are_the_best_intervals_of_an_exhaustive_search():
    value_N = np.array([0.0, 0.2, 1.0, 1.1, 5.0, 5.2, 5.3, 9.0])
    cuts = itertools.combinations(range(1, 8), 2)
    best = min(spread(value_N, np.split(np.arange(8), cut)) for cut in cuts)
    assert spread(value_N, status_classes(value_N, clusters=3)) == pytest.approx(best, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(values=st.lists(st.integers(0, 5), min_size=1, max_size=12), clusters=st.integers(1, 8))
def test_every_snapshot_has_one_class_and_chances_add_up_to_one(values, clusters):
    classes = status_classes(np.array(values) / 5, clusters=clusters)
    assert sorted(np.concatenate(classes).tolist()) == list(range(len(values)))
    assert len(classes) <= min(clusters, len(set(values)))
    sizes = [len(one) for one in classes]
    assert sizes == sorted(sizes, reverse=True)
    assert snapshot_probabilities(classes).sum() == pytest.approx(1, abs=1e-12)


def test_probabilities_equal_the_worked_example_and_the_frequencies_of_draws():
    classes = (np.arange(10), np.array([10, 11]))
    chance_N = snapshot_probabilities(classes)
    assert chance_N.tolist() == pytest.approx([1 / 20] * 10 + [1 / 4] * 2, abs=1e-12)
    rng = np.random.default_rng(0)
    drawn = [draw_snapshot(classes, rng) for _ in range(4000)]
    share_N = np.bincount([n for _, n in drawn], minlength=12) / 4000
    assert np.abs(share_N - chance_N).max() < 0.03
    assert all((n >= 10) == (number == 1) for number, n in drawn)


@pytest.mark.parametrize("values, clusters", [([], 2), ([0.0, np.nan], 2), ([1.0], 0)])
def test_status_classes_refuse_bad_values(values, clusters):
    with pytest.raises(InputError, match="give a finite value per snapshot"):
        status_classes(np.array(values), clusters=clusters)
