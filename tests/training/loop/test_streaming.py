import time
from itertools import permutations
from threading import Event, Lock, current_thread, main_thread

import numpy as np
import pytest

from handaxe.core.errors import HandaxeError, InfrastructureError, TaskError, VerifierError
from handaxe.core.records import Advantages, Disposition, Ending, Group, PlayedGroup, RatedGroup, Scores
from handaxe.core.requests import Work
from handaxe.rollouts.driver.workers import Workers
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.player import Placed, Player
from handaxe.training.loop.step_metrics import Clock
from handaxe.training.loop.streaming import Streaming
from handaxe.training.record.groups import group_fate


def played(name, kind="completed"):
    one = make_trajectory(layouts=["UU pp"])
    vars(one).update(id=name, ending=Ending(kind))
    dead = kind == "infra_error"
    return PlayedGroup(Group(one.task, (one,)), ((Disposition("unscored", kind),) if dead else (),))


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


class Here:
    """In place of a player, when the reward is called where the streaming is."""

    def wait(self):
        pass


@pytest.fixture(params=["here", "lockstep", "driven"])
def play(world, request):
    """A player of nothing, or nobody."""
    if request.param == "here":
        yield Here()
        return
    with player(world, lockstep=request.param == "lockstep") as one:
        yield one


def player(world, *, workers=4, lockstep=False):
    sizes = {"steps": 1, "groups": 1, "group_size": 1}
    roles = (world.make_engine(), world.FORMAT, world.Chat, None, world.Sampling())
    pace = AsyncConfig(lockstep=lockstep, workers=workers)
    return Player(*roles, async_config=pace, run=RunConfig(retries=0), **sizes, seed=0)


def stream(play, reward, engine=None, features=(), clock=None):
    beside = None if isinstance(play, Here) else play
    return Streaming(reward, engine, features, run=RunConfig(retries=0), beside=beside, clock=clock or Clock())


def rated_of(one):
    """The groups with scores, once all are rated."""
    return [found for found in one.rate((), credit) if isinstance(found, RatedGroup)]


def credit(group, scores):
    return Advantages(tuple(tuple(v * s.mask for s in t.sequences) for v, t in zip(scores.outcome, group)))


@pytest.mark.parametrize("arrival", permutations(range(3)))
def test_any_order_of_arrival_rates_as_if_all_were_there(play, arrival):
    reward, groups = Remembers(), [played("a"), played("b", "infra_error"), played("c")]
    one = stream(play, reward)
    for place in arrival:
        one.add(Placed(place, groups[place]))
    a, b, c = one.rate((), credit)
    assert reward.order == ["a", "c"] and [r.scores.outcome.tolist() for r in (a, c)] == [[1], [2]]
    assert [r.played for r in (a, b, c)] == groups and group_fate(b) == "unscored" and b is groups[1]


def test_a_reward_with_state_waits_for_those_before_and_a_plain_one_does_not(play):
    reward = Remembers()
    one = stream(play, reward)
    one.add(Placed(1, played("b")))
    play.wait()
    assert reward.order == []
    one.add(Placed(0, played("a")))
    play.wait()
    assert reward.order == ["a", "b"]
    seen = []

    def plain(group):
        seen.append(group[0].id)
        return Scores(np.ones(1))

    two = stream(play, plain)
    two.add(Placed(1, played("b")))
    play.wait()
    assert seen == ["b"]
    two.add(Placed(0, played("a")))
    assert [r.group[0].id for r in rated_of(two)] == ["a", "b"]


def test_a_place_that_never_comes_holds_nobody_back_in_the_end(play):
    reward = Remembers()
    one = stream(play, reward)
    one.add(Placed(2, played("c")))
    one.add(Placed(1, played("b")))
    assert reward.order == [] and len(rated_of(one)) == 2 and reward.order == ["b", "c"]


def test_features_are_those_of_measuring_everything_at_the_end(world, play):
    """Each group is read on its own: neither its siblings in the round nor their order change a bit."""

    def measured(arrival):
        one = stream(play, world.small_bytes, world.make_engine(), ("old_logp",))
        for place in arrival:
            group = played(str(place))
            one.add(Placed(place, group))
        return [r.group[0].sequences[0].features["old_logp"] for r in rated_of(one)]

    for a, b in zip(measured([0, 1, 2]), measured([2, 0, 1])):
        assert np.array_equal(a, b) and a[2:].all()


