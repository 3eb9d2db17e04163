import random

import pytest
from helpers.image_records import noise

from handaxe.engines.local.ngram_drafts import NgramDrafts


def test_draft_continues_the_docstring_example_to_the_ambiguous_token():
    drafts = NgramDrafts(4, context=1)
    drafts.learn([1, 2, 3, 7, 1, 2, 3, 8], 1)
    assert drafts.draft([5, 1], 9) == [2, 3]


def test_token_is_drafted_after_two_equal_occurrences_in_a_row():
    drafts = NgramDrafts(3, context=2)
    drafts.learn([1, 2, 5], 2)
    assert drafts.draft([1, 2], 3) == []
    drafts.learn([1, 2, 5], 2)
    assert drafts.draft([1, 2], 3) == [5]
    drafts.learn([1, 2, 6], 2)
    assert drafts.draft([1, 2], 3) == []
    drafts.learn([1, 2, 6], 2)
    assert drafts.draft([0, 1, 2], 3) == [6]


def test_draft_respects_the_limit():
    drafts = NgramDrafts(4, context=1)
    drafts.learn([1, 2] * 5, 1)
    assert [len(drafts.draft([1], limit)) for limit in (-1, 0, 1, 3, 4, 9)] == [0, 0, 1, 3, 4, 4]
    assert drafts.draft([], 4) == [] and drafts.draft([1], 3) == [2, 1, 2]


def test_oldest_context_is_dropped_first():
    drafts = NgramDrafts(1, context=1, max_contexts=2)
    for ids in ([1, 2], [1, 2], [3, 4], [3, 4], [5, 6], [5, 6]):
        drafts.learn(ids, 1)
    assert [drafts.draft([token], 1) for token in (1, 3, 5)] == [[], [4], [6]]


def test_disabled_drafts_learn_nothing():
    drafts = NgramDrafts(0, context=1)
    drafts.learn([1, 2, 1, 2, 1, 2], 1)
    assert drafts._next == {} and drafts.draft([1], 5) == []


@pytest.mark.parametrize("context", [1, 2, 3])
def test_drafts_equal_a_search_through_all_learned_rows(context):
    rng = random.Random(context)
    drafts = NgramDrafts(5, context=context)
    seen = []
    for _ in range(200):
        ids, start = [rng.randrange(3) for _ in range(rng.randrange(9))], rng.randrange(4)
        drafts.learn(ids, start)
        seen += [(ids[k - context : k], ids[k]) for k in range(max(start, context), len(ids))]
        row = [rng.randrange(3) for _ in range(4)]
        want = []
        while len(want) < 5:
            followed = [token for context_ids, token in seen if context_ids == [*row, *want][-context:]]
            if len(followed) < 2 or followed[-1] != followed[-2]:
                break
            want.append(followed[-1])
        assert drafts.draft(row, 5) == want


def test_drafts_learn_sampled_tokens_only_and_hold_no_image_token():  # trap 14
    drafts, image = NgramDrafts(8, context=1), noise()
    row = [1, *image.ids(3), 2]
    for _ in range(3):
        drafts.learn([*row, 5, 6], len(row))
    assert drafts.draft([1], 8) == [] and drafts.draft(row, 8) == [5, 6]
