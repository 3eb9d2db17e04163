import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph, combined_scores, frequency_scores


def graph(**options):
    return InertiaGraph(similarity=lambda context, tool: {"open": 0.6}.get(tool, 0.0), **options)


def test_frequency_scores_by_hand():
    found = frequency_scores({"open": 3, "click": 1})
    assert found == {"open": pytest.approx(0.2377399), "click": pytest.approx(0.0792466)}
    assert frequency_scores({}) == {} and frequency_scores({"a": -1, "b": 0}) == {}
    assert frequency_scores({"a": -1, "b": 1}) == {"a": 0, "b": pytest.approx(1 - 1 / 1.1)}


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 50), min_size=1))
def test_frequency_scores_equal_a_loop_and_stay_below_one(weights):
    total = 0.0
    for weight in weights.values():
        total += weight
    if total > 0:
        found = frequency_scores(weights)
        for tool, weight in weights.items():
            assert found[tool] == pytest.approx(weight / total * (1 - 1 / 1.1**total), abs=1e-6)
        assert sum(found.values()) <= 1


def test_combined_score_by_hand():
    found = combined_scores({"open": 0.2377399}, {"open": 0.6}, alpha=0.5)
    assert found == {"open": pytest.approx(0.41886995)} and found["open"] > 0.1
    assert combined_scores({"a": 0.2}, {}, alpha=0.5) == {"a": 0.1}
    with pytest.raises(InputError, match="alpha"):
        combined_scores({}, {}, alpha=2)


def test_frequencies_are_those_of_paths_that_hold_the_last_tools():
    own = graph(k=2)
    for path in ("abc", "abc", "xabd", "bc", "abab"):
        own.learn(list(path))
    assert own.frequencies(["a", "b"]) == {"c": 2, "d": 1, "a": 1}
    assert own.frequencies(["z", "a", "b"]) == own.frequencies(["a", "b"])
    assert own.frequencies(["b"]) == {"c": 3, "d": 1, "a": 1}
    assert own.frequencies(["c"]) == {} and own.scores(["c"], "") == {}


@given(st.integers(0, 500))
def test_frequencies_equal_a_loop(seed):
    rng, own, paths = np.random.default_rng(seed), graph(k=2), []
    for _ in range(8):
        paths.append(tuple(rng.choice(list("abc"), size=rng.integers(2, 6)).tolist()))
        own.learn(paths[-1])
    for key in ("ab", "ba", "c"):
        loop = {}
        for path in paths:
            after = {path[n + len(key)] for n in range(len(path) - len(key)) if "".join(path[n : n + len(key)]) == key}
            for tool in after:
                loop[tool] = loop.get(tool, 0) + 1
        assert own.frequencies(list(key)) == loop


def test_feedback_counts_one_for_inertial_calls_and_a_half_for_the_policy():
    own = graph(k=1)
    own.feedback(["x", "a", "b"], success=True, inertial=True)
    own.feedback(["a", "c"], success=True, inertial=False)
    assert own.frequencies(["a"]) == {"b": 1.0, "c": 0.5}
    own.feedback(["a", "b"], success=False, inertial=True)
    own.feedback(["a", "c"], success=False, inertial=False)
    assert own.frequencies(["a"]) == {"b": 0.0, "c": 0.0} and own.scores(["a"], "") == {}


def test_scores_use_the_context():
    own = graph(k=1)
    for tool in ("open", "click", "click"):
        own.learn(["search", tool])
    confidence = 1 - 1.1**-3
    assert own.scores(["search"], "x") == {
        "open": pytest.approx(0.5 * confidence / 3 + 0.3),
        "click": pytest.approx(0.5 * confidence * 2 / 3),
    }
    with pytest.raises(InputError, match="inertia graph"):
        graph(k=0)
