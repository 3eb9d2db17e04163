from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import TaskError
from handaxe.core.records import Criterion, Message
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.cm2.checklist import checklist
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.hops.world import hops


def says(trajectory, criteria):
    """A criterion is met by a turn whose text holds its name."""
    return np.array(
        [[any(one.name in turn.parsed.text for turn in trajectory.turns[: n + 1]) for n in range(len(trajectory.turns))]
         for one in criteria], bool
    ).reshape(len(criteria), len(trajectory.turns))  # fmt: skip


def of(*criteria):
    return lambda task: list(criteria)


CONTRACT = [
    {"criteria": of(Criterion("4", ""), Criterion("two", "", 3.0)), "check": says},
    {"criteria": of(Criterion("4", "", part=0), Criterion("5", "", part=1)), "check": says},
]
LAB = [
    LabCase(
        "checklist(...)", hops, lambda world: checklist(criteria=world.need("criteria"), check=world.need("check"))
    ),
]
PAIR = of(Criterion("c1", "", 6.0), Criterion("c2", "", 4.0))


def score(criteria, *texts):
    group = make_group(trajectories=[make_trajectory(texts=own) for own in texts])
    return checklist(criteria=criteria, check=says)(group)


def test_checklist_matches_its_example():
    scores = score(PAIR, ["c1", "c2"], ["", "c1"])
    assert scores.outcome.tolist() == [0, 0] and scores.channels["later"].tolist() == [0, 0]
    assert [own.tolist() for own in scores.turns] == [pytest.approx([0.6, 0.4]), pytest.approx([0, 0.6])]
    channels = {name: [own.tolist() for own in values] for name, values in scores.turn_channels.items()}
    assert channels["checklist"] == [own.tolist() for own in scores.turns]
    assert channels["item/c1"] == [[1, 0], [1, 1]] and channels["item/c2"] == [[1, 1], [0, 0]]
    assert channels["weight/c1"] == [[0.6, 0], [0.6, 0.6]] and channels["weight/c2"] == [[0.4, 0.4], [0.4, 0.4]]


def test_a_criterion_met_before_its_dependencies_is_never_earned():
    chain = of(Criterion("c1", ""), Criterion("c2", "", after=("c1",)))
    scores = score(chain, ["c1", "c2"], ["c2", "c1"], ["c1 c2", ""])
    assert [own.tolist() for own in scores.turns] == [[0.5, 0.5], [0, 0.5], [0.5, 0]]
    assert scores.turn_channels["weight/c2"][0].tolist() == [0, 0.5]


def test_user_turns_have_equal_weight():
    criteria = of(Criterion("a", "", 2.0), Criterion("b", "", 2.0), Criterion("c", "", 7.0, part=1))
    one = make_trajectory(texts=["a", "c"])
    first, turn, *rest = one.messages
    one = replace(one, messages=(first, turn, Message("user", "and c?"), *rest))
    scores = checklist(criteria=criteria, check=says)(make_group(trajectories=[one]))
    assert scores.turns[0].tolist() == [0.25, 0.5]
    assert scores.turn_channels["checklist"][0].tolist() == [0.5, 1.0]
    assert scores.channels["later"].tolist() == [0.5]


def test_checklist_rejects_invalid_arguments():
    for criteria in (of(), of(Criterion("a", "", 0.0)), of(Criterion("a", ""), Criterion("b", "", -1.0))):
        with pytest.raises(TaskError, match="positive points"):
            score(criteria, ["a"])
