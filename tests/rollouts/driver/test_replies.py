import numpy as np
import pytest

from handaxe.core.images import PLACEHOLDER, Image
from handaxe.core.records import Ending, Message, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.rollouts.driver.executor import Answer
from handaxe.rollouts.driver.replies import MOST, make_reply

IMAGE = Image.of(np.zeros((1, 1, 3), np.uint8))
GOOD = EnvReply((Message("tool", "caf\u00e9 \x1b[2J\x00", call_id="c0"),), (ToolReply("c0", "t", "x"),))


def test_valid_replies_pass_unchanged():
    assert make_reply(Answer(GOOD)) is GOOD
    shown = EnvReply((Message.of("tool", "x", IMAGE), Message("tool", PLACEHOLDER)))
    assert make_reply(Answer(shown)) is shown
    ended = EnvReply(done=True, ending=Ending("completed"))
    assert make_reply(Answer(ended)) is ended


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "it is a NoneType, not an EnvReply"),
        ("a text", "it is a str"),
        (((), (), True, None), "it is a tuple"),
        (EnvReply("text"), "its messages and replies are not tuples"),
        (EnvReply(("text",)), "a message is a str"),
        (EnvReply((Message("tool", 7),)), "a message holds a int where text belongs"),
        (EnvReply((Message("tool", "half \ud800"),)), "a message holds half a character"),
        (EnvReply((Message("tool", "", name=b""),)), "a message holds a bytes"),
        (EnvReply((Message("tool", "x" * (MOST + 1)),)), f"a message has {MOST + 1} characters"),
        (EnvReply((), (7,)), "a tool reply is a int"),
        (EnvReply((), (ToolReply("c", "t", "", "fine"),)), "a tool reply is a ToolReply, or has an invalid status"),
        (EnvReply((), (ToolReply("c", "t", None),)), "a tool reply holds a NoneType"),
        (EnvReply((Message("tool", "x", images=(IMAGE,)),)), "a message has 0 placeholders for 1 images"),
        (EnvReply((Message("tool", PLACEHOLDER, images=("x",)),)), "a message has images that are no tuple of Image"),
        (EnvReply((), (ToolReply("c", "t", PLACEHOLDER * 2, images=(IMAGE,)),)), "a tool reply has 2 placeholders"),
        (EnvReply((), (), True, "completed"), "its ending is a str"),
        (EnvReply(facts=[1]), "its facts are a list, not a mapping"),
        (EnvReply(facts={"state": {1, 2}}), "its facts are not JSON: Object of type set"),
        (EnvReply(facts={"text": "x" * MOST}), f"its facts have {MOST + 12} characters"),
    ],
)
def test_invalid_replies_end_as_infra_error(value, why):
    reply = make_reply(Answer(value))
    assert reply.done and reply.ending.kind == "infra_error" and reply.messages == () and why in reply.ending.reason


def test_facts_are_copied_from_the_environment():
    state = {"cells": [0, 0]}
    reply = make_reply(Answer(EnvReply(facts={"state": state})))
    state["cells"][0] = 1
    assert reply.facts == {"state": {"cells": [0, 0]}}


def test_exception_text_is_bounded_and_escaped():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    assert make_reply(Answer(error=OSError("gone"))).ending == Ending("infra_error", "OSError: gone")
    assert make_reply(Answer(error=Mute())).ending == Ending("infra_error", "Mute: ")
    reason = make_reply(Answer(error=OSError("\ud800" * 10**6))).ending.reason
    assert len(reason) < 3000 and reason.encode()
