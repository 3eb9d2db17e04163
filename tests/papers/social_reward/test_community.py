import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.social_reward.community import Visit, repeated_share, visit_pictures


def visited(worth, **options):
    given = {"members": 200, "shown": 2, "habit": 0.0, "popularity": 0.0} | options
    return visit_pictures(np.array(worth), rng=np.random.default_rng(0), **given)


def rates(events, count):
    return [np.mean([one.edits > 0 for one in events if one.picture == p]) for p in range(count)]


def test_every_member_sees_different_pictures():
    events = visited([0.2, 0.9, 0.5], members=30)
    assert len(events) == 60
    for member in range(30):
        assert len({one.picture for one in events if one.member == member}) == 2


def test_the_rate_of_edits_is_the_logistic_of_the_worth():
    events = visited([0.0, 0.5, 1.0], members=2000, shown=3)
    expected = [1 / (1 + np.exp(-(4 * (worth - 0.5) - 1))) for worth in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(rates(events, 3), expected, atol=0.04)


def test_popular_pictures_are_shown_more_often():
    def spread(popularity):
        events = visited([0.5] * 6, popularity=popularity)
        return np.std(np.bincount([one.picture for one in events], minlength=6))

    assert spread(1.0) > 2 * spread(0.0)


def test_members_with_the_habit_edit_a_picture_again():
    edits = {one.edits for one in visited([0.9, 0.9], habit=1.0)}
    assert edits <= {0, *range(2, 11)} and len(edits) > 5
    assert {one.edits for one in visited([0.9, 0.9])} == {0, 1}


def test_repeated_edits_are_a_share_of_all_edits():
    assert repeated_share([Visit(0, 0, 9), Visit(1, 1, 1), Visit(0, 1, 0)]) == pytest.approx(0.9, abs=1e-9)


def test_numbers_out_of_range_are_errors():
    for wrong in ({"members": 0}, {"shown": 3}, {"popularity": -1.0}):
        with pytest.raises(InputError, match="1 to the number of pictures"):
            visited([0.5, 0.5], **wrong)
