import time
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Message, Task, ToolCall, ToolReply
from handaxe.doctor.finding import Thresholds
from handaxe.doctor.tool_checks import check_failures, check_latency, check_sizes
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.testing.make_records import make_trajectory
from handaxe.tools.decorator import tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.single_turn import single_turn

FORMAT = Compact()


@tool
def good(word: str) -> str:
    """Return a short reply."""
    return f"it is {word}"


@tool
def slow(word: str) -> str:
    """Reply late."""
    time.sleep(0.03)
    return word


@tool
def dead(word: str) -> str:
    """Fail."""
    raise OSError("the index is gone")


@tool
def long(word: str) -> str:
    """Return a megabyte."""
    return word * 10**6


def tried(made, *, name="", calls=1):
    """Trajectory that calls a tool and answers."""
    name = name or made.schema.name

    def speak(task, facts):
        if facts["turn"] < calls:
            return Message("assistant", "", (ToolCall(name, {"word": "a"}),))
        return Message("assistant", "done")

    return demonstrate(tool_chat([made]), Task("t", (Message("user", "?"),)), speak, format=FORMAT)


def test_good_tool_passes():
    one = tried(good)
    assert check_latency([one]).level == "ok"
    assert check_failures([one], [one]).level == "ok"
    found = check_sizes([one], format=FORMAT, context=512)
    assert (found.level, found.figures["tokens"], found.figures["share"]) == ("ok", 7, 7 / 512)


class Alternates(Compact):
    """Refuses two consecutive messages of one role, as the templates of Gemma and Mistral do."""

    def start(self, messages, tools):
        if any(one.role == other.role for one, other in pairwise(messages)):
            raise InputError("roles must alternate")
        return super().start(messages, tools)


def test_template_that_requires_alternating_roles_is_measured():
    assert check_sizes([tried(good)], format=Alternates(), context=512).figures["tokens"] == 7


def test_slow_tool_is_graded_by_seconds():
    limits = Thresholds(seconds=(0.02, 60.0))
    found = check_latency([tried(slow)], [tried(slow, calls=2)], limits=limits)
    assert found.level == "warning" and "'slow'" in found.found and found.figures["p95"] >= 0.03
    assert check_latency([tried(slow)], limits=Thresholds(seconds=(0.001, 0.02))).level == "error"


def test_failing_tool_is_graded_by_share():
    found = check_failures([tried(good), tried(dead)])
    assert found.level == "error" and found.figures["failed"] == 0.5 and "the index is gone" in found.found
    rarely = [*[tried(good, calls=6)] * 4, tried(dead)]
    assert check_failures(rarely).level == "warning"


def test_failed_call_of_the_expert_is_a_warning():
    found = check_failures([tried(good)], [tried(good, name="better")])
    assert found.level == "warning" and "'invalid'" in found.found


def test_policy_without_calls_is_a_warning():
    silent = tried(good, calls=0)
    assert "the policy made no call" in check_failures([silent], [tried(good)]).found
    assert check_failures([silent]).found.startswith("cannot be checked")
    assert check_latency([silent]).level == check_sizes([silent], format=FORMAT, context=9).level == "warning"


def test_world_without_tools_is_ok():
    one = demonstrate(
        tool_chat([]), Task("t", (Message("user", "?"),)), lambda *_: Message("assistant", "x"), format=FORMAT
    )
    assert check_failures([one]).level == "ok"
    assert check_latency([one]).found == "no tool is offered"
    assert check_sizes([one], format=FORMAT, context=9).level == "ok"
    assert check_latency([]).found == "cannot be checked: there is no rollout"


def test_world_that_scores_calls_without_executing_them_is_ok():
    written = demonstrate(
        single_turn([good]),
        Task("t", (Message("user", "?"),)),
        lambda *_: Message("assistant", "", (ToolCall("good", {"word": "a"}),)),
        format=FORMAT,
    )
    assert written.calls and not written.replies
    for check in (check_latency, check_failures, partial(check_sizes, format=FORMAT, context=9)):
        assert (found := check([written], [written])).level == "ok" and "scores the calls themselves" in found.found
        assert (found := check([written])).level == "warning" and "--max-turns" in found.remedy


def test_tool_that_returns_a_megabyte_is_an_error():
    replies = [tried(long)]
    found = check_sizes(replies, format=FORMAT, context=512)
    assert found.level == "error" and "were cut" in found.found and found.figures["share"] > 10
    assert "'long'" in found.remedy and "max_chars" in found.remedy
    assert check_sizes(replies, format=FORMAT, context=10**6).level == "warning"  # since a reply was cut


@pytest.mark.parametrize(("context", "level"), [(100, "ok"), (20, "warning"), (8, "error")])
def test_longest_reply_is_graded_by_its_share_of_the_context(context, level):
    assert check_sizes([tried(good)], format=FORMAT, context=context).level == level


def test_tools_with_images_are_sized():
    """In words where the format has no images, by image tokens where it has."""
    image = Image.of(np.zeros((2, 3, 3), np.uint8))
    reply = ToolReply("0-0", "look", PLACEHOLDER, images=(image,))
    one = make_trajectory(calls=[["look"], []], replies=[[reply], []])
    words = check_sizes([one], format=Compact(), context=1000)
    assert words.figures["calls"] == 1 and words.figures["tokens"] == len("[image 3x2]")
    seen = check_sizes([one], format=Transcript(), context=1000)
    assert seen.figures["tokens"] == len("[image 3x2]") + 1
    assert check_failures([one]).level == "ok"
