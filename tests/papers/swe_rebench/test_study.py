import numpy as np
import pytest

pytest.importorskip("toolz")

from handaxe.papers.swe_rebench import _by_subset, _corpus, _modules


def test_figures_of_subsets():
    resolved = np.array([[1, 1, 0, 0], [1, 1, 1, 0]])
    subsets = {"all": np.ones(4, bool), "seen": np.array([1, 1, 0, 0], bool), "fresh": np.array([0, 0, 1, 1], bool)}
    found = _by_subset(resolved, subsets)
    assert (found["all"], found["seen"], found["fresh"]) == (0.625, 1.0, 0.25)
    assert found["gap"] == 0.75 and found["spread"] == pytest.approx(0.125) and found["fresh/pass"] == 0.5


def test_the_corpus_has_all_of_toolz_and_none_of_hyperlink():
    modules = _modules(2, 900)
    assert sum(one.package == "networkx" for one in modules) == 2 and _modules(2, 900) == modules
    whole = _corpus([one for one in modules if one.package == "toolz"])
    assert len(whole) > 40 and not _corpus([one for one in modules if one.package == "hyperlink"])
