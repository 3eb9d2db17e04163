import random

import pytest

from handaxe.papers.tool_rec.compare_tools import ARMS, FIGURES, compare_tools


@pytest.mark.parametrize(
    "arm, lifts, chosen",
    [
        ("alone", {"genre": 1.0, "year": 2.0}, []),
        ("rule", {"genre": 1.0, "year": 2.0}, ["year"]),
        ("rule", {"genre": -1.0, "year": 0.0}, []),
        ("all", {"genre": 1.0, "year": 2.0}, ["year", "genre"]),
        ("retrieve", {"genre": 1.0, "year": -2.0}, ["genre"]),
        ("random", {"genre": -1.0}, ["genre"]),
        ("matched", {"genre": -1.0, "year": 0.0}, []),
        ("matched", {"genre": 1.0}, ["genre"]),
    ],
)
def test_arms_choose_attributes_by_the_lifts(arm, lifts, chosen):
    assert ARMS[arm][0](lifts, random.Random(0)) == chosen


def test_figures_are_means_over_the_held_out_items(films, recommender):
    found = compare_tools(recommender, films, seed=900)
    assert set(found) == set(ARMS)
    sure = 0
    possible = 0
    for place in (1, 2):
        logits = recommender.logits(place)
        for user, target in enumerate(recommender.targets(place)):
            possible += (logits[user] > logits[user, target]).sum() < 10
            sure += (logits[user] >= logits[user, target]).sum() <= 10
    assert found["alone"].shape == (24, len(FIGURES))
    assert 0 < sure <= found["alone"][:, 0].sum() * 2 <= possible < 48
    assert (found["alone"][:, 2] == 2).all() and (found["random"][:, 2] == 4).all()
    assert all((own[:, 1] <= own[:, 0] + 1e-12).all() for own in found.values())
