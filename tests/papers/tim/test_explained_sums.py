import pytest
from helpers.explained import TASK, explained

from handaxe.core.errors import InputError
from handaxe.core.records import Group
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tim.explained_sums import explained_sums, gold_lines, split_answer, stated_lines
from handaxe.worlds.parts.demonstrate import demonstrate


def test_lines_by_hand():
    assert gold_lines(TASK) == [(4, 7, 11), (11, 3, 14), (14, 5, 19), (19, 1, 20)]
    assert stated_lines(explained("4+7=11,11+3=15:20", calls=1)) == [(4, 7, 11), (11, 3, 15)]
    assert split_answer("4+7=11,11+3=14:14") == ("4+7=11,11+3=14", "14")
    assert split_answer(" 14 ") == ("", "14")


def test_miss_rate_of_the_entry_is_a_half():
    """Gold steps a b c d, found a and d."""
    gauges = explained_sums().gauges
    miss = gauges["miss_rate"]
    accuracy = gauges["step_accuracy"]
    one = explained("4+7=11,19+1=20:20")
    assert miss.top(one, 1.0) / miss.bottom(one, 1.0) == pytest.approx(0.5, abs=1e-6)
    one = explained("4+7=11,11+3=15:20")
    assert (accuracy.top(one, 1.0), accuracy.bottom(one, 1.0)) == (1.0, 2.0)


def test_the_answer_alone_decides_correctness():
    correct = explained_sums().correct
    for text, right in (("4+7=99:20", 1), ("20", 1), (":20", 1), ("4+7=11:21", 0), ("", 0)):
        assert correct(Group(TASK, (explained(text),))).outcome[0] == right


@pytest.mark.parametrize("substituted", [0.0, 0.7, 1.0])
def test_expert_is_correct_and_leaves_out_lines_of_the_tool(substituted):
    world = explained_sums(substituted=substituted)
    env = world.env(world.tools)
    missed = 0
    gold = 0
    bare = 0
    for task in world.tasks("train", 60, 3):
        one = demonstrate(env, task, world.expert, format=Compact(), max_turns=5)
        assert world.correct(Group(task, (one,))).outcome[0] == 1
        lines = gold_lines(task)
        stated = stated_lines(one)
        assert stated in (lines, lines[len(one.calls) :]) and len(one.calls) in (0, len(lines))
        if task.metadata["offered"] == "no":
            assert not one.calls and stated == lines
            bare += 1
        missed += len(lines) - len(stated)
        gold += len(lines)
    assert 10 <= bare <= 30
    assert (missed == 0) == (substituted == 0) and missed / gold <= substituted


def test_splits_share_no_question():
    world = explained_sums()
    train, test = ({one.messages[0].content for one in world.tasks(split, 300, 0)} for split in ("train", "test"))
    assert not train & test


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match="from 0 to 1, not 2"):
        explained_sums(substituted=2)
