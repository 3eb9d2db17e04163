import time
from functools import partial
from itertools import pairwise

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.doctor.finding import Thresholds
from handaxe.doctor.replies import check_failures, check_latency, check_sizes
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.compact import Compact
from handaxe.tools.decorator import tool
from handaxe.worlds.calls import deciding
from handaxe.worlds.parts.demonstrate import demonstrate

FORMAT = Compact()


@tool
def good(word: str) -> str:
    """Say it."""
    return f"it is {word}"


@tool
def slow(word: str) -> str:
    """Say it late."""
    time.sleep(0.03)
    return word


@tool
def dead(word: str) -> str:
    """Fail."""
    raise OSError("the index is gone")


@tool
def long(word: str) -> str:
    """Say a megabyte."""
    return word * 10**6


def tried(made, *, name="", calls=1):
    """What comes of calling a tool, and answering."""
    name = name or made.schema.name

    def speak(task, facts):
        if facts["turn"] < calls:
            return Message("assistant", "", (ToolCall(name, {"word": "a"}),))
        return Message("assistant", "done")

    return demonstrate(tool_chat([made]), Task("t", (Message("user", "?"),)), speak, format=FORMAT)


def test_a_good_tool():
    one = tried(good)
    assert check_latency([one]).level == "ok"
    assert check_failures([one], [one]).level == "ok"
    found = check_sizes([one], format=FORMAT, context=512)
    assert (found.level, found.figures["tokens"], found.figures["share"]) == ("ok", 7, 7 / 512)


class Alternates(Compact):
    """Refuses two messages of one speaker in a row, as the templates of Gemma and Mistral do."""

    def start(self, messages, tools):
        if any(one.role == other.role for one, other in pairwise(messages)):
            raise InputError("roles must alternate")
        return super().start(messages, tools)


def test_a_template_that_wants_speakers_to_alternate():
    assert check_sizes([tried(good)], format=Alternates(), context=512).figures["tokens"] == 7


def test_a_slow_tool():
    limits = Thresholds(seconds=(0.02, 60.0))
    found = check_latency([tried(slow)], [tried(slow, calls=2)], limits=limits)
    assert found.level == "look" and "'slow'" in found.found and found.figures["p95"] >= 0.03
    assert check_latency([tried(slow)], limits=Thresholds(seconds=(0.001, 0.02))).level == "wrong"


def test_a_tool_that_fails():
    found = check_failures([tried(good), tried(dead)])
    assert found.level == "wrong" and found.figures["failed"] == 0.5 and "the index is gone" in found.found
    rarely = [*[tried(good, calls=6)] * 4, tried(dead)]
    assert check_failures(rarely).level == "look"


def test_a_tool_that_the_expert_calls_in_vain():
    found = check_failures([tried(good)], [tried(good, name="better")])
    assert found.level == "look" and "'invalid'" in found.found


def test_a_policy_that_calls_nothing():
    silent = tried(good, calls=0)
    assert "the policy itself called none" in check_failures([silent], [tried(good)]).found
    assert check_failures([silent]).found.startswith("cannot be checked")
    assert check_latency([silent]).level == check_sizes([silent], format=FORMAT, context=9).level == "look"


def test_no_tool_at_all():
    one = demonstrate(
        tool_chat([]), Task("t", (Message("user", "?"),)), lambda *_: Message("assistant", "x"), format=FORMAT
    )
    assert check_failures([one]).level == "ok"
    assert check_latency([one]).found == "no tool is offered"
    assert check_sizes([one], format=FORMAT, context=9).level == "ok"
    assert check_latency([]).found == "cannot be checked: there is no attempt"


def test_calls_that_are_judged_and_not_carried_out():
    written = demonstrate(
        deciding([good]),
        Task("t", (Message("user", "?"),)),
        lambda *_: Message("assistant", "", (ToolCall("good", {"word": "a"}),)),
        format=FORMAT,
    )
    assert written.calls and not written.replies
    for check in (check_latency, check_failures, partial(check_sizes, format=FORMAT, context=9)):
        assert (found := check([written], [written])).level == "ok" and "judges them as they stand" in found.found
        assert (found := check([written])).level == "look" and "--max-turns" in found.remedy


def test_a_tool_that_returns_a_megabyte():
    replies = [tried(long)]
    found = check_sizes(replies, format=FORMAT, context=512)
    assert found.level == "wrong" and "were cut" in found.found and found.figures["share"] > 10
    assert "'long'" in found.remedy and "max_chars" in found.remedy
    assert check_sizes(replies, format=FORMAT, context=10**6).level == "look"  # for what was cut


@pytest.mark.parametrize(("context", "level"), [(100, "ok"), (20, "look"), (8, "wrong")])
def test_the_share_of_the_context(context, level):
    assert check_sizes([tried(good)], format=FORMAT, context=context).level == level
