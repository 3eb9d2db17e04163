import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.noisy_replies import is_noise, noisy_replies
from handaxe.envs.tool_chat import tool_chat
from handaxe.tools import tool
from handaxe.tools.calculator import calculator

TASK = Task("t", (Message("user", "2*3=?"),))
TWO = ParsedTurn("", tuple(ToolCall("calculator", {"expression": f"2*{k}"}, f"c{k}") for k in (3, 4)))


def replied(share, seeds=range(1)):
    found = []
    for seed in seeds:
        env = noisy_replies(tool_chat([calculator]), share=share)(TASK)
        env.start()
        found.append(env.step(TWO, seed=seed))
        assert [one.content for one in found[-1].messages] == [one.content for one in found[-1].replies]
        env.close()
    return found


def test_share_1_replaces_every_reply():
    (reply,) = replied(1.0)
    assert all(is_noise(one.content) and len(one.content) == 16 for one in reply.replies)
    assert [one.status for one in reply.replies] == ["failed", "failed"]
    assert [one.call_id for one in reply.messages] == ["c3", "c4"] and not reply.done
    (plain,) = replied(0.0)
    assert [(one.content, one.status) for one in plain.replies] == [("6", "ok"), ("8", "ok")]


def test_noise_follows_the_share_and_the_seed():
    first, again = replied(0.2, range(300)), replied(0.2, range(300))
    noisy = [is_noise(one.content) for reply in first for one in reply.replies]
    assert 80 < sum(noisy) < 160 and any(a != b for a, b in zip(noisy[::2], noisy[1::2]))
    said = [[one.content for one in reply.replies] for reply in first]
    assert said == [[one.content for one in reply.replies] for reply in again]
    assert len({text for texts in said for text in texts if is_noise(text)}) == sum(noisy)


def test_turn_without_call_completes_the_trajectory():
    env = noisy_replies(tool_chat([calculator]), share=1.0)(TASK)
    env.start()
    assert env.step(ParsedTurn("6"), seed=0).done
    assert not is_noise("6") and not is_noise("")


def test_numbers_out_of_range_raise():
    for wrong in ({"share": 1.5}, {"share": -0.1}, {"length": 0}):
        with pytest.raises(InputError, match="0 to 1"):
            noisy_replies(tool_chat([calculator]), **wrong)


def test_noise_replaces_images_too():
    @tool
    def look() -> list:
        """Look."""
        return ["here: ", Image.of(np.zeros((1, 1, 3), np.uint8))]

    env = noisy_replies(tool_chat([look]), share=1.0)(TASK)
    env.start()
    reply = env.step(ParsedTurn("", (ToolCall("look", {}, "c0"),)), seed=0)
    assert [one.images for one in (*reply.messages, *reply.replies)] == [(), ()]
    assert all(is_noise(one.content) for one in reply.messages)
