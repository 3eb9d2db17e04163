import pytest

from handaxe.core.errors import InputError
from handaxe.rewards.per_turn import per_turn
from handaxe.rewards.select_channel import select_channel
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = []
LAB = "selects a channel of another reward"


PAIR = make_group(trajectories=[make_trajectory(texts=["a", "bb"]), make_trajectory(texts=["c"])])
LENGTHS = per_turn(lambda one: [len(turn.parsed.text) for turn in one.turns])
BOTH = weighted({"answer": (1.0, lambda group: make_scores([1, 0])), "format": (0.2, LENGTHS)})


def test_select_channel_matches_the_docstring_example():
    two = weighted({name: (0.3, lambda group, v=v: make_scores(v)) for name, v in {"a": [1, 0], "f": [1, 1]}.items()})
    assert select_channel(two, "f")(PAIR).outcome.tolist() == [1, 1]


def test_turns_come_with_their_channel():
    assert select_channel(BOTH, "answer")(PAIR).turns is None
    scores = select_channel(BOTH, "format")(PAIR)
    assert scores.outcome.tolist() == [0, 0] and [turn.tolist() for turn in scores.turns] == [[1, 2], [1]]
    assert set(scores.channels) == {"answer", "format"}


def test_an_unknown_channel_is_an_error():
    with pytest.raises(InputError, match="no channel 'speed'; it has answer, format"):
        select_channel(BOTH, "speed")(PAIR)
