import pytest
from helpers.image_records import noise

from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.prefix_cache import PrefixCache
from handaxe.engines.local.slot_admission import RunningRow, Slot, admit, image_start, logit_requests


def row(ids, ticket=0, **options):
    return RunningRow(ticket, Sample(list(ids), Sampling(max_tokens=4), 7, frozenset({9}), **options), 20)


def admitted(rows, slots):
    return admit(rows, slots, [i for i, slot in enumerate(slots) if slot.row is None], PrefixCache(0))


def test_row_of_a_partial_turn_uses_the_remaining_uniforms():
    whole, partial = row([1, 2]), row([1, 2], prefix=Partial([5], [-1.0], [-0.5], [3]))
    assert len(whole.uniforms) == 4 and partial.uniforms == whole.uniforms[1:]
    assert partial.ids == [1, 2, 5]
    assert not partial.append(6, -2.0, -1.5, 4)
    assert partial.partial_turn() == Partial([5, 6], [-1.0, -2.0], [-0.5, -1.5], [3, 4])
    assert partial.append(9, -1.0, -1.0, 4)
    assert [whole.append(1, 0.0, 0.0, 0) for _ in range(4)] == [False, False, False, True]


def test_row_accepts_its_draft_up_to_the_first_difference():
    drawn = [(5, -1.0, -1.0), (6, -2.0, -1.5), (7, -3.0, -3.0)]
    wrong = row([1, 2])
    right = row([1, 2])
    ended = row([1, 2])
    assert not wrong.accept_draft([5, 8], drawn, 3) and wrong.ids == [1, 2, 5, 6] and wrong.drawn == 2
    assert not right.accept_draft([5, 6], drawn, 3) and right.partial_turn().version == [3, 3, 3]
    assert right.partial_turn().logp == [-1.0, -2.0, -3.0] and right.partial_turn().behaviour_logp == [-1.0, -1.5, -3.0]
    assert not ended.accept_draft([], drawn[:1], 3) and ended.ids == [1, 2, 5]
    assert ended.accept_draft([9, 6], [(9, -1.0, -1.0), *drawn[:2]], 3) and ended.ids == [1, 2, 5, 9]
    assert right.accept_draft([3], [(3, 0.0, 0.0), (4, 0.0, 0.0)], 3) and right.drawn == 4


def test_logit_requests_map_logits_to_rows():
    old = row([1], 0)
    other = row([2], 1)
    new = row([3], 2)
    slots = [Slot([], old), Slot([], new), Slot([], other), Slot([], row([4], 3))]
    found = logit_requests([[1, 7, 8], [0], [2]], [old, None, other], slots, [(1, 0), (3, 0)])
    assert [(one.slot, one.row.ticket, one.first, list(one.draft)) for one in found] == [
        (0, 0, 0, [7, 8]),
        (2, 1, 4, []),
        (1, 2, 5, []),
        (3, 3, 5, []),
    ]


def test_shared_tokens_are_read_once_and_copied():
    slots = [Slot(), Slot(), Slot()]
    admission = admitted([row([1, 2, 4, 5], 0), row([1, 2, 3], 1), row([1, 2, 4, 6], 2)], slots)
    assert [(r.ids, r.start) for r in admission.readings] == [([1, 2, 3], 0), ([1, 2, 4, 5], 2), ([1, 2, 4, 6], 3)]
    assert [(c.start, c.stop) for c in admission.copies] == [(0, 2), (0, 3)]
    assert sum(len(r.ids) - r.start for r in admission.readings) == 6 and admission.reused_tokens == 5
    assert [slots[index].row.ids for index, _ in admission.logits] == [[1, 2, 3], [1, 2, 4, 5], [1, 2, 4, 6]]


def test_equal_rows_share_one_reading():
    slots = [Slot(), Slot(), Slot()]
    admission = admitted([row([1, 2], ticket) for ticket in range(3)], slots)
    assert len(admission.readings) == 1 and [reading for _, reading in admission.logits] == [0, 0, 0]
    assert [(c.start, c.stop) for c in admission.copies] == [(0, 2), (0, 2)] and admission.reused_tokens == 4


def test_row_takes_the_slot_of_its_prefix_and_others_the_least_recently_used():
    slots = [Slot([1, 2, 3], None, 3), Slot([4, 5], None, 1), Slot([4], None, 2)]
    admission = admitted([row([4, 5, 6]), row([8])], slots)
    assert [(r.slot, r.ids, r.start) for r in admission.readings] == [(1, [4, 5, 6], 2), (2, [8], 0)]
    assert not admission.copies and admission.reused_tokens == 2


def test_fully_cached_row_reads_its_last_id():
    admission = admitted([row([1, 2])], [Slot([1, 2], None, 1)])
    assert [(r.ids, r.start) for r in admission.readings] == [([1, 2], 1)] and admission.reused_tokens == 1


# --- images --------------------------------------------------------------------------------------------------------

ONE, OTHER = noise(0), noise(1)


def test_readings_carry_the_images_of_their_request():
    slots = [Slot(), Slot()]
    admission = admitted([row([1, *ONE.ids(2)], images=(ONE,)), row([2], 1)], slots)
    assert [reading.images for reading in admission.readings] == [(ONE,), ()]


@pytest.mark.parametrize("position, start", [(0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 4), (6, 4), (7, 7), (8, 8)])
def test_image_start_is_the_first_token_of_the_divided_image(position, start):
    assert image_start([5, *ONE.ids(3), *ONE.ids(3), 6], position) == start


def test_images_read_whole_are_not_divided_by_cached_tokens_or_copies():  # trap 7
    ids = [1, *ONE.ids(3), *OTHER.ids(3), 2, 3]
    for whole, starts in ((False, [5]), (True, [4])):
        slots = [Slot(ids[:5]), Slot()]
        admission = admit([row(ids)], slots, [0, 1], PrefixCache(0), whole_images=whole)
        assert [reading.start for reading in admission.readings] == starts
    for whole, stop in ((False, 3), (True, 1)):
        rows = [row([1, *ONE.ids(3), 2], 0), row([1, *ONE.ids(2)], 1)]
        slots = [Slot(), Slot()]
        admission = admit(rows, slots, [0, 1], PrefixCache(0), whole_images=whole)
        assert [copy.stop for copy in admission.copies] == [stop]


def test_rows_that_differ_in_the_image_alone_share_the_text_before_it():  # trap 1
    slots = [Slot(), Slot()]
    admission = admitted([row([1, 2, *ONE.ids(3), 4], 0), row([1, 2, *OTHER.ids(3), 4], 1)], slots)
    assert [(copy.start, copy.stop) for copy in admission.copies] == [(0, 2)]
