import random

import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolCall
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.fathom.call_kinds import rule_kinds
from handaxe.papers.fathom.paged_hops import page_claim, paged_hops
from handaxe.papers.fathom.redundant_calls import redundant_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory

BY_RULE = rule_kinds(claim=page_claim)
CONTRACT = [{"base": exact_match(), "kinds": BY_RULE}, {"base": exact_match(), "kinds": BY_RULE, "novelty": 0.0}]
LAB = [
    LabCase("redundant_calls(...)", paged_hops, lambda world: redundant_calls(base=world.correct, kinds=BY_RULE)),
]
RIGHT, WRONG = outcome(lambda one: 1.0), outcome(lambda one: 0.0)
LETTERS = {"u": "unique", "e": "exploration", "v": "verification", "r": "redundant"}


def labelled(letters):
    """A rollout with a call a letter, and the labels of all."""
    calls = [[ToolCall("search", {"query": str(k)})] for k in range(len(letters))]
    return make_trajectory(calls=calls or [[]]), lambda one: [LETTERS[letter] for letter in letters]


def paid(base, letters, **knobs):
    one, kinds = labelled(letters)
    scores = redundant_calls(base=base, kinds=kinds, **knobs)(make_group(trajectories=[one]))
    return scores.outcome[0], scores.channels["redundant"][0]


def test_redundant_calls_matches_its_example():
    assert paid(RIGHT, "uerv") == (0.75, 0.25) and paid(WRONG, "uerv") == (0.375, 0.25)
    assert paid(RIGHT, "urr") == (0.5, pytest.approx(0.6667, abs=5e-5))


def test_shares_of_the_other_kinds_are_channels():
    one, kinds = labelled("uuevr")
    channels = redundant_calls(base=RIGHT, kinds=kinds)(make_group(trajectories=[one])).channels
    found = {name.removeprefix("redundant/"): value[0] for name, value in channels.items() if "/" in name}
    assert found == pytest.approx({"unique": 0.4, "exploration": 0.2, "verification": 0.2})


def test_a_rollout_without_calls_has_no_penalty_and_no_novelty():
    assert paid(RIGHT, "") == (1.0, 0.0) and paid(WRONG, "") == (0.0, 0.0)


def test_no_incorrect_rollout_earns_more_than_a_correct_one():
    assert paid(RIGHT, "urrrrrrrr")[0] >= paid(WRONG, "u")[0]
    for knobs in ({"novelty": 0.6}, {"floor": 1.1}, {"penalty": 0}, {"novelty": -0.1}):
        with pytest.raises(InputError, match="novelty <= floor"):
            redundant_calls(base=RIGHT, kinds=BY_RULE, **knobs)


def test_redundant_calls_matches_a_slow_count():
    rng = random.Random(0)
    for _ in range(30):
        letters = "".join(rng.choice("uevr") for _ in range(rng.randrange(1, 9)))
        waste = sum(letter == "r" for letter in letters) / len(letters)
        assert paid(RIGHT, letters, penalty=0.5) == pytest.approx((max(1 - 0.5 * waste, 0.5), waste))
        assert paid(WRONG, letters, novelty=0.2) == pytest.approx((0.2 * (1 - waste), waste))


def test_a_judge_without_an_answer_leaves_the_rollout_unscored():
    def silent(one):
        raise VerifierError("away", trajectory=one.id)

    with pytest.raises(VerifierError, match="away"):
        redundant_calls(base=RIGHT, kinds=silent)(make_group(trajectories=[labelled("u")[0]]))
