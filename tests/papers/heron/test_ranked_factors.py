import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores, ToolReply
from handaxe.papers.heron.ranked_factors import Factor, call_failures, first_winner, linear_factors, ranked_factors
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = []


def rollout(calls, failed=0):
    replies = [[ToolReply(f"{k}-0", "f", "1", "failed" if k < failed else "ok")] for k in range(calls)]
    return make_trajectory(texts=[""] * calls + ["7"], calls=[["f"]] * calls + [[]], replies=[*replies, []])


CALLS = Factor("calls", lambda one: float(len(one.calls)))


def test_the_worked_example():
    first, second = np.array([1.0, -3.0]), np.array([1.0, -2.0])
    assert first_winner(first, second, np.array([0.0, 0.5])) == -1
    assert first_winner(second, first, np.array([0.0, 0.5])) == 1
    assert first_winner(first, second, np.array([0.0, 1.5])) == 0


def test_a_higher_level_decides_first():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.integers(0, 3, size=(2, 4)).astype(float)
        delta = np.array([0.0, 0.5, 0.0, 1.0])
        wanted = next((int(np.sign(x - y)) for x, y, d in zip(a, b, delta) if abs(x - y) > d), 0)
        assert first_winner(a, b, delta) == wanted == -first_winner(b, a, delta)


@pytest.mark.parametrize("margin, wanted", [(1.0, [(1, 0)]), (3.0, [])])
def test_the_margin_is_in_standard_deviations(margin, wanted):
    one = make_rated(group=make_group(trajectories=[rollout(3), rollout(2)]), outcome=[1, 1])
    found = ranked_factors(factors=[CALLS._replace(margin=margin)], channel=None)([one])
    assert [(pair.chosen.sample, pair.rejected.sample) for pair in found] == wanted
    assert all(pair.strength == 1 for pair in found)


def test_the_standard_deviation_is_over_all_groups():
    """Calls 3 and 2, and 9 and 0 in another group: a difference of 1 is within one standard deviation."""
    groups = [
        make_rated(group=make_group(trajectories=[rollout(a), rollout(b)], step=n), outcome=[1, 1])
        for n, (a, b) in enumerate([(3, 2), (9, 0)])
    ]
    found = ranked_factors(factors=[CALLS], channel=None)(groups)
    assert [len(pair.chosen.calls) for pair in found] == [0]


def test_correctness_comes_before_failures_and_calls():
    group = make_group(trajectories=[rollout(3, failed=2), rollout(0), rollout(1), rollout(1, failed=1)])
    one = make_rated(group=group, scores=Scores(np.zeros(4), channels={"correct": np.array([1.0, 0.0, 1.0, 1.0])}))
    found = {(pair.chosen.sample, pair.rejected.sample) for pair in ranked_factors()([one])}
    assert found == {(0, 1), (2, 1), (3, 1), (2, 0), (2, 3), (3, 0)}
    assert len(ranked_factors(most=2)([one])) == 2


def test_unscored_rollouts_are_in_no_pair():
    one = make_rated(group=make_group(trajectories=[rollout(1), rollout(2)]), outcome=[np.nan, 1])
    assert ranked_factors(channel=None)([one]) == []
    assert ranked_factors(channel=None)([]) == []


def test_failures_count_errors_and_statuses():
    assert call_failures(rollout(3, failed=2)) == 2
    assert call_failures(make_trajectory(texts=["x"], errors=[["not JSON"]])) == 1


def test_the_linear_reward_by_hand():
    reward = linear_factors(outcome=outcome(lambda one: 1.0))
    assert reward(make_group(trajectories=[rollout(2, failed=1)])).outcome == pytest.approx([0.5], abs=1e-9)


def test_wrong_arguments_raise():
    for options in ({"most": 0}, {"factors": [CALLS._replace(sign=2)]}, {"factors": [CALLS._replace(margin=-1.0)]}):
        with pytest.raises(InputError, match="signs of 1 or -1"):
            ranked_factors(**options)
    with pytest.raises(InputError, match="1 weights for 3 factors"):
        linear_factors(outcome=outcome(lambda one: 1.0), weights=[1.0])
