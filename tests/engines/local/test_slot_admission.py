from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.prefix_cache import PrefixCache
from handaxe.engines.local.slot_admission import RunningRow, Slot, admit, logit_requests


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
    wrong, right, ended = row([1, 2]), row([1, 2]), row([1, 2])
    assert not wrong.accept_draft([5, 8], drawn, 3) and wrong.ids == [1, 2, 5, 6] and wrong.drawn == 2
    assert not right.accept_draft([5, 6], drawn, 3) and right.partial_turn().version == [3, 3, 3]
    assert right.partial_turn().logp == [-1.0, -2.0, -3.0] and right.partial_turn().behaviour_logp == [-1.0, -1.5, -3.0]
    assert not ended.accept_draft([], drawn[:1], 3) and ended.ids == [1, 2, 5]
    assert ended.accept_draft([9, 6], [(9, -1.0, -1.0), *drawn[:2]], 3) and ended.ids == [1, 2, 5, 9]
    assert right.accept_draft([3], [(3, 0.0, 0.0), (4, 0.0, 0.0)], 3) and right.drawn == 4


def test_logit_requests_map_logits_to_rows():
    old, other, new = row([1], 0), row([2], 1), row([3], 2)
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
