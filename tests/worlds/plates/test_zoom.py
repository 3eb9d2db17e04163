import numpy as np
import pytest

from handaxe.core.errors import ToolDefinitionError
from handaxe.core.images import Image
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.tools.decorator import tool
from handaxe.worlds.plates.zoom import parse_box, zoom_env

pytest.importorskip("PIL")
PIXELS = np.arange(256 * 256 * 3, dtype=np.uint64).astype(np.uint8).reshape(256, 256, 3)
TASK = Task("t", (Message("user", "what?"),), "")


def drawing(drawn):
    def draw(task):
        drawn.append(task.id)
        return Image.of(PIXELS)

    return draw


def stepped(env, box):
    return env.step(ParsedTurn("", (ToolCall("zoom", {"box": box}, "c0"),)), seed=0).replies[0]


def test_a_zoom_is_a_crop_of_the_canvas_of_the_task():
    drawn = []
    env = zoom_env(drawing(drawn))(())(TASK)
    assert [schema.name for schema in env.start()[1]] == ["zoom"] and not drawn
    reply = stepped(env, "2 4 4 6")
    assert drawn == ["t"] and reply.images == (Image.of(PIXELS).crop((64, 128, 128, 192), longest=32),)
    assert stepped(env, "4 4 2 6").status == "retry" and drawn == ["t"]


def test_without_the_tool_only_those_of_the_world_are_offered():
    @tool
    def note(text: str) -> str:
        """Write a note."""
        return text

    names = [
        [schema.name for schema in zoom_env(drawing([]), zoom=zoom)([note])(TASK).start()[1]] for zoom in (True, False)
    ]
    assert names == [["zoom", "note"], ["note"]]


def test_a_second_tool_of_that_name_raises_when_the_factory_is_made():
    @tool
    def zoom(box: str) -> str:
        """Zoom."""
        return box

    with pytest.raises(ToolDefinitionError, match="zoom"):
        zoom_env(drawing([]))([zoom])


@pytest.mark.parametrize(
    ("text", "want"),
    [("0 2 4 6", (0, 2, 4, 6)), (" 0  0 8 8 ", (0, 0, 8, 8)), ("0 0 9 8", None), ("1 1 1 2", None), ("1 2 3", None)],
)
def test_boxes_are_read(text, want):
    assert parse_box(text) == want
