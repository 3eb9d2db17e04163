import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from handaxe.core.errors import TaskError
from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.mixed_r1.arithmetic_and_charts import PARTS, arithmetic_and_charts, score_parts
from handaxe.rewards.token_f1 import token_f1
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

FORMAT = Compact(TinyImageProcessor(8))
WORLD = arithmetic_and_charts()


def played(task, expert=WORLD.expert):
    return demonstrate(WORLD.env(WORLD.tools), task, expert, format=FORMAT)


def test_arithmetic_and_charts_keeps_the_world_contract():
    check_world(WORLD, count=20)


def test_parts_alternate_and_two_of_them_have_tools():
    tasks = WORLD.tasks("train", 11, 0)
    assert [task.metadata["part"] for task in tasks] == [*PARTS, *PARTS, PARTS[0]]
    for task in tasks:
        env = WORLD.env(WORLD.tools)(task)
        tools = {"sums": ["calculator"], "number": ["zoom"]}.get(task.metadata["part"], [])
        assert [tool.name for tool in env.start()[1]] == tools
        env.close()


def test_metrics_count_their_part_only():
    tops, bottoms = {"iou": [], "words": []}, {"iou": [], "words": []}
    for task in WORLD.tasks("train", 5, 0):
        one = played(task)
        assert WORLD.correct(Group(task, (one,))).outcome[0] == 1
        for name, gauge in WORLD.gauges.items():
            tops[name].append(gauge.top(one, 1.0))
            bottoms[name].append(gauge.bottom(one, 1.0))
    assert tops == {"iou": [0, 0, 0, 1, 0], "words": [0, 0, 0, 0, 7]}
    assert bottoms == {"iou": [0, 0, 0, 1, 0], "words": [0, 0, 0, 0, 1]}


def test_each_part_is_scored_by_its_rule():
    reward = score_parts(words=token_f1())
    tasks = dict(zip(PARTS, WORLD.tasks("train", 5, 0)))
    left, top, right, bottom = tasks["box"].metadata["gold"]
    value = int(tasks["number"].answer)
    said = {
        "sums": [("1", 0)],
        "choice": [("z", 0), (tasks["choice"].answer, 1)],
        "number": [(str(value + value // 20), 1), (str(value + value // 10 + 1), 0)],
        "box": [(f"{left} {top} {right - 1} {bottom}", 0.5), ("a", 0)],
        "words": [("a bar", 1 / 3)],  # one of five words, without articles
    }
    for part, answers in said.items():
        for text, worth in answers:
            one = played(tasks[part], lambda task, facts, text=text: Message("assistant", text))
            assert reward(Group(one.task, (one,))).outcome.tolist() == pytest.approx([worth]), part


def test_an_empty_task_list_raises():
    with pytest.raises(TaskError, match="empty"):
        WORLD.tasks("train", 0, 0)
