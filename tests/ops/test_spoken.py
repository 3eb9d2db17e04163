import pytest

from handaxe.core.records import Message
from handaxe.ops.spoken import opening, spoken_at

SHOWN = [Message("user", "like this:"), Message("assistant", "a"), Message("user", "go")]
SAID = [*SHOWN, Message("assistant", "b"), Message("tool", "1"), Message("assistant", "c")]


def test_example():
    assert spoken_at(SAID, turns=2) == [3, 5] and opening(SAID, turns=2) == SHOWN


@pytest.mark.parametrize("turns", range(5))
def test_against_a_slow_loop(turns):
    places, left = [], turns
    for place in range(len(SAID) - 1, -1, -1):
        if SAID[place].role == "assistant" and left:
            places, left = [place, *places], left - 1
    assert spoken_at(SAID, turns=turns) == places
    assert opening(SAID, turns=turns) == (SAID[: places[0]] if places else SAID)


def test_nothing_was_said():
    assert spoken_at(SHOWN[:1], turns=1) == [] and opening(SHOWN[:1], turns=1) == SHOWN[:1]
