import random

import pytest

from handaxe.engines.local.drafts import Drafts


def test_the_example():
    drafts = Drafts(4, context=1)
    drafts.learn([1, 2, 3, 7, 1, 2, 3, 8], 1)
    assert drafts.draft([5, 1], 9) == [2, 3]


def test_only_what_came_twice_in_a_row_is_drafted():
    drafts = Drafts(3, context=2)
    drafts.learn([1, 2, 5], 2)
    assert drafts.draft([1, 2], 3) == []
    drafts.learn([1, 2, 5], 2)
    assert drafts.draft([1, 2], 3) == [5]
    drafts.learn([1, 2, 6], 2)
    assert drafts.draft([1, 2], 3) == []
    drafts.learn([1, 2, 6], 2)
    assert drafts.draft([0, 1, 2], 3) == [6]


def test_no_draft_is_longer_than_asked():
    drafts = Drafts(4, context=1)
    drafts.learn([1, 2] * 5, 1)
    assert [len(drafts.draft([1], most)) for most in (-1, 0, 1, 3, 4, 9)] == [0, 0, 1, 3, 4, 4]
    assert drafts.draft([], 4) == [] and drafts.draft([1], 3) == [2, 1, 2]


def test_what_came_first_is_forgotten_first():
    drafts = Drafts(1, context=1, kept=2)
    for ids in ([1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [5, 6]):
        drafts.learn(ids, 1)
    assert [drafts.draft([token], 1) for token in (1, 3, 5)] == [[], [4], [6]]


def test_nothing_is_learnt_where_nothing_is_drafted():
    drafts = Drafts(0, context=1)
    drafts.learn([1, 2, 1, 2, 1, 2], 1)
    assert drafts._next == {} and drafts.draft([1], 5) == []


@pytest.mark.parametrize("context", [1, 2, 3])
def test_like_a_search_through_everything_that_was_learnt(context):
    rng, drafts, seen = random.Random(context), Drafts(5, context=context), []
    for _ in range(200):
        ids, start = [rng.randrange(3) for _ in range(rng.randrange(9))], rng.randrange(4)
        drafts.learn(ids, start)
        seen += [(ids[k - context : k], ids[k]) for k in range(max(start, context), len(ids))]
        row = [rng.randrange(3) for _ in range(4)]
        want = []
        while len(want) < 5:
            followed = [token for before, token in seen if before == [*row, *want][-context:]]
            if len(followed) < 2 or followed[-1] != followed[-2]:
                break
            want.append(followed[-1])
        assert drafts.draft(row, 5) == want
