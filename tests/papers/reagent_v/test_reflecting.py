from collections import Counter

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.core.validation import check_group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.reagent_v.reflecting import Reflection, choose_reflection, reflecting
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear


def rewound(dice):
    """An environment that may be put back in the middle."""

    class Rewound(dice.Counter):
        def restore(self, state):
            self.sums = list(state)

    return Rewound


def play(dice, seed, rating=0.0):
    drawn, rated = [], []

    def speak(name, request):
        drawn.append((request.turn, dice.roll(name, request)))
        return drawn[-1][1]

    def importance(trajectory):
        rated.append(trajectory)
        return rating

    dice.Counter.made.clear()
    (one,) = run_plan(reflecting(importance=importance)(dice.attempt(seed, env=rewound(dice))), sample=speak)
    return one, drawn, rated


def runs_of(drawn):
    """Turns drawn one after another, cut where the number of the turn does not go on."""
    found = []
    for number, said in drawn:
        if not found or number <= found[-1][-1][0]:
            found.append([])
        found[-1].append((number, said))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_the_kept_reflection_equals_a_slow_loop(dice, seed):
    """Redo by hand: prefixes of the draft, the answers, the vote and the confidences."""
    one, drawn, rated = play(dice, seed)
    check_group(Group(one.task, (one,)))
    draft, *others = runs_of(drawn)
    assert len(rated) == 1 and [turn.parsed.raw for turn in rated[0].turns]
    texts = [[said for _, said in draft]]
    for part in others:
        texts.append([said for _, said in draft][: part[0][0]] + [said for _, said in part])
    whole = [said for said in texts[1:] if all(one.finish == "stop" for one in said)]
    ids = [token for turn in one.turns for token in one.sequences[turn.sequence].ids[turn.start : turn.stop].tolist()]
    if not whole:
        assert "reflection" not in one.notes
        return
    answers = [Compact().parse(said[-1].ids, ()).text.strip() for said in whole]
    votes = Counter(answers)
    best = max(range(len(whole)), key=lambda k: (votes[answers[k]], np.exp(whole[k][-1].logp).mean(), -k))
    assert one.notes["reflection"] == best and one.notes["importance"] == 0.0
    assert ids == [token for said in whole[best] for token in said.ids]
    assert one.usage.tokens == sum(len(said.ids) for _, said in drawn), "reflections stay paid"


def test_a_draft_with_a_high_rating_stays(dice):
    one, drawn, _ = play(dice, 3, rating=5.0)
    (plain,) = run_plan(linear()(dice.attempt(3)), sample=dice.roll)
    assert one.sequences[0].ids.tolist() == plain.sequences[0].ids.tolist() and len(runs_of(drawn)) == 1
    assert one.notes["importance"] == 5.0 and "reflection" not in one.notes


def test_the_perspectives_go_back_to_the_answer_the_last_call_and_the_start(dice):
    for seed in range(40):
        one, drawn, rated = play(dice, seed)
        draft, *others = runs_of(drawn)
        if len(draft) < 3 or len(others) != 3:
            continue
        calls = [number for number, turn in enumerate(rated[0].turns) if turn.parsed.calls]
        last = len(rated[0].turns) - 1
        assert [part[0][0] for part in others] == [last, calls[-1] if calls else last, 0]
        return
    pytest.fail("no draft of three turns")


def test_answers_are_kept_by_vote_and_then_by_confidence():
    def found(*pairs):
        return [Reflection(answer, confidence, ()) for answer, confidence in pairs]

    assert choose_reflection(found(("12", 0.9), ("37", 0.6), ("37", 0.7))) == 2
    assert choose_reflection(found(("a", 0.5), ("b", 0.9), ("c", 0.8))) == 1
    assert choose_reflection(found(("a", 0.5), ("b", 0.5))) == 0


def test_a_threshold_beyond_10_raises():
    with pytest.raises(InputError, match="threshold is 11"):
        reflecting(importance=lambda one: 0.0, threshold=11)
