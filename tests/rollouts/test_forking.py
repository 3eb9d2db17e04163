import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending
from handaxe.core.requests import Spawn, Stopped
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Rules


def middle(trunk):
    """The second token of every turn."""
    return [Branch(trunk.id, turn.sequence, turn.start + 1) for turn in trunk.turns]


def long_seed(dice):
    for seed in range(50):
        (one,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
        if len(one.turns) >= 3:
            return seed
    raise AssertionError


def test_forking_returns_the_trunk_then_its_branches(dice):
    seed = long_seed(dice)
    trunk, *branches = run_plan(forking(at=middle)(dice.attempt(seed)), sample=dice.roll)
    (plain,) = run_plan(linear()(dice.attempt(seed)), sample=dice.roll)
    np.testing.assert_array_equal(trunk.sequences[0].ids, plain.sequences[0].ids)
    assert trunk.branch_of is None and len(branches) == len(trunk.turns)
    assert [b.id for b in branches] == [f"t/0/branch-{n}" for n in range(len(branches))]
    assert [b.branch_of for b in branches] == middle(trunk) and all(b.sample == trunk.sample for b in branches)
    assert len({b.seed for b in branches} | {trunk.seed}) == 1 + len(branches)
    for branch in branches:
        records.check(branch)
        s, t = branch.branch_of[1:]
        np.testing.assert_array_equal(branch.sequences[s].ids[:t], trunk.sequences[s].ids[:t])


def test_branches_are_sampled_in_one_batch(dice):
    """One Spawn, so that a driver can play them at the same time."""
    plan, spawned = forking(at=middle)(dice.attempt(long_seed(dice))), []
    answer = None
    while not spawned:
        request = plan.send(answer)
        if isinstance(request, Spawn):
            spawned.append(request)
        else:
            answer = dice.roll("", request) if hasattr(request, "sampling") else None
            if answer is None:
                answer = (
                    request.call() if hasattr(request, "call") else request.env.step(request.turn, seed=request.seed)
                )
    assert len(spawned[0].plans) == len(spawned[0].ids) >= 3
    plan.close()


def test_equal_places_give_different_branches(dice):
    rollout = forking(at=lambda trunk: middle(trunk)[:1] * 4)
    _, *branches = run_plan(rollout(dice.attempt(long_seed(dice))), sample=dice.roll)
    assert len({tuple(b.sequences[0].ids) for b in branches}) > 1


def test_without_places_the_trunk_is_returned_alone(dice):
    assert len(run_plan(forking(at=lambda trunk: [])(dice.attempt(1)), sample=dice.roll)) == 1


def test_a_failed_or_stopped_trunk_is_not_forked(dice):
    class Dying(dice.Counter):
        def step(self, turn, *, seed):
            raise AssertionError  # the driver's part is to answer with an ending; alone, the plan gets it raised

        def start(self):
            raise OSError("no sandbox")

    def never(trunk):
        raise AssertionError("it is not asked")

    (one,) = run_plan(forking(at=never)(dice.attempt(1, env=Dying)), sample=dice.roll)
    assert one.ending == Ending("infra_error", "OSError: no sandbox")

    def stop(name, request):
        raise Stopped

    (one,) = run_plan(forking(at=never)(dice.attempt(1)), sample=stop)
    assert one.ending == Ending("truncated", "stopped")


def test_stopped_branches_are_returned_with_the_trunk(dice):
    def speak(name, request):
        if name == "t/0/branch-1":
            raise Stopped
        return dice.roll(name, request)

    trunk, *branches = run_plan(forking(at=middle)(dice.attempt(long_seed(dice))), sample=speak)
    assert branches[1].ending == Ending("truncated", "stopped") and branches[0].ending != branches[1].ending
    assert len(branches) == len(trunk.turns)


def test_every_environment_is_closed_once(dice):
    attempt = dice.attempt(long_seed(dice))
    dice.Counter.made.clear()
    found = run_plan(forking(at=middle, max_turns=Rules(budget=Budget(tokens=30)))(attempt), sample=dice.roll)
    assert [env.closed for env in dice.Counter.made] == [1] * len(found) and len(found) > 1


def test_an_invalid_place_is_an_error(dice):
    with pytest.raises(InputError, match="there is no such place"):
        run_plan(forking(at=lambda trunk: [Branch(trunk.id, 3, 0)])(dice.attempt(1)), sample=dice.roll)
    with pytest.raises(InputError, match="max_turns is 0"):
        forking(at=middle, max_turns=0)
