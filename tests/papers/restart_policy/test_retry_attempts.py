import pytest

from handaxe.core.errors import InputError
from handaxe.core.requests import Stopped
from handaxe.papers.restart_policy.retry_attempts import GIVEN_UP, retry_attempts
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.play import Rules


def three_calls(one):
    return len(one.calls) >= 3


def never(one):
    return False


def play(dice, seed, **knobs):
    dice.Counter.made = []
    knobs = {"succeeded": three_calls, "most": 4, "max_turns": 6, **knobs}
    return run_plan(retry_attempts(**knobs)(dice.attempt(seed)), sample=dice.roll)


def test_attempts_end_with_the_first_success(dice):
    counts = set()
    for seed in range(20):
        found = play(dice, seed)
        assert [three_calls(one) for one in found[:-1]] == [False] * (len(found) - 1)
        assert three_calls(found[-1]) or len(found) == 4
        assert [one.id for one in found] == [f"t/0/{n}" for n in range(len(found))]
        assert len({one.seed for one in found}) == len(found)
        assert all(env.closed == 1 for env in dice.Counter.made) and len(dice.Counter.made) == len(found)
        counts.add(len(found))
    assert len(counts) > 1


def test_an_alarm_leaves_the_beginning_of_the_same_attempt(dice):
    interrupted = 0
    for seed in range(20):
        plain = play(dice, seed, succeeded=never)
        found = play(dice, seed, succeeded=never, alarm=lambda one: len(one.turns) == 2)
        for whole, begun in zip(plain, found, strict=True):
            assert begun.turns == whole.turns[:2] if begun.ending == GIVEN_UP else begun.turns == whole.turns
            assert (begun.ending == GIVEN_UP) == (len(whole.turns) > 2)
            interrupted += begun.ending == GIVEN_UP
    assert interrupted > 5


def test_an_interrupted_attempt_is_no_success(dice):
    found = play(dice, 0, succeeded=lambda one: True, alarm=lambda one: True, max_turns=3)
    assert all(one.ending == GIVEN_UP for one in found[:-1])


def test_no_alarm_is_asked_for_after_the_last_turn(dice):
    asked = []

    def alarm(one):
        asked.append(len(one.turns))
        return False

    for seed in range(10):
        play(dice, seed, alarm=alarm, max_turns=3, succeeded=never)
    assert set(asked) == {1, 2}


def test_a_stopped_attempt_ends_the_rollout(dice):
    def sample(name, request):
        raise Stopped

    found = run_plan(retry_attempts(succeeded=never, most=3)(dice.attempt(0)), sample=sample)
    assert [one.ending.reason for one in found] == ["stopped"]


def test_the_rules_bound_each_attempt(dice):
    found = play(dice, 1, succeeded=never, max_turns=Rules(max_turns=1))
    assert len(found) == 4 and all(len(one.turns) == 1 for one in found)


def test_bad_number_raises():
    with pytest.raises(InputError, match="give 1 attempt"):
        retry_attempts(succeeded=never, most=0)
