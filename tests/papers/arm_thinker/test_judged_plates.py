import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.core.records import Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.arm_thinker.judged_plates import ParsedVerdict, judged_plates, parse_verdict, tool_use
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.plates.scene import Plate, canvas

pytest.importorskip("sklearn")
pytest.importorskip("PIL")

FORMAT = Compact(TinyImageProcessor(8))
WORLD = judged_plates()


def task_of(gold="1"):
    return next(task for task in WORLD.tasks("train", 20, 0) if task.metadata["gold"] == gold)


def zooming(*looks, answer=None):
    def expert(task, facts):
        if facts["turn"] < len(looks):
            box, image = looks[facts["turn"]]
            return Message("assistant", "", (ToolCall("zoom", {"box": box, "image": image}),))
        return Message("assistant", str(task.answer) if answer is None else answer)

    return expert


def played(task, expert=None):
    return demonstrate(WORLD.env(()), task, expert or WORLD.expert, format=FORMAT)


def plate(one):
    return Plate(*one[:3], tuple(one[3]), tuple(one[4]))


def test_judged_plates_keeps_the_world_contract():
    check_world(WORLD, count=12)


@pytest.mark.parametrize("gold", ["1", "2"])
def test_the_images_differ_in_the_number_of_the_red_plate(gold):
    task = task_of(gold)
    scene, other = [plate(one) for one in task.metadata["plates"]], plate(task.metadata["other"])
    assert task.messages[0].content == "red below 50?\ufffc\ufffc"
    assert int(scene[0].number) < 50 <= int(other.number)
    assert other.box == scene[0].box and len(task.messages[0].images) == 2
    one = played(task, zooming(("0 0 8 8", 1), ("0 0 8 8", 2)))
    fits, fails = canvas(tuple(scene)).resized(32), canvas((other, *scene[1:])).resized(32)
    assert [reply.images[0] for reply in one.replies] == ([fits, fails] if gold == "1" else [fails, fits])
    read = scene[0].number if gold == "1" else other.number
    assert played(task).final_text == f"{read}: {gold}"
    assert WORLD.correct(Group(task, (played(task),))).outcome[0] == 1


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("46: 2", ParsedVerdict("46", "2")),
        (" 46: 40: 1\n", ParsedVerdict("46: 40", "1")),
        ("46: 3", None),
        ("the second one", None),
        ("46:2", None),
        ("<tool_call>46: 2", None),
        ("2", None),
        ("", None),
    ],
)
def test_verdicts_have_an_exact_form(text, verdict):
    assert parse_verdict(text) == verdict


@pytest.mark.parametrize("look", [("0 0 9 8", 1), ("4 4 2 6", 1), ("0 0 2 2", 3), ("0 0 2 2", 0)])
def test_invalid_looks_are_refused(look):
    one = played(task_of(), zooming(look))
    assert one.replies[0].status == "retry" and tool_use(one) == (True, False)
    assert WORLD.gauges["looked"].top(one, 0.0) == 0 and tool_use(played(task_of(), zooming())) == (False, False)


def test_a_guess_is_right_half_of_the_time():
    gold = [task.metadata["gold"] for task in WORLD.tasks("test", 400, 1)]
    assert gold.count("1") / 400 == pytest.approx(0.5, abs=0.08)


def test_a_taken_name_raises_early():
    @tool
    def zoom(box: str) -> str:
        """Zoom."""
        return box

    with pytest.raises(ToolDefinitionError, match="zoom"):
        WORLD.env([zoom])
