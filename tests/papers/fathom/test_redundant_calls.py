import random

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.fathom.redundant_calls import redundant_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.hops.world import hops

CONTRACT = [{"base": exact_match()}, {"base": exact_match(), "claim": lambda call: call.name, "verifications": 0}]
LAB = [
    LabCase("redundant_calls(...)", hops, lambda world: redundant_calls(base=world.correct)),
]
RIGHT, WRONG = outcome(lambda one: 1.0), outcome(lambda one: 0.0)


def attempt(*words):
    return make_trajectory(calls=[[ToolCall(f"c{k}", {"q": word})] for k, word in enumerate(words)] or [[]])


def named(*words):
    """Calls of one tool; `attempt` numbers its tools, so that they all differ."""
    return make_trajectory(calls=[[ToolCall("search", {"q": word})] for word in words] or [[]])


def paid(base, one, **knobs):
    scores = redundant_calls(base=base, **knobs)(make_group(trajectories=[one]))
    return scores.outcome[0], scores.channels["redundant"][0]


def about(call):
    return call.arguments["q"][0]


def test_redundant_calls_matches_its_example():
    once = named("a", "b", "a", "c")
    assert paid(RIGHT, once) == (0.75, 0.25) and paid(WRONG, once) == (0.375, 0.25)
    assert paid(RIGHT, named("a", "a", "a")) == (0.5, pytest.approx(0.6667, abs=5e-5))
    same = named("k1", "k2", "k3")
    assert paid(RIGHT, same, claim=about) == (pytest.approx(0.6667, abs=5e-5), pytest.approx(0.3333, abs=5e-5))
    assert paid(RIGHT, same) == (1.0, 0.0) and paid(RIGHT, same, claim=about, verifications=2) == (1.0, 0.0)


def test_equal_calls_are_redundant_within_the_verification_budget():
    assert paid(RIGHT, named("k1", "k1"), claim=about, verifications=5)[1] == 0.5
    assert paid(RIGHT, named("k1", "k1", "k2"), claim=about)[1] == pytest.approx(1 / 3)  # the second look is k2
    assert paid(RIGHT, named("a", "b"), claim=lambda call: None, verifications=0)[1] == 0
    assert paid(RIGHT, attempt("a", "a"))[1] == 0  # of two tools


def test_a_rollout_without_calls_has_no_penalty_and_no_novelty():
    assert paid(RIGHT, named()) == (1.0, 0.0) and paid(WRONG, named()) == (0.0, 0.0)


def test_no_incorrect_rollout_earns_more_than_a_correct_one():
    wasteful, frugal = named(*"a" * 9), named("a")
    assert paid(RIGHT, wasteful)[0] >= paid(WRONG, frugal)[0]
    for knobs in ({"novelty": 0.6}, {"floor": 1.1}, {"penalty": 0}, {"verifications": -1}, {"novelty": -0.1}):
        with pytest.raises(InputError, match="novelty <= floor"):
            redundant_calls(base=RIGHT, **knobs)


def test_redundant_calls_matches_a_slow_count():
    rng = random.Random(0)
    for _ in range(30):
        words = [rng.choice("ab") + rng.choice("12") for _ in range(rng.randrange(1, 9))]
        allowed = rng.randrange(3)
        waste = 0
        for k, word in enumerate(words):
            looks = len({w for w in words[:k] if w[0] == word[0]})
            waste += word in words[:k] or looks > allowed
        assert paid(RIGHT, named(*words), claim=about, verifications=allowed)[1] == pytest.approx(waste / len(words))
