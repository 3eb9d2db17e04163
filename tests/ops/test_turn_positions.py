import pytest

from handaxe.core.records import Message
from handaxe.ops.turn_positions import initial_messages, turn_positions

SHOWN = [Message("user", "like this:"), Message("assistant", "a"), Message("user", "go")]
SAID = [*SHOWN, Message("assistant", "b"), Message("tool", "1"), Message("assistant", "c")]


def test_positions_and_initial_messages_equal_the_example():
    assert turn_positions(SAID, turns=2) == [3, 5] and initial_messages(SAID, turns=2) == SHOWN


@pytest.mark.parametrize("turns", range(5))
def test_positions_equal_a_slow_loop(turns):
    places, left = [], turns
    for place in range(len(SAID) - 1, -1, -1):
        if SAID[place].role == "assistant" and left:
            places, left = [place, *places], left - 1
    assert turn_positions(SAID, turns=turns) == places
    assert initial_messages(SAID, turns=turns) == (SAID[: places[0]] if places else SAID)


def test_conversation_without_turns_has_no_positions():
    assert turn_positions(SHOWN[:1], turns=1) == [] and initial_messages(SHOWN[:1], turns=1) == SHOWN[:1]
