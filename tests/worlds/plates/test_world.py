import random

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError
from handaxe.core.images import message_images
from handaxe.core.records import Ending, Group, Message, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.seeds import derive_seed
from handaxe.testing.worlds import check_world
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.plates.scene import SHOWN, UNIT, Plate, canvas, draw_plates, handwriting, overview
from handaxe.worlds.plates.world import last_zoom, plates, zoom_iou

pytest.importorskip("sklearn")
pytest.importorskip("PIL")

FORMAT = Compact(TinyImageProcessor(8))
WORLD = plates()


def task_of(needs="yes", number=0):
    return [task for task in WORLD.tasks("train", 40, 0) if task.metadata["needs_tool"] == needs][number]


def played(task, expert=None, world=WORLD):
    return demonstrate(world.env(()), task, expert or world.expert, format=FORMAT)


def zooming(*boxes, answer=None):
    """A policy with these zooms, one per turn, and then an answer."""

    def expert(task, facts):
        if facts["turn"] < len(boxes):
            return Message("assistant", "", (ToolCall("zoom", {"box": boxes[facts["turn"]]}),))
        return Message("assistant", str(task.answer) if answer is None else answer)

    return expert


def gold(task):
    return " ".join(map(str, task.metadata["gold"]))


def scene_of(task):
    return tuple(Plate(*one[:3], tuple(one[3]), tuple(one[4])) for one in task.metadata["plates"])


def original(task):
    return canvas(scene_of(task))


