import pytest

from handaxe.errors import VerifierError
from handaxe.rewards.parts.confidence import UNSTATED, as_channel, stated_confidence, without_confidence
from handaxe.testing.records import make_group, make_trajectory

TEXTS = {
    "408 c7": (0.7, "408"),
    "408 c10": (1.0, "408"),
    "408\nc0 \n": (0.0, "408"),
    "c3": (0.3, ""),
    "408": (None, "408"),
    "408c7": (None, "408c7"),
    "408 c11": (None, "408 c11"),
    "408 c-1": (None, "408 c-1"),
    "408 c7 or so": (None, "408 c7 or so"),
    "408 c2 c9": (0.9, "408 c2"),
    "": (None, ""),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_last_word_is_read(text):
    one = make_trajectory(texts=["1 c1", text], calls=[["f"], []], replies=[["1"], []])
    assert (stated_confidence(one), without_confidence(one)) == TEXTS[text]


def test_a_long_answer_is_read_and_no_turn_says_nothing():
    for text in ("408" + " " * 1_000_000 + "x", "c7 " * 300_000 + "x", "c" * 1_000_000):
        one = make_trajectory(texts=[text])
        assert stated_confidence(one) is None and without_confidence(one) == text
    assert stated_confidence(make_trajectory(layouts=["UUt"])) is None


def test_as_a_channel():
    group = make_group(trajectories=[make_trajectory(texts=[text]) for text in ("4 c5", "4")])
    assert as_channel(stated_confidence)(group).outcome.tolist() == [0.5, UNSTATED]
    for odd in (-0.1, 1.1, float("nan"), UNSTATED):
        with pytest.raises(VerifierError, match="not between 0 and 1"):
            as_channel(lambda trajectory, odd=odd: odd)(group)
