from handaxe.core.records import ToolCall
from handaxe.evaluation.play_groups import play_groups
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic(easy=0.0)


def test_groups_are_scored_by_the_world_and_follow_the_seed():
    engine = ScriptedEngine(Compact(), [ToolCall("calculator", {"expression": "2*3"}), "6"], tools=[calculator.schema])
    play = {"split": "test", "tasks": 3, "siblings": 2}
    found = play_groups(engine, Compact(), WORLD, **play, seed=0)
    assert [len(one.group) for one in found] == [2, 2, 2]
    for one in found:
        right = one.group.task.answer == "6"
        assert one.scores.outcome.tolist() == [float(right)] * 2
    again, other = (play_groups(engine, Compact(), WORLD, **play, seed=seed) for seed in (0, 1))
    names = [[one.group.task.id for one in own] for own in (found, again, other)]
    assert names[0] == names[1] != names[2]
