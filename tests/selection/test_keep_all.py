from handaxe.selection.keep_all import keep_all
from handaxe.testing.make_records import make_rated


def test_keep_all_returns_every_group_in_a_new_list():
    batch = [make_rated(outcome=[1, 0]), make_rated(outcome=[1, 1])]
    kept = keep_all()(batch)
    assert [id(one) for one in kept] == [id(one) for one in batch]
    assert kept is not batch
    assert keep_all()([]) == []
