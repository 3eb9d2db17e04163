from handaxe.core.records import Ending, Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.calls import calls
from handaxe.worlds.parts.demonstrate import demonstrate


def outcome(world, task, speaker):
    one = demonstrate(world.env(world.tools), task, speaker, format=Compact())
    assert one.ending == Ending("completed") and len(one.turns) == 1 and not one.replies
    return world.correct(Group(task, (one,))).outcome[0]


def test_only_the_reference_call_is_correct():
    world = calls()
    for task in world.tasks("test", 30, 0):
        (call,) = world.reference(task)
        other = ToolCall("compute", {**call.arguments, "left": call.arguments["left"] + 1})
        assert outcome(world, task, world.expert) == 1
        assert outcome(world, task, lambda task, facts: Message("assistant", "", (other,))) == -1
        assert outcome(world, task, lambda task, facts: Message("assistant", task.answer)) == -1


def test_tools_come_from_lists_and_functions():
    world = calls()
    task = world.tasks("train", 1, 0)[0]
    env = world.env([list(world.tools)])(task)
    made = world.env([lambda: world.tools[0]])(task)
    assert [tool.name for tool in env.start()[1]] == [tool.name for tool in made.start()[1]] == ["compute"]
