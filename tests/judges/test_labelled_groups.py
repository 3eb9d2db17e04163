import numpy as np
import pytest

from handaxe.judges.labelled_groups import ranking_metrics, with_zero_credit
from handaxe.testing.make_records import make_group, make_rated, make_scores


def test_metrics_by_hand():
    one = make_rated(group=make_group(size=3), outcome=[1, 0, 1])
    found = ranking_metrics(np.array([1.0, 0.5, 0.0]), [one])
    assert found == pytest.approx({"agreement": 0.5, "gap": 0.0, "mean": 0.5, "spread": np.std([1, 0.5, 0])}, abs=1e-9)


def test_pairs_are_of_siblings_alone_and_equal_scores_count_half():
    groups = [make_rated(group=make_group(size=2, step=n), outcome=own) for n, own in enumerate([[1, 0], [0, 0]])]
    found = ranking_metrics(np.array([2.0, 2.0, 9.0, -9.0]), groups)
    assert (found["agreement"], found["gap"]) == (0.5, 0.0)
    assert ranking_metrics(np.zeros(0), [])["agreement"] == 0.5


def test_labelled_groups_keep_their_scores():
    group, scores = make_group(size=2), make_scores([1, 0])
    (one,) = with_zero_credit([(group, scores)])
    assert one.group is group and one.scores is scores
    assert not any(own.any() for sequences in one.advantages.tokens for own in sequences)
