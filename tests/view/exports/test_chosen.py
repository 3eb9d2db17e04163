import pytest

from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.chosen import chosen
from handaxe.view.record_search import Where, search


def test_what_is_chosen_is_what_the_record_holds(folder, rows):
    with RunRecord.open(folder) as record:
        found = search(record, Where(task="talk"))
        first, second = chosen(record, [one.key for one in found])
        (group,) = record.groups(step=5)
    assert [one.trajectory.id for one in (first, second)] == ["talk/0", "talk/1"]
    assert (first.outcome, first.total, first.channels, first.trained) == (1.0, 1.0, {"right": 1.0}, True)
    assert (first.no_gradient, first.outcome_class, second.outcome_class) == (None, "correct", "truncated")
    assert second.no_gradient.kind == "truncated" and second.no_gradient.by == second.left_out_by == "mask_overlong"
    assert (second.age, second.pushed, second.step) == (2.0, None, 5)
    rows.same_arrays(first.advantages, group.advantages.tokens[0])
    assert first.eligible is True and second.eligible is False


def test_the_order_is_that_of_the_rows_asked_for(folder):
    with RunRecord.open(folder) as record:
        keys = [one.key for one in search(record, Where())]
        mixed = keys[::-2] + keys[1::3]
        assert [one.trajectory.id for one in chosen(record, mixed)] == [
            group.played.group[place].id for group, place in map(record.group_of, mixed)
        ]
        with pytest.raises(InputError, match="no trajectory in row 1000"):
            list(chosen(record, [1000]))


def test_what_was_not_scored_has_neither_score_nor_advantage(everything):
    (died, _) = [one for one in everything if not one.scored]
    assert died.outcome != died.outcome and died.total != died.total and died.advantages is died.turns is None
    assert died.channels == {} and died.no_gradient.kind == died.outcome_class == "infra_error"
