from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.prefix_cache import Prefixes
from handaxe.engines.local.rows import LiveRow, Slot, admit, asked


def row(ids, ticket=0, **options):
    return LiveRow(ticket, Sample(list(ids), Sampling(max_tokens=4), 7, frozenset({9}), **options), 20)


def planned(rows, slots):
    return admit(rows, slots, [i for i, slot in enumerate(slots) if slot.row is None], Prefixes(0))


def test_a_row_counts_on_from_what_was_begun():
    whole, begun = row([1, 2]), row([1, 2], begun=Partial([5], [-1.0], [-0.5], [3]))
    assert len(whole.uniforms) == 4 and begun.uniforms == whole.uniforms[1:]
    assert begun.ids == [1, 2, 5]
    assert not begun.add(6, -2.0, -1.5, 4)
    assert begun.sampled() == Partial([5, 6], [-1.0, -2.0], [-0.5, -1.5], [3, 4])
    assert begun.add(9, -1.0, -1.0, 4)
    assert [whole.add(1, 0.0, 0.0, 0) for _ in range(4)] == [False, False, False, True]


def test_a_row_follows_its_draft_up_to_where_it_was_wrong():
    drawn = [(5, -1.0, -1.0), (6, -2.0, -1.5), (7, -3.0, -3.0)]
    wrong, right, ended = row([1, 2]), row([1, 2]), row([1, 2])
    assert not wrong.follow([5, 8], drawn, 3) and wrong.ids == [1, 2, 5, 6] and wrong.drawn == 2
    assert not right.follow([5, 6], drawn, 3) and right.sampled().version == [3, 3, 3]
    assert right.sampled().logp == [-1.0, -2.0, -3.0] and right.sampled().behaviour_logp == [-1.0, -1.5, -3.0]
    assert not ended.follow([], drawn[:1], 3) and ended.ids == [1, 2, 5]
    assert ended.follow([9, 6], [(9, -1.0, -1.0), *drawn[:2]], 3) and ended.ids == [1, 2, 5, 9]
    assert right.follow([3], [(3, 0.0, 0.0), (4, 0.0, 0.0)], 3) and right.drawn == 4


def test_every_row_finds_its_logits():
    old, other, new = row([1], 0), row([2], 1), row([3], 2)
    slots = [Slot([], old), Slot([], new), Slot([], other), Slot([], row([4], 3))]
    found = asked([[1, 7, 8], [0], [2]], [old, None, other], slots, [(1, 0), (3, 0)])
    assert [(one.slot, one.row.ticket, one.first, list(one.draft)) for one in found] == [
        (0, 0, 0, [7, 8]),
        (2, 1, 4, []),
        (1, 2, 5, []),
        (3, 3, 5, []),
    ]


def test_shared_tokens_are_read_once_and_copied():
    slots = [Slot(), Slot(), Slot()]
    plan = planned([row([1, 2, 4, 5], 0), row([1, 2, 3], 1), row([1, 2, 4, 6], 2)], slots)
    assert [(r.ids, r.start) for r in plan.readings] == [([1, 2, 3], 0), ([1, 2, 4, 5], 2), ([1, 2, 4, 6], 3)]
    assert [(c.start, c.stop) for c in plan.copies] == [(0, 2), (0, 3)]
    assert sum(len(r.ids) - r.start for r in plan.readings) == 6 and plan.reused == 5
    assert [slots[index].row.ids for index, _ in plan.logits] == [[1, 2, 3], [1, 2, 4, 5], [1, 2, 4, 6]]


def test_equal_rows_share_their_logits():
    slots = [Slot(), Slot(), Slot()]
    plan = planned([row([1, 2], ticket) for ticket in range(3)], slots)
    assert len(plan.readings) == 1 and [reading for _, reading in plan.logits] == [0, 0, 0]
    assert [(c.start, c.stop) for c in plan.copies] == [(0, 2), (0, 2)] and plan.reused == 4


def test_a_row_goes_on_in_its_own_slot_and_others_take_what_was_left_longest_ago():
    slots = [Slot([1, 2, 3], None, 3), Slot([4, 5], None, 1), Slot([4], None, 2)]
    plan = planned([row([4, 5, 6]), row([8])], slots)
    assert [(r.slot, r.ids, r.start) for r in plan.readings] == [(1, [4, 5, 6], 2), (2, [8], 0)]
    assert not plan.copies and plan.reused == 2


def test_a_row_that_is_all_there_reads_its_last_id_for_the_logits():
    plan = planned([row([1, 2])], [Slot([1, 2], None, 1)])
    assert [(r.ids, r.start) for r in plan.readings] == [([1, 2], 1)] and plan.reused == 1
