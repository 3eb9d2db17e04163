import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch
from handaxe.rollouts.turn_starts import turn_starts
from handaxe.testing.make_records import make_trajectory

FOUR = make_trajectory(layouts=["UUUUt pp tTTTt" + " p" * 6 + "tTTTTTTTTTTTTt ppp" + "t" * 17 + "Tt pp"], id="t/0")


@pytest.mark.parametrize(
    ("count", "turns"), [(1, [0]), (2, [0, 2]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3])]
)
def test_turn_starts_are_evenly_spread(count, turns):
    starts = [turn.start for turn in FOUR.turns]
    assert len(starts) == 4
    assert turn_starts(count=count)(FOUR) == [Branch("t/0", 0, starts[k]) for k in turns]


def test_turn_starts_cover_several_sequences():
    trunk = make_trajectory(layouts=["UUt pp", "UUttTt p"])
    assert [one[1:] for one in turn_starts()(trunk)] == [(0, 3), (1, 6)]


def test_a_trunk_without_turns_has_no_turn_starts():
    assert turn_starts()(make_trajectory(layouts=["UUt"])) == []


def test_a_count_below_one_is_an_error():
    with pytest.raises(InputError, match="count is 0"):
        turn_starts(count=0)