def test_phases_are_timed(play):
    clock = Clock()
    one = stream(play, lambda group: Scores(np.ones(1)), clock=clock)
    one.add(Placed(0, played("a")))
    rated_of(one)
    assert set(clock.seconds) == {"sampling", "reward", "credit"}


def test_while_a_group_is_rewarded_other_plans_go_on(world):
    """The reward waits for a later request of another plan: in the thread of the driver it would wait for ever."""
    begun, later = Event(), Event()

    def reward(group):
        begun.set()
        assert later.wait(60)
        return Scores(np.ones(1))

    def other():
        yield Work(lambda: begun.wait(60))
        yield Work(later.set)
        return []

    with player(world, workers=2) as play:
        one = stream(play, reward)
        one.add(Placed(0, played("a")))
        play.beside(other())
        assert len(rated_of(one)) == 1


def test_one_group_is_rewarded_at_a_time(play):
    busy, seen = Lock(), []

    def reward(group):
        assert busy.acquire(blocking=False)
        time.sleep(0.005)
        seen.append(group[0].id)
        busy.release()
        return Scores(np.ones(1))

    one = stream(play, reward)
    for place in range(10):
        one.add(Placed(place, played(str(place))))
    assert len(rated_of(one)) == 10 and seen == [str(place) for place in range(10)]


@pytest.mark.parametrize("arrival", permutations(range(4)))
def test_the_error_that_is_raised_is_that_of_the_group_launched_first(play, arrival):
    """b and d have no answer; whatever comes first, it is b that is named."""

    def reward(group):
        if group[0].id in "bd":
            raise TaskError(f"{group[0].id} has no answer")
        return Scores(np.ones(1))

    one = stream(play, reward)
    with pytest.raises(TaskError, match="b has no answer"):
        for place in arrival:
            one.add(Placed(place, played("abcd"[place])))
            play.wait()
        rated_of(one)


def test_an_error_is_raised_as_soon_as_no_earlier_one_can_come(play):
    def reward(group):
        if group[0].id == "b":
            raise TaskError("no answer")
        return Scores(np.ones(1))

    one = stream(play, reward)
    one.add(Placed(1, played("b")))
    play.wait()
    with pytest.raises(TaskError, match="no answer"):
        one.add(Placed(0, played("a")))
        play.wait()
        one.add(Placed(2, played("c")))


def test_nothing_launched_after_a_failure_is_rewarded(play):
    """A reward with state is left where it failed."""

    class Fails(Remembers):
        def __call__(self, group):
            scores = super().__call__(group)
            if group[0].id == "b":
                raise TaskError("no answer")
            return scores

    reward = Fails()
    one = stream(play, reward)
    with pytest.raises(TaskError, match="no answer"):
        for place in (2, 1, 0):
            one.add(Placed(place, played("abc"[place])))
        rated_of(one)
    assert reward.order == ["a", "b"]


def test_the_main_thread_is_where_a_reward_is_called_unless_beside(play):
    """Many rewards set alarms, which are signals, and score what they could not set one for as wrong."""
    threads = []

    def reward(group):
        threads.append(current_thread() is main_thread())
        return Scores(np.ones(1))

    one = stream(play, reward)
    one.add(Placed(0, played("a")))
    rated_of(one)
    assert threads == [isinstance(play, Here)]


@pytest.mark.parametrize("error", [VerifierError, InfrastructureError])
def test_what_a_reward_cannot_decide_is_no_failure_of_the_run(play, error):
    def reward(group):
        raise error("the judge is down")

    one = stream(play, reward)
    one.add(Placed(0, played("a")))
    (found,) = one.rate((), credit)
    assert isinstance(found, PlayedGroup) and group_fate(found) == "unscored"
    assert found.group[0].ending.kind == "verifier_error"


def test_a_reward_that_never_ends_is_an_error_and_not_a_hang(world):
    never = Event()

    def reward(group):
        never.wait()

    with player(world, workers=Workers(1, seconds=0.05)) as play:
        one = stream(play, reward)
        one.add(Placed(0, played("a")))
        with pytest.raises(HandaxeError, match=r"the reward of task .* did not end: .*0\.05 seconds"):
            rated_of(one)
    never.set()
