import pytest

pytest.importorskip("bfcl_eval")

from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.bfcl.package import MULTI_TURN
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.bfcl.turn_criteria import check_turns, turn_criteria
from handaxe.worlds.bfcl.world import bfcl
from handaxe.worlds.parts.demonstrate import demonstrate


def played(task, speaker=None):
    world = bfcl(single_calls=True)
    return demonstrate(world.env(()), task, speaker or world.expert, format=Compact(), max_turns=64)


def test_criteria_are_the_turns_with_calls():
    task = all_tasks("multi_turn_miss_func")[0]
    assert task.metadata["gold"][2] == []
    assert [one.name for one in turn_criteria(task)] == ["turn 0", "turn 1", "turn 3", "turn 4"]
    assert [one.part for one in turn_criteria(task)] == [0, 1, 3, 4]
    assert task.messages[0].content[:40] in turn_criteria(task)[0].text
    assert turn_criteria(all_tasks("multiple")[0]) == []


def test_a_criterion_is_met_from_the_end_of_its_turn():
    task = all_tasks("multi_turn_base")[0]
    one, named = played(task), turn_criteria(task)
    met_CN = check_turns(one, named)
    ends = [n for n, turn in enumerate(one.turns) if not turn.parsed.calls]
    assert met_CN.shape == (4, len(one.turns)) and len(ends) == 4
    for row, end in zip(met_CN, ends):
        assert row.tolist() == [n >= end for n in range(len(one.turns))]


def test_criteria_of_incorrect_and_missing_turns_are_not_met():
    task = all_tasks("multi_turn_base")[0]
    expert = bfcl(single_calls=True).expert

    def skips(task, facts):
        return Message("assistant", "No.") if facts.get("user_turn", 0) == 1 else expert(task, facts)

    one = played(task, skips)
    assert one.env["turns"][:2] == [True, False]
    assert check_turns(one, turn_criteria(task))[:2, -1].tolist() == [True, False]
    world = bfcl()
    cut = demonstrate(world.env(()), task, world.expert, format=Compact(), max_turns=2)
    assert check_turns(cut, turn_criteria(task))[:, -1].tolist() == [True, False, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("category", MULTI_TURN)
def test_the_expert_with_single_calls_meets_every_criterion(category):
    for task in all_tasks(category):
        one = played(task)
        assert one.env["valid"] and one.env["progress"] == 1 and check_turns(one, turn_criteria(task))[:, -1].all(), (
            task.id
        )
