from itertools import pairwise

import numpy as np
import pytest
from helpers.embed_words import embed_words

from handaxe.core.errors import InputError
from handaxe.papers.sit_graph.advised_env import START, ToolStep
from handaxe.papers.sit_graph.tool_graph import StateToolGraph


def steps(*tools):
    return [ToolStep(*one.split(":")) for one in tools]


def graph_of(*paths, **options):
    graph = StateToolGraph(embed_words, **options)
    for path in paths:
        graph.add(steps(*path))
    return graph


def test_weights_by_hand():
    """u -> v in trajectories of 3 and 4 steps, u -> x in one of 5."""
    graph = graph_of(("u", "v", "z"), ("a", "u", "v", "z"), ("a", "b", "u", "x", "z"))
    found = graph.weights("u")
    assert found == {"v": pytest.approx(2.5833333 / 3.7833333), "x": pytest.approx(1.2 / 3.7833333)}
    assert round(found["v"], 3) == 0.683 and round(found["x"], 3) == 0.317
    assert graph.weights("z") == {} and graph.weights("unknown") == {}


def test_weights_equal_a_loop_over_trajectories():
    rng = np.random.default_rng(3)
    paths = [[str(one) for one in rng.integers(0, 4, size=rng.integers(1, 7))] for _ in range(40)]
    for c in (0.0, 1.0, 2.5):
        graph = graph_of(*paths, c=c)
        for u in (START, "0", "1", "2", "3"):
            raw = {}
            for v in ("0", "1", "2", "3"):
                holding = [path for path in paths if (u, v) in set(pairwise([START, *path]))]
                if holding:
                    raw[v] = len(holding) + c * sum(1 / len(path) for path in holding)
            loop = {v: one / sum(raw.values()) for v, one in raw.items()}
            assert graph.weights(u) == pytest.approx(loop, abs=1e-9)


def test_a_transition_counts_once_a_trajectory():
    assert graph_of(("u", "v", "u", "v"), ("u", "x")).weights("u") == {
        "v": pytest.approx(1.25 / 2.75),
        "x": pytest.approx(1.5 / 2.75),
    }


def test_a_summary_recalls_the_tool_of_similar_states_and_no_summary_takes_the_weights():
    graph = graph_of(
        ("look", "cancel:pending order"), ("look", "cancel:pending order"), ("look", "return:delivered order")
    )
    assert graph.suggest("look") == ("cancel", "return")
    assert graph.suggest("look", "delivered order") == ("return",)
    assert graph.suggest("look", "pending order")[0] == "cancel"
    assert graph.recall("look", "delivered order") == {"return": pytest.approx(1.0)}


def test_an_unlike_summary_falls_back_to_the_weights():
    graph = graph_of(("look", "cancel:pending order"), ("look", "return:delivered order"), ("look", "return"))
    assert graph.recall("look", "weather") == {}
    assert graph.suggest("look", "weather") == graph.suggest("look") == ("return", "cancel")


def test_without_episodes_a_summary_changes_nothing():
    graph = graph_of(("look", "cancel:a b"), ("look", "return:c d"), ("look", "return:c d"), episodes=False)
    assert graph.suggest("look", "a b") == graph.suggest("look") == ("return", "cancel")


def test_at_most_m_tools_are_suggested():
    paths = [("u", tool) for tool in "abcde"]
    assert graph_of(*paths, most=3).suggest("u") == ("a", "b", "c")
    assert graph_of(*paths, most=1).suggest("u") == ("a",)
    assert StateToolGraph(embed_words).suggest(START) == ()


@pytest.mark.parametrize("options", [{"c": -1}, {"most": 0}, {"least": 2}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(InputError, match="tool graph"):
        StateToolGraph(embed_words, **options)
