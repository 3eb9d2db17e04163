from dataclasses import replace

import pytest

from handaxe.core.records import Branch, Group
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.value_search import ROOT
from handaxe.testing.make_records import make_trajectory

LAYOUTS = ["Up Tp Tp", "Up Tp", "Up"]


def make_tree():
    """Question .12; a (q .5, 3 visits) with b .6 and c .4, and d (q -1, 1 visit). b's trajectory goes on by a roll."""
    q = {"a": 0.5, "b": 0.6, "c": 0.4, "d": -1.0}
    made = []
    for i, (layout, nodes) in enumerate(zip(LAYOUTS, ("ab", "ac", "d"))):
        branch = None if i == 0 else Branch("t/0", 0, 3 if i == 1 else 1)
        one = replace(make_trajectory(layouts=[layout], id=f"t/{i}"), branch_of=branch)
        notes = {SEARCH: [{"visits": 1, "value": q[node]} for node in nodes], ROOT: {"visits": 4, "value": 0.12}}
        made.append(replace(one, notes=notes))
    return Group(made[0].task, tuple(made))


@pytest.fixture
def tree():
    return make_tree
