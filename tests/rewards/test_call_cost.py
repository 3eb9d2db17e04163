import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.call_cost import call_cost
from handaxe.testing.records import make_group, make_trajectory

CONTRACT = [{"form": "inverse"}, {"form": "linear"}, {"form": "none"}, {"form": "near", "reference": lambda task: 2}]


def calling(count, *, name="f"):
    return make_trajectory(texts=[""] * count + ["done"], calls=[[name]] * count + [[]])


FOUR = [calling(count) for count in (0, 1, 2, 5)]


@pytest.mark.parametrize(
    ("options", "worth"),
    [
        ({"form": "linear"}, [1, 2 / 3, 1 / 3, 0]),
        ({"form": "inverse"}, [1, 1 / 2, 1 / 3, 1 / 6]),
        ({"form": "none"}, [1, 0, 0, 0]),
        ({"form": "near", "reference": lambda task: 2}, [0, 1 / 2, 1, 0]),
        ({"form": "near", "reference": lambda task: 0}, [1, 0, 0, 0]),
    ],
)
def test_example(options, worth):
    assert call_cost(**options)(make_group(trajectories=FOUR)).outcome.tolist() == pytest.approx(worth, abs=1e-12)


def test_only_calls_of_named_tools_count():
    reward = call_cost(form="none", tools=("search",))
    group = make_group(trajectories=[calling(2), calling(1, name="search")])
    assert reward(group).outcome.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"form": "fast"}, "give inverse, linear"),
        ({"limit": 0}, "limit is 0"),
        ({"tools": "search"}, "names of tools"),
        ({"form": "near"}, "needs reference="),
    ],
)
def test_wrong_options(options, said):
    with pytest.raises(InputError, match=said):
        call_cost(**options)
