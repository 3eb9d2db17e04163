import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tree_preferences.segment_forks import segment_forks, shared_tokens
from handaxe.testing.make_records import make_trajectory


def places(trunk, **options):
    return [(place.sequence, place.token) for place in segment_forks(**options)(trunk)]


def test_places_by_hand():
    """12 sampled tokens from token 2: places 4 and 8 are tokens 6 and 10."""
    trunk = make_trajectory(layouts=["Ut" + "p" * 12])
    assert places(trunk, depth=2, branches=2) == [(0, 6), (0, 6), (0, 10), (0, 10)]


def test_places_are_sampled_tokens_of_any_turn():
    trunk = make_trajectory(layouts=["UUt pp tTt ppp"])
    sampled = [(turn.sequence, t) for turn in trunk.turns for t in range(turn.start, turn.stop)]
    found = places(trunk, depth=2, branches=1)
    assert found == [sampled[1], sampled[3]]


def test_few_tokens_give_few_places_and_never_the_first():
    trunk = make_trajectory(layouts=["Utpp"])
    assert places(trunk, depth=5, branches=1) == [(0, 3)]
    assert places(make_trajectory(layouts=["Utp"]), depth=2) == []


def test_shared_tokens_by_hand():
    one, two = make_trajectory(layouts=["Utppp"]), make_trajectory(layouts=["Utppp"])
    assert shared_tokens(one, one) == len(one.sequences[0])
    ids = two.sequences[0].ids.copy()
    ids[3] += 1
    two.sequences[0].ids.setflags(write=True)
    two.sequences[0].ids[:] = ids
    assert shared_tokens(one, two) == 3


@pytest.mark.parametrize("options", [{"depth": 0}, {"branches": 0}])
def test_wrong_numbers_raise(options):
    with pytest.raises(InputError, match="1 or more"):
        segment_forks(**options)
