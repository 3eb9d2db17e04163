from math import inf

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.judges.viewed import PreferredMessage
from handaxe.papers.ixc_reward.length_balanced import length_balanced


def pair(chosen, rejected):
    question = "a long question about a picture\n"
    return PreferredMessage(Message("user", question + "x" * chosen), Message("user", question + "x" * rejected))


LENGTHS = [(30, 30), (45, 30), (46, 30), (30, 90)]
PAIRS = [pair(*lengths) for lengths in LENGTHS]


def test_much_longer_chosen_answers_are_dropped():
    kept = length_balanced(PAIRS, most=1.5)
    slow = []
    for one, (chosen, rejected) in zip(PAIRS, LENGTHS, strict=True):
        if chosen <= 1.5 * rejected:
            slow.append(one)
    assert kept == slow == [PAIRS[0], PAIRS[1], PAIRS[3]]
    assert length_balanced(PAIRS, most=inf) == PAIRS


def test_other_forms_of_the_same_answers_are_returned():
    shown = [pair(1, 1), pair(2, 2), pair(3, 3), pair(4, 4)]
    assert length_balanced(PAIRS, shown=shown) == [shown[0], shown[1], shown[3]]


@pytest.mark.parametrize("options", [{"most": 0.5}, {"most": float("nan")}, {"shown": PAIRS[:1]}])
def test_wrong_ratios_and_numbers_raise(options):
    with pytest.raises(InputError, match="ratio from 1"):
        length_balanced(PAIRS, **options)
