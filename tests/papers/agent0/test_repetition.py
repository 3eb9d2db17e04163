from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

from handaxe.core.errors import InputError
from handaxe.papers.agent0.repetition import cluster_shares

pytest.importorskip("sacrebleu")
TEXTS = ["what is 3 plus 4", "what is 3 plus 5", "name a river"]


def test_repetition_matches_its_example():
    assert cluster_shares(TEXTS).tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_cluster_shares_of_equal_and_empty_texts():
    assert cluster_shares([]).tolist() == []
    assert cluster_shares(["a"]).tolist() == [1.0]
    assert cluster_shares(["a", "a"]).tolist() == [1.0, 1.0]
    assert cluster_shares(["", "", "7+8", "7+8", "12*34"]).tolist() == [0.4, 0.4, 0.4, 0.4, 0.2]
    assert cluster_shares(TEXTS, threshold=1.0).tolist() == [1.0] * 3
    assert cluster_shares(TEXTS, threshold=0.0).tolist() == pytest.approx([1 / 3] * 3)


def test_cluster_shares_do_not_depend_on_the_order():
    texts = ["7+8", "7+9", "7+8", "", "8*9", "8*9-1"]
    plain = dict(zip(texts, cluster_shares(texts)))
    for order in permutations(texts):
        assert dict(zip(order, cluster_shares(order))) == plain


def test_clusters_equal_those_of_another_implementation():
    from sacrebleu.metrics import BLEU

    bleu = BLEU(smooth_method="floor", smooth_value=0.1, effective_order=True)
    rng = np.random.default_rng(0)
    words = ["what", "is", "the", "sum", "of", "3", "4", "and", "5"]
    texts = [" ".join(rng.choice(words[: 3 + i % 7], size=5)) for i in range(24)]
    apart = np.zeros((24, 24))
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            both = [bleu.sentence_score(a, [b]).score / 100 for a, b in ((one, other), (other, one))]
            apart[i, j] = 0.0 if one == other else 1 - sum(both) / 2
    found = AgglomerativeClustering(
        n_clusters=None, distance_threshold=0.5, metric="precomputed", linkage="average"
    ).fit_predict(apart)
    wanted = [float(np.mean(found == label)) for label in found]
    assert len(set(wanted)) > 1
    assert cluster_shares(texts).tolist() == pytest.approx(wanted)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu.metrics", None)
    with pytest.raises(InputError, match=r"handaxe\[bleu\]"):
        cluster_shares(TEXTS)
