import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending
from handaxe.core.requests import Act, Sample, Spawn, Stopped, Work
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear


def test_requests_are_answered_in_order_with_the_name_of_the_plan(dice):
    seen = []

    class Said(str):
        ending = Ending("completed")

    def work(name, request):
        seen.append(name)
        return request.call()

    def named():
        assert (yield Work(lambda: 3)) == 3
        found = yield Spawn((said("a"), said("b")), ("x/a", "x/b"))
        return [one for returned in found for one in returned]

    def said(word):
        yield Work(lambda: word)
        return [Said(word)]

    assert run_plan(named(), sample=dice.roll, work=work, name="x") == ["a", "b"]
    assert seen == ["x", "x/a", "x/b"]


def test_an_exception_of_an_answer_is_raised_at_the_yield(dice):
    def plan():
        with pytest.raises(KeyError):
            yield Work({}.popitem)
        return ["went on"]

    assert run_plan(plan(), sample=dice.roll) == ["went on"]


def test_an_unhandled_error_closes_the_plan(dice):
    dice.Counter.made.clear()

    def speak(name, request):
        raise InputError("cannot be sampled")

    with pytest.raises(InputError, match="cannot be sampled"):
        run_plan(linear()(dice.attempt()), sample=speak)
    assert [env.closed for env in dice.Counter.made] == [1]


def test_stopping_a_spawned_plan_stops_its_parent(dice):
    def plan():
        try:
            yield Spawn((linear()(dice.attempt()), linear()(dice.attempt())), ("a", "b"))
        except Stopped as stopped:
            return [one for returned in stopped.spawned for one in returned]

    def speak(name, request):
        if name == "b":
            raise Stopped
        return dice.roll(name, request)

    first, second = run_plan(plan(), sample=speak)
    assert first.ending.reason != "stopped" and second.ending == Ending("truncated", "stopped")


def test_a_linear_plan_yields_work_sample_and_act(dice):
    seen = []
    (found,) = run_plan(
        linear()(dice.attempt()),
        sample=lambda name, request: seen.append(request) or dice.roll(name, request),
        act=lambda name, request: seen.append(request) or request.env.step(request.turn, seed=request.seed),
        work=lambda name, request: seen.append(request) or request.call(),
    )
    kinds = [type(one) for one in seen]
    assert kinds[0] == kinds[-1] == Work and kinds[1:-1] == [Sample, Act] * (len(kinds) // 2 - 1)
    assert len(found.turns) == kinds.count(Sample)
