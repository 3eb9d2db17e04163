from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.marag.shelves import needed_calls, shelves
from handaxe.rewards.call_cost import call_cost
from handaxe.rewards.gate import gate
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"form": "inverse"}, {"form": "linear"}, {"form": "none"}, {"form": "near", "reference": lambda task: 2}]
LAB = [
    LabCase(
        'gate(on=..., then=call_cost(form="inverse"))',
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: gate(on=world.correct, then=call_cost(form="inverse"), above=0.0),
    ),
    LabCase("call_cost()", partial(arithmetic, easy=0.0, mistakes=True), lambda world: call_cost()),
    LabCase('call_cost(form="near")', shelves, lambda world: call_cost(form="near", reference=needed_calls)),
]


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
def test_call_cost_matches_the_docstring_example(options, worth):
    assert call_cost(**options)(make_group(trajectories=FOUR)).outcome.tolist() == pytest.approx(worth, abs=1e-12)


def test_calls_of_other_tools_do_not_count():
    reward = call_cost(form="none", tools=("search",))
    group = make_group(trajectories=[calling(2), calling(1, name="search")])
    assert reward(group).outcome.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "fast"}, "give inverse, linear"),
        ({"limit": 0}, "limit is 0"),
        ({"tools": "search"}, "names of tools"),
        ({"form": "near"}, "needs reference="),
    ],
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        call_cost(**options)
