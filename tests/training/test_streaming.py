from itertools import permutations

import numpy as np
import pytest

from handaxe.records import Advantages, Ending, Group, Scores
from handaxe.testing.records import make_trajectory
from handaxe.training.endings import treatments
from handaxe.training.generate import Placed
from handaxe.training.group_play import Tried
from handaxe.training.measure import Clock
from handaxe.training.streaming import Streaming


def tried(name, kind="completed"):
    one = make_trajectory(layouts=["UU pp"])
    vars(one).update(id=name, ending=Ending(kind))
    scorable = np.array([kind != "infra_error"])
    return Tried(Group(one.task, (one,)), scorable, scorable.copy())


class Remembers:
    """A reward whose score is how many groups it has seen; `order` says which."""

    def __init__(self):
        self.order = []

    def __call__(self, group):
        self.order.append(group[0].id)
        return Scores(np.array([float(len(self.order))]))

    def state_dict(self):
        return {"order": self.order}

    def load_state_dict(self, state):
        self.order = list(state["order"])


def stream(reward, engine=None, features=(), clock=None):
    options = {"treatment": treatments({}), "retries": 0, "clock": clock or Clock()}
    return Streaming(reward, engine, features, **options)


def credit(group, scores):
    return Advantages(tuple(tuple(v * s.mask for s in t.sequences) for v, t in zip(scores.outcome, group)))


@pytest.mark.parametrize("arrival", permutations(range(3)))
def test_any_order_of_arrival_rates_as_if_all_were_there(arrival):
    reward, groups = Remembers(), [tried("a"), tried("b", "infra_error"), tried("c")]
    one = stream(reward)
    for place in arrival:
        one(Placed(place, groups[place]))
    rated = one.rate(credit)
    assert reward.order == ["a", "c"] and [r.scores.outcome.tolist() for r in rated] == [[1], [2]]
    assert one.tried == groups and groups[1].fate == "unscored" and groups[1].rated is None


def test_a_reward_with_state_waits_for_those_before_and_a_plain_one_does_not():
    reward = Remembers()
    one = stream(reward)
    one(Placed(1, tried("b")))
    assert reward.order == []
    one(Placed(0, tried("a")))
    assert reward.order == ["a", "b"]
    seen = []

    def plain(group):
        seen.append(group[0].id)
        return Scores(np.ones(1))

    two = stream(plain)
    two(Placed(1, tried("b")))
    assert seen == ["b"]
    two(Placed(0, tried("a")))
    assert [r.group[0].id for r in two.rate(credit)] == ["a", "b"]


def test_a_place_that_never_comes_holds_nobody_back_in_the_end():
    reward = Remembers()
    one = stream(reward)
    one(Placed(2, tried("c")))
    one(Placed(1, tried("b")))
    assert reward.order == [] and len(one.rate(credit)) == 2 and reward.order == ["b", "c"]


def test_features_are_those_of_measuring_everything_at_the_end(world):
    """Each group is read on its own: neither its siblings in the round nor their order change a bit."""

    def measured(arrival):
        one = stream(world.small_bytes, world.make_engine(), ("old_logp",))
        for place in arrival:
            group = tried(str(place))
            one(Placed(place, group))
        return [r.group[0].sequences[0].features["old_logp"] for r in one.rate(credit)]

    for a, b in zip(measured([0, 1, 2]), measured([2, 0, 1])):
        assert np.array_equal(a, b) and a[2:].all()


def test_phases_are_timed():
    clock = Clock()
    one = stream(lambda group: Scores(np.ones(1)), clock=clock)
    one(Placed(0, tried("a")))
    one.rate(credit)
    assert set(clock.seconds) == {"reward", "credit"}
