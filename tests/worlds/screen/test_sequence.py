import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.core.records import Group, Message, ParsedTurn, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.screen.sequence import further_screens
from handaxe.worlds.screen.world import screen

pytest.importorskip("PIL")


ROW = screen(screens=3)


def played(world, task, says=None):
    format = Compact(TinyImageProcessor(8))
    return demonstrate(world.env(world.tools), task, says or world.expert, format=format, context=512)


def right(world, one):
    return world.correct(Group(one.task, (one,))).outcome[0]


def acting(*calls):
    return lambda task, facts: Message(
        "assistant", "" if facts["turn"] < len(calls) else "I stop", calls[facts["turn"] : facts["turn"] + 1]
    )


@pytest.mark.parametrize("answer", ["action", "click"])
def test_several_screens_keep_the_world_contract(answer):
    check_world(screen(answer=answer, screens=2), count=10)


def test_every_action_is_followed_by_the_next_screen():
    task = ROW.tasks("train", 1, 0)[0]
    one = played(ROW, task)
    questions = [question for question, _ in task.metadata["screens"]]
    assert [reply.content for reply in one.replies] == [f"{questions[1]}\ufffc", f"{questions[2]}\ufffc", "over"]
    assert [reply.images[0] for reply in one.replies[:2]] == [image for _, image in further_screens(task)]
    assert right(ROW, one) == 1 and ROW.verdicts(one).tolist() == [1, 1, 1] and one.ending.kind == "completed"


def test_one_incorrect_action_of_several_is_found():
    for task in ROW.tasks("train", 6, 0):
        gold = ROW.reference(task)
        wrong = (
            ToolCall("scroll", {"direction": "up"}) if gold[1].name != "scroll" else ToolCall("write", {"text": "x"})
        )
        one = played(ROW, task, acting(gold[0], wrong, gold[2]))
        assert right(ROW, one) == 0 and ROW.verdicts(one).tolist() == [1, -1, 1]
        short = played(ROW, task, acting(*gold[:2]))
        assert right(ROW, short) == 0 and ROW.verdicts(short).tolist() == [1, 1, -1]


def test_an_invalid_call_stays_at_its_screen():
    task = ROW.tasks("train", 1, 0)[0]
    gold = ROW.reference(task)
    one = played(ROW, task, acting(ToolCall("scroll", {"direction": "north"}), *gold))
    assert [reply.status for reply in one.replies] == ["invalid", "ok", "ok", "ok"]
    assert ROW.verdicts(one).tolist() == [-1, 1, 1, 1] and right(ROW, one) == 0


def test_a_branch_continues_at_the_screen_of_its_snapshot():
    task = ROW.tasks("train", 1, 0)[0]
    gold = [ParsedTurn("", (ToolCall(one.name, one.arguments, "c0"),)) for one in ROW.reference(task)]
    trunk, branch = (ROW.env(ROW.tools)(task) for _ in range(2))
    for env in (trunk, branch):
        env.start()
    trunk.step(gold[0], seed=0)
    branch.restore(trunk.snapshot())
    for turn in gold[1:]:
        one, other = (env.step(turn, seed=0) for env in (trunk, branch))
        assert [reply.images for reply in one.replies] == [reply.images for reply in other.replies]
        assert one.replies[0].content == other.replies[0].content and one.done == other.done
    assert trunk.report() == branch.report()


def test_further_tools_are_offered_and_a_taken_name_raises_early():
    @tool
    def note(text: str) -> str:
        """Write a note."""
        return text

    names = [schema.name for schema in ROW.env([*ROW.tools, note])(ROW.tasks("train", 1, 0)[0]).start()[1]]
    assert sorted(names) == ["click", "note", "scroll", "write"]

    @tool
    def click(text: str) -> str:
        """Click."""
        return text

    with pytest.raises(ToolDefinitionError, match="click"):
        ROW.env([click])
