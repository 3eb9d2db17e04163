import pytest

from handaxe.core.records import Sampling, Task
from handaxe.core.requests import Attempt, Completion, Partial, Sample
from handaxe.rollouts.driver.live_plans import LiveAttempt, LivePlan, Segment


def live():
    return LiveAttempt(Attempt(Task("t", ()), None, None, Sampling(), "t", 0, 0, 100), 0)


def partial(count):
    return Partial([1] * count, [0.0] * count, [0.0] * count, [0] * count)


def said(count, finish="length"):
    return Completion(*partial(count), finish, 1.0, 0.5)


def asked(most=20):
    return Sample([1], Sampling(max_tokens=most), 0, frozenset())


def test_requests_are_cut_to_the_rest_of_the_segment():
    one = live()
    plan, request = LivePlan(one, None, (0,)), asked()
    assert plan.next_request(request, Segment()) is request and plan.allowed == 20
    assert plan.next_request(request, Segment(tokens=20)) is request
    one.count(4)
    cut = plan.next_request(request, Segment(tokens=10))
    assert cut.sampling.max_tokens == 6 and cut.prefix is None
    assert plan.completed(said(6), request) is None and plan.prefix == partial(6) and one.added == 10
    one.added = 0
    cut = plan.next_request(request, Segment(tokens=10))
    assert cut.sampling.max_tokens == 16 and cut.prefix == partial(6)
    whole = plan.completed(said(9, "stop"), request)
    assert (len(whole.ids), whole.seconds, whole.cost) == (9, 2.0, 1.0)
    assert (one.tokens, one.added, plan.prefix) == (13, 3, None)


def test_a_turn_of_the_requested_length_ends():
    one = live()
    plan = LivePlan(one, None, (0,))
    plan.next_request(asked(5), Segment(tokens=5))
    assert plan.completed(said(5), asked(5)) == said(5)
    assert one.used_up(Segment(tokens=5)) and not one.used_up(Segment(tokens=6)) and not one.used_up(Segment())


@pytest.mark.parametrize(
    ("called", "calls", "limit", "waits"),
    [(0, 1, 1, False), (1, 1, 1, True), (1, 2, 2, True), (0, 5, 3, False), (1, 1, 3, False), (9, 9, None, False)],
)
def test_calls_beyond_the_segment_wait(called, calls, limit, waits):
    one = live()
    one.called = called
    assert one.would_exceed(calls, Segment(calls=limit)) is waits


def test_an_interruption_counts_new_tokens_only():
    one = live()
    plan = LivePlan(one, None, (0,))
    plan.interrupted(partial(3))
    plan.interrupted(partial(7))
    assert (one.tokens, plan.written()) == (7, 7)
    assert one.plans == {(0,): plan}
