import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.hai_chart.chart_tables import GalleryChart, make_table
from handaxe.papers.hai_chart.composite_reward import ChartReward
from handaxe.papers.hai_chart.hint_session import best_views, coverage_hints, play_session, random_hints

rng = np.random.default_rng(0)
NUMBERS = {name: rng.normal(size=20) for name in ("a", "b", "c", "d")}
TABLE = make_table(
    "drawn", {"k": ["u", "v"] * 10, **NUMBERS}, {"k": "categorical", **dict.fromkeys(NUMBERS, "numerical")}
)
WANTED = GalleryChart("point", "b", "none", "d")


@pytest.fixture
def reward():
    return ChartReward(TABLE, np.zeros(18))


def test_views_are_ranked_by_their_best_variant():
    low = ("bar", "k", "sum", "a", "none", "none", "none")
    high = ("bar", "k", "sum", "a", "none", "none", "top5")
    other = ("bar", "k", "sum", "b", "none", "none", "none")
    assert best_views({low: 0.1, other: 0.5, high: 0.7}) == [GalleryChart(*high[:4]), GalleryChart(*other[:4])]


def test_accepted_hints_bring_the_wanted_chart_forward(reward):
    play = {"evaluations": 30, "k": 9, "rounds": 4}
    places = [play_session(reward, WANTED, hints=coverage_hints, seed=seed, **play) for seed in range(4)]
    without = [play_session(reward, WANTED, hints=None, seed=seed, **play) for seed in range(4)]
    assert all(one.accepted for one in places) and all(one.accepted == 0 for one in without)
    assert sum(1 <= one.place <= 3 for one in places) > sum(1 <= one.place <= 3 for one in without)


def test_constraints_hold_only_if_they_are_fixed(reward):
    fixed = play_session(reward, WANTED, hints=coverage_hints, evaluations=30, k=9)
    free = play_session(reward, WANTED, hints=coverage_hints, fix=False, evaluations=30, k=9)
    assert fixed.place and (free.place == 0 or fixed.place <= free.place)


def test_hints_of_a_round_are_at_most_k(reward):
    shown = []

    def noted(covered, rewards, k, rng):
        shown.append(random_hints(covered, rewards, k, rng))
        assert set(shown[-1]) <= covered.keys()
        return shown[-1]

    play_session(reward, WANTED, hints=noted, rounds=2, evaluations=10, k=3)
    assert [len(one) for one in shown] == [3, 3]


def test_numbers_below_1_are_an_input_error(reward):
    with pytest.raises(InputError, match="rounds 0"):
        play_session(reward, WANTED, hints=None, rounds=0)
