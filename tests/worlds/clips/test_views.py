import importlib.util

import pytest

pytest.importorskip("av")
pytest.importorskip("sklearn")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is missing", allow_module_level=True)

from handaxe.core.records import Message, ToolCall  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.worlds.clips.film import film_of, sheet  # noqa: E402
from handaxe.worlds.clips.views import SeenWindow, gold_window, last_window, parse_span, seen_windows  # noqa: E402
from handaxe.worlds.clips.world import clips  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = clips()
TASK = next(task for task in WORLD.tasks("train", 20, 0) if task.metadata["family"] == "read")


def played(*calls):
    """A rollout with these calls (tool, argument), one a turn."""

    def expert(task, facts):
        if facts["turn"] < len(calls):
            name, text = calls[facts["turn"]]
            key = "window" if name == "frames" else "span"
            return Message("assistant", "", (ToolCall(name, {key: text}),))
        return Message("assistant", "0")

    return demonstrate(WORLD.env(()), TASK, expert, format=FORMAT)


def test_tools_show_the_sheets_of_their_windows():
    one = played(("frames", "0 64"), ("frames", "8 24 4"), ("frames", "8 24 1"), ("crop_clip", "8 24"))
    film = film_of(TASK.metadata["film"])
    shown = [reply.images[0] for reply in one.replies]
    assert shown[:3] == [sheet(film, 0, 64, 16), sheet(film, 8, 24, 4), sheet(film, 8, 24, 1)]
    assert shown[3] == shown[2]
    seen = [SeenWindow(0, (0, 64), 16), SeenWindow(1, (8, 24), 4), SeenWindow(2, (8, 24), 1), SeenWindow(3, (8, 24), 1)]
    assert seen_windows(one) == seen and last_window(one) == (8, 24)
    assert max(len(FORMAT.image_processor.token_ids(image)) for image in shown) == 16


BAD = ["24 8", "8 8", "0 65", "8", "1 2 3 4", "0 64 5", "0.5 8", "-1 8", "", "nan 8", "\u0661 8", "0 1000"]


@pytest.mark.parametrize("text", BAD)
def test_invalid_windows_are_rejected_and_not_counted(text):
    one = played(("frames", "0 32"), ("frames", text), ("crop_clip", text))
    assert [reply.status for reply in one.replies] == ["ok", "retry", "retry"]
    assert "0 to 64" in one.replies[1].content and not one.replies[1].images
    assert last_window(one) == (0, 32) and parse_span(text) is None


def test_a_crop_takes_no_number_of_frames():
    assert played(("crop_clip", "8 24 4")).replies[0].status == "retry"


def test_without_a_view_there_is_no_window():
    assert last_window(played()) is None and seen_windows(played()) == []


def test_gold_window_is_the_interval_of_the_red_card():
    red = film_of(TASK.metadata["film"]).cards[0]
    assert gold_window(TASK) == (red.start, red.stop)
    assert parse_span("12 20") == (12, 20)