def right(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


def overlap(one):
    return zoom_iou(Group(one.task, (one,))).outcome[0]


def gauge(name, one):
    return WORLD.gauges[name].top(one, 0.0), WORLD.gauges[name].bottom(one, 0.0)


def test_plates_keeps_the_world_contract():
    check_world(WORLD, count=12)


def test_plates_matches_its_example():
    task = task_of()
    assert task.messages[0].content == "red?\ufffc" and len(task.messages[0].images) == 1
    one = played(task)
    assert one.calls[0].arguments == {"box": gold(task)} and one.final_text == task.answer
    assert one.ending == Ending("completed") and right(one) == 1
    place = task_of("no")
    assert place.messages[0].content == "red at?\ufffc"
    assert place.answer == " ".join(map(str, place.metadata["gold"][:2])) and not played(place).calls


def test_a_seed_gives_the_same_digests_and_another_seed_others():
    one, again, other = (WORLD.tasks("train", 5, seed) for seed in (0, 0, 1))

    def digests(tasks):
        return [image.digest for task in tasks for image in task.messages[0].images]

    assert digests(one) == digests(again) and not set(digests(one)) & set(digests(other))


def test_a_zoom_shows_the_part_of_the_original():
    task = task_of()
    one = played(task, zooming(gold(task), "0 0 8 8", "1 0 8 3"))
    left, top, right, bottom = (UNIT * side for side in task.metadata["gold"])
    whole = original(task)
    shown = [reply.images[0] for reply in one.replies]
    assert shown[0] == whole.crop((left, top, right, bottom), longest=SHOWN)
    assert shown[1] == whole.resized(SHOWN) != task.messages[0].images[0]
    assert (shown[2].width, shown[2].height) == (32, 14)
    detail = np.abs(np.diff(shown[0].pixels.astype(int), axis=1)).max()
    blocks = np.abs(np.diff(task.messages[0].images[0].pixels[:4, :4].astype(int), axis=1)).max()
    assert detail > 50 and blocks == 0


@pytest.mark.parametrize("width", range(1, 9))
def test_every_shape_of_a_zoom_becomes_tokens(width):
    task = task_of()
    one = played(task, zooming(*(f"0 0 {width} {height}" for height in range(1, 9))))
    assert [reply.status for reply in one.replies] == ["ok"] * 8
    assert max(len(FORMAT.image_processor.token_ids(image)) for image in message_images(one.messages)) == 16


BAD = ["4 4 2 6", "0 0 9 8", "0 0 0 8", "1 2 3", "1 2 3 4 5", "nan 0 1 1", "", "0.5 0 1 1", "-1 0 2 2", "\u0661 0 2 2"]


@pytest.mark.parametrize("box", BAD)
def test_invalid_boxes_are_rejected_and_not_counted(box):
    task = task_of()
    one = played(task, zooming(box))
    assert one.replies[0].status == "retry" and "0 to 8" in one.replies[0].content and not one.replies[0].images
    assert last_zoom(one) is None and gauge("looked", one) == (0, 1) and gauge("iou", one) == (0, 1)
    assert last_zoom(played(task, zooming("0 0 4 4", box))) == (0, 0, 4, 4)


def test_the_last_zoom_is_compared_with_the_plate():
    task = task_of()
    left, top, right_, bottom = task.metadata["gold"]
    assert overlap(played(task, zooming("0 0 8 8", gold(task)))) == 1
    assert overlap(played(task, zooming("0 0 8 8"))) == pytest.approx(4 / 64)
    assert overlap(played(task, zooming(f"{left} {top} {left + 1} {bottom}"))) == 0.5
    assert overlap(played(task, zooming())) == 0


def test_a_needless_zoom_counts_as_looked_and_not_in_iou():
    task = task_of("no")
    one = played(task, zooming(gold(task)))
    assert gauge("iou", one) == (0, 0) and gauge("looked", one) == (1, 1) and right(one) == 1


def test_the_expert_zooms_if_unsure():
    facts = {"turn": 0, "replies": [], "statuses": [], "tools": ["zoom"], "sure": False}
    assert WORLD.expert(task_of("no"), facts).calls and not WORLD.expert(task_of("no"), {**facts, "turn": 1}).calls
    assert WORLD.expert(task_of(), {**facts, "tools": []}).content == task_of().answer


@pytest.mark.parametrize("needed", [0.0, 0.3, 1.0])
def test_needed_is_the_share_of_questions_for_the_tool(needed):
    tasks = plates(needed=needed).tasks("train", 300, 0)
    assert sum(task.metadata["needs_tool"] == "yes" for task in tasks) / 300 == pytest.approx(needed, abs=0.08)


def test_numbers_are_spread_evenly():
    """The best constant answer is correct once in a hundred times."""
    tasks = plates(needed=1.0).tasks("test", 600, 1)
    assert np.unique([task.answer for task in tasks], return_counts=True)[1].max() / 600 < 0.03


def test_a_common_number_makes_guesses_correct():
    tasks = plates(common=0.6).tasks("test", 400, 1)
    asked = [task for task in tasks if task.metadata["needs_tool"] == "yes"]
    assert np.mean([task.answer == "17" for task in asked]) == pytest.approx(0.6, abs=0.08)
    assert all(scene_of(task)[0].number == task.answer for task in asked)
    others = [plate.number for task in asked for plate in scene_of(task)[1:]]
    assert np.mean([number == "17" for number in others]) < 0.05
    used = {index for task in asked for index in scene_of(task)[0].digits}
    assert used <= {index for own in handwriting("test").values() for index in own}


def test_the_default_world_is_as_without_the_options():
    task = WORLD.tasks("train", 4, 3)[2]
    scene = tuple(draw_plates(_after_kind("train", 3, 2), "train"))
    assert scene_of(task) == scene and overview(scene) == task.messages[0].images[0]


def _after_kind(split, seed, number):
    """The random numbers of a task, after the draw of its kind."""
    rng = random.Random(derive_seed("plates", split, seed, number))
    rng.random()
    return rng


def test_the_expert_guesses_in_a_share_of_the_questions():
    world = plates(needed=1.0, guessed=0.4)
    runs = [played(task, world=world) for task in world.tasks("train", 150, 0)]
    assert np.mean([not one.calls for one in runs]) == pytest.approx(0.4, abs=0.12)
    assert all(right(one) == 1 for one in runs)


def test_without_the_tool_nothing_is_offered():
    world = plates(zoom=False)
    one = played(task_of(), world=world)
    assert not one.tools and one.final_text == one.task.answer
    called = played(task_of(), zooming(gold(task_of())), world=world)
    assert called.replies[0].status == "invalid"


def test_tools_of_the_user_are_offered_too_and_a_taken_name_raises_early():
    @tool
    def note(text: str) -> str:
        """Write a note."""
        return text

    assert [schema.name for schema in WORLD.env([note])(task_of()).start()[1]] == ["zoom", "note"]

    @tool
    def zoom(box: str) -> str:
        """Zoom."""
        return box

    with pytest.raises(ToolDefinitionError, match="zoom"):
        WORLD.env([zoom])


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="needed of 0 to 1, not 2"):
        plates(needed=2)
    for options in ({"common": -0.1}, {"guessed": 1.5}):
        with pytest.raises(InputError, match="common and guessed of 0 to 1"):
            plates(**options)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)
    with pytest.raises(InputError, match="split must be train or test"):
        WORLD.tasks("validation", 1, 0)
