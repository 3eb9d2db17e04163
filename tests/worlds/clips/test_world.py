import importlib.util

import numpy as np
import pytest

pytest.importorskip("av")
pytest.importorskip("sklearn")
if importlib.util.find_spec("skvideo") is None:
    pytest.skip("scikit-video is missing", allow_module_level=True)

from handaxe.core.errors import InputError, TaskError, ToolDefinitionError  # noqa: E402
from handaxe.core.records import Ending, Group, Message, ToolCall  # noqa: E402
from handaxe.models.chat_formats.compact import Compact  # noqa: E402
from handaxe.models.tiny_image_processor import TinyImageProcessor  # noqa: E402
from handaxe.testing.worlds import check_world  # noqa: E402
from handaxe.tools.decorator import tool  # noqa: E402
from handaxe.worlds.clips.views import seen_windows  # noqa: E402
from handaxe.worlds.clips.world import clips, window_iou  # noqa: E402
from handaxe.worlds.parts.demonstrate import demonstrate  # noqa: E402

FORMAT = Compact(TinyImageProcessor(8))
WORLD = clips(grounding=0.4)


def task_of(family="read", world=WORLD):
    return next(task for task in world.tasks("train", 60, 0) if task.metadata["family"] == family)


def played(task, expert=None, world=WORLD):
    return demonstrate(world.env(()), task, expert or world.expert, format=FORMAT)


def viewing(*calls, answer=None):
    """A policy with these views, one per turn, and then an answer."""

    def expert(task, facts):
        if facts["turn"] < len(calls):
            name, text = calls[facts["turn"]]
            return Message("assistant", "", (ToolCall(name, {"window" if name == "frames" else "span": text}),))
        return Message("assistant", str(task.answer) if answer is None else answer)

    return expert


def correct(one):
    return WORLD.correct(Group(one.task, (one,))).outcome[0]


def gauge(name, one):
    return WORLD.gauges[name].top(one, 0.0), WORLD.gauges[name].bottom(one, 0.0)


@pytest.mark.parametrize("arguments", [{}, {"grounding": 0.5, "loose": 3}])
def test_clips_keeps_the_world_contract(arguments):
    check_world(clips(**arguments), count=12)


def test_the_expert_searches_and_then_crops():
    task = task_of()
    assert task.messages[0].content == "red?\ufffc" and len(task.messages[0].images) == 1
    one = played(task)
    assert [call.name for call in one.calls] == ["frames", "crop_clip"] and one.ending == Ending("completed")
    assert correct(one) == 1 and 0.4 < window_iou(Group(task, (one,))).outcome[0] <= 1
    place = task_of("at")
    assert place.messages[0].content == "red at?\ufffc" and not played(place).calls and correct(played(place)) == 1
    assert place.answer in ("8", "24", "40", "56")
    when = task_of("when")
    assert when.messages[0].content == "red when?\ufffc" and [c.name for c in played(when).calls] == ["frames"]


def test_the_expert_sees_the_card_in_its_window_of_any_task():
    for task in WORLD.tasks("train", 60, 1):
        if task.metadata["family"] != "at":
            one = played(task)
            start, stop = seen_windows(one)[-1].window
            middle = (start + stop) // 2
            low, high = task.metadata["gold"]
            assert task.metadata["family"] == "when" or low <= middle < high
            assert correct(one) == 1


def test_loose_widens_the_window_of_the_expert():
    tight, loose = clips(), clips(loose=4)
    widths = []
    for task in tight.tasks("train", 30, 0):
        if task.metadata["family"] == "read":
            (a, b), (c, d) = (seen_windows(played(task, world=world))[-1].window for world in (tight, loose))
            assert max(0, a - 4) <= c <= a and b <= d <= min(64, b + 4)
            widths.append(d - c - (b - a))
    assert 2 < np.mean(widths) < 6


