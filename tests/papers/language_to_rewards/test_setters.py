import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import Retry
from handaxe.papers.language_to_rewards.residual_reward import Targets
from handaxe.papers.language_to_rewards.setters import PRIMITIVES, read_primitives, read_setters, write_setters

TENTHS = st.integers(-99, 99).map(lambda value: value / 10)


def test_setters_match_their_examples():
    assert read_setters("height .5;speed 1.2") == Targets(height=0.5, speed=1.2)
    assert read_setters(" place -1 0.5 ; heading 3.14") == Targets(heading=3.14, place=(-1.0, 0.5))
    assert write_setters(Targets(height=0.5, place=(0.0, 1.5))) == "height .5;place 0 1.5"
    assert write_setters(Targets(speed=-0.5)) == "speed -.5"
    assert write_setters(Targets()) == "speed 0" and read_setters("speed 0") == Targets()


@given(TENTHS, TENTHS, TENTHS, st.none() | TENTHS, st.none() | st.tuples(TENTHS, TENTHS))
def test_written_setters_are_read_as_the_targets(height, speed, turn, heading, place):
    targets = Targets(height, speed, turn, heading, place)
    assert read_setters(write_setters(targets)) == targets


@pytest.mark.parametrize(
    "code",
    ["", ";", "speed", "speed 1 2", "place 1", "speed fast", "speed 1;speed 2", "speed 11", "speed nan", "speed 1e3",
     "import os", "speed __import__", "jump 1", "speed 1;", "speed 1 2 3 4 5"],
)  # fmt: skip
def test_text_that_is_no_program_of_setters_is_refused(code):
    with pytest.raises(Retry, match="no setter|numbers of at most 10"):
        read_setters(code)


@settings(max_examples=40)
@given(st.text(max_size=20))
def test_any_text_gives_targets_or_a_refusal(text):
    for read in (read_setters, read_primitives):
        try:
            assert read(text)
        except Retry as refusal:
            assert len(str(refusal)) < 300


def test_primitives_are_executed_in_order():
    assert read_primitives("go north;look east") == [Targets(place=(0.0, 1.5)), Targets(heading=0.0)]
    for code in ("", "fly", "walk;walk;walk;walk", "walk;"):
        with pytest.raises(Retry, match="give up to 3 of: crouch"):
            read_primitives(code)
    assert len(PRIMITIVES) == 16
