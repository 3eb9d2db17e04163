import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.papers.codedance.turn_bonus import turn_bonus
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"gamma": 1.0, "weight": 1.0, "std": "sample"}]
BIAS = "turns of the process have no calls"


def attempt(calls, errors=()):
    """A turn for each of `calls`, which says whether it calls."""
    errors = [["not JSON"] if k in errors else [] for k in range(len(calls))]
    return make_trajectory(texts=["x"] * len(calls), calls=[["f"] if one else [] for one in calls], errors=errors)


def rated(attempts, values, outcome=None, advantage=0.0):
    group = make_group(trajectories=attempts)
    outcome = np.array([1.0] * len(attempts) if outcome is None else outcome)
    turns = tuple(np.array(own, float) for own in values)
    scores = Scores(outcome, turn_channels={"steps": turns})
    return make_rated(group=group, scores=scores, advantage=[advantage] * len(attempts))


def by_turn(one):
    """The advantage of each turn, the same at all of its tokens."""
    found = []
    for trajectory, tokens in zip(one.group, one.advantages.tokens):
        own = [tokens[turn.sequence][turn.start : turn.stop] for turn in trajectory.turns]
        assert all(np.all(values == values[0]) for values in own)
        found.append([float(values[0]) for values in own])
    return found


def test_turn_bonus_matches_its_example():
    batch = [rated([attempt([1, 1, 0])], [[-0.5, 0, 0]]), rated([attempt([1, 1, 0])], [[0, -0.5, 0]], advantage=3.0)]
    first, second = turn_bonus(channel="steps")(batch)
    np.testing.assert_allclose(by_turn(first), 0.2 * np.array([[-0.988, 1.207, 0]]), atol=2e-4)
    np.testing.assert_allclose(by_turn(second), 3 + 0.2 * np.array([[0.768, -0.988, 0]]), atol=2e-4)


def test_turn_bonus_matches_a_slow_loop():
    rng = np.random.default_rng(0)
    batch = [
        rated([attempt(rng.integers(0, 2, 4)) for _ in range(3)], -rng.random((3, 4)).round(1), outcome=[1, np.nan, 0])
        for _ in range(4)
    ]
    returns = {}
    for b, one in enumerate(batch):
        for i in (0, 2):
            following = 0.0
            for n in reversed(range(4)):
                if one.group[i].turns[n].parsed.calls:
                    following = one.scores.turn_channels["steps"][i][n] + 0.7 * following
                    returns[b, i, n] = following
    values = list(returns.values())
    mean = sum(values) / len(values)
    scale = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    for b, one in enumerate(turn_bonus(channel="steps", gamma=0.7, weight=0.5, eps=0.0)(batch)):
        slow = np.zeros((3, 4))
        for i, n in np.ndindex(3, 4):
            slow[i, n] = (returns[b, i, n] - mean) / scale / 2 if (b, i, n) in returns else 0
        np.testing.assert_allclose(by_turn(one), slow, atol=1e-12)


def test_malformed_calls_count_and_answers_do_not():
    (one,) = turn_bonus(channel="steps")([rated([attempt([0, 0], errors=[0]), attempt([1, 0])], [[-0.5, 9], [0, 9]])])
    np.testing.assert_allclose(by_turn(one), [[-0.2, 0], [0.2, 0]], atol=1e-6)


def test_equal_lone_and_missing_calls_change_nothing():
    equal = rated([attempt([1, 0]), attempt([1, 0])], [[0.1, 0], [0.3 - 0.2, 0]], advantage=2.0)
    lone = rated([attempt([1, 0])], [[-0.5, 0]], advantage=2.0)
    silent = rated([attempt([0])], [[-0.5]], advantage=2.0)
    for one in (equal, lone, silent):
        assert {value for own in by_turn(turn_bonus(channel="steps")([one])[0]) for value in own} == {2.0}
    assert turn_bonus()([]) == []


def test_unscored_rollouts_are_excluded():
    kept = rated([attempt([1, 0]), attempt([1, 0])], [[-0.5, 0], [0, 0]])
    more = rated([attempt([1, 0]) for _ in range(3)], [[-0.5, 0], [0, 0], [7, 0]], outcome=[1, 1, np.nan])
    shape = turn_bonus(channel="steps")
    assert by_turn(shape([more])[0])[:2] == by_turn(shape([kept])[0]) and by_turn(shape([more])[0])[2] == [0, 0]


def test_turn_bonus_rejects_invalid_arguments():
    with pytest.raises(InputError, match="gamma is 2"):
        turn_bonus(gamma=2)
    with pytest.raises(InputError, match="no per-turn channel 'other'"):
        turn_bonus(channel="other")([rated([attempt([1])], [[0]])])