def test_an_interval_is_correct_if_it_overlaps_by_half():
    """Of a card of n frames: its first half has IoU 1/2, less one frame has less."""
    task = task_of("when")
    start, stop = task.metadata["gold"]
    half = start + (stop - start + 1) // 2
    for text, score in ((f"{start} {stop}", 1), (f"{start} {half}", 1), (f"{start} {start + 2}", 0), ("0 64", 0)):
        assert correct(played(task, viewing(answer=text))) == score
    for text in ("", str(start), f"{stop} {start}", f"{start} {stop} 4", "a b"):
        assert correct(played(task, viewing(answer=text))) == 0


def test_the_last_window_is_compared_with_the_event():
    """IoU of [0, 64) and the event of n frames is n / 64."""
    task = task_of()
    start, stop = task.metadata["gold"]
    tight, whole = ("crop_clip", f"{start} {stop}"), ("frames", "0 64")
    assert gauge("iou", played(task, viewing(whole, tight))) == (1, 1)
    assert gauge("iou", played(task, viewing(tight, whole))) == (pytest.approx((stop - start) / 64), 1)
    assert gauge("iou", played(task, viewing())) == (0, 1) and gauge("iou", played(task_of("at"))) == (0, 0)
    assert gauge("width", played(task, viewing(whole))) == (64, 1)
    assert gauge("second_look", played(task, viewing(whole, tight))) == (1, 1)
    assert gauge("second_look", played(task, viewing(whole))) == (0, 1)
    assert gauge("second_look", played(task, viewing(tight))) == (0, 0)
    assert gauge("looked", played(task, viewing())) == (0, 1)


def test_the_expert_looks_if_unsure():
    facts = {"turn": 0, "replies": [], "statuses": [], "tools": ["frames", "crop_clip"], "sure": False}
    assert WORLD.expert(task_of("at"), facts).calls and not WORLD.expert(task_of("at"), {**facts, "turn": 1}).calls
    assert WORLD.expert(task_of(), {**facts, "tools": []}).content == task_of().answer


@pytest.mark.parametrize("needed, grounding", [(0.0, 0.5), (0.3, 0.0), (1.0, 0.5)])
def test_shares_of_questions(needed, grounding):
    tasks = clips(needed=needed, grounding=grounding).tasks("train", 200, 0)
    families = [task.metadata["family"] for task in tasks]
    assert 1 - families.count("at") / 200 == pytest.approx(needed, abs=0.08)
    assert families.count("when") / 200 == pytest.approx(needed * grounding, abs=0.08)


def test_no_frame_of_the_answer_is_more_frequent_than_chance_allows():
    """The best constant answer: one number in a hundred, one interval in many, one frame in four."""
    tasks = clips(grounding=0.5).tasks("test", 400, 1)
    for family, most in (("read", 0.05), ("when", 0.05), ("at", 0.4)):
        answers = [task.answer for task in tasks if task.metadata["family"] == family]
        assert np.unique(answers, return_counts=True)[1].max() / len(answers) < most


def test_tools_of_the_user_are_offered_too_and_a_taken_name_raises_early():
    @tool
    def note(text: str) -> str:
        """Write a note."""
        return text

    assert [one.name for one in WORLD.env([note])(task_of()).start()[1]] == ["frames", "crop_clip", "note"]

    @tool
    def frames(window: str) -> str:
        """Show."""
        return window

    with pytest.raises(ToolDefinitionError, match="frames"):
        WORLD.env([frames])


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="needed of 0 to 1, not 2"):
        clips(needed=2)
    with pytest.raises(InputError, match="grounding of 0 to 1, not -1"):
        clips(grounding=-1)
    with pytest.raises(InputError, match="loose is 65"):
        clips(loose=65)
    with pytest.raises(TaskError, match="0 tasks is empty"):
        WORLD.tasks("train", 0, 0)
    with pytest.raises(InputError, match="split must be train or test"):
        WORLD.tasks("validation", 1, 0)
