"""Tools of training tasks."""

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.astra.arena import arena
from handaxe.papers.astra.graph_lessons import lesson_stages
from handaxe.papers.astra.offered_tools import offered_tools


def test_training_tasks_offer_all_tools_or_needed_ones_alone():
    tasks = arena(size=40).tasks("train", 6, 0)
    whole = offered_tools()(tasks, 3).next(0, 6)
    alone = offered_tools("needed")(tasks, 3).next(0, 6)
    assert sorted(one.id for one in whole) == sorted(one.id for one in tasks) and [one.id for one in alone] == [
        one.id for one in whole
    ]
    for with_others, one in zip(whole, alone, strict=True):
        assert with_others.tools == tuple(sorted(with_others.metadata["environment"]))
        assert one.tools == tuple(one.metadata["needed"]) and len(one.tools) < len(with_others.tools)


def test_other_values_are_refused():
    with pytest.raises(InputError, match="give distractors or needed"):
        offered_tools("none")


def test_no_lessons_are_no_stage():
    assert lesson_stages(0, teach_rate=1e-3) == () and len(lesson_stages(8, teach_rate=1e-3)) == 1
