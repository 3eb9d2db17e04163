import json

import pytest

from handaxe.asking.conversation_question import conversation_question
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import AuxChat
from handaxe.models.chat_formats.compact import Compact

TASK = Task("t", (Message("user", "12*34?"),))
SAID = (*TASK.messages, Message("assistant", "", (ToolCall("calculator", {"expression": "12*"}),)))
TEXT = 'user: 12*34?\nagent: calculator({"expression": "12*"})'


def chat(context):
    return AuxChat(Compact(), Sampling(max_tokens=20), context)


def test_an_adviser_reads_the_conversation_as_one_quoted_field():
    ask = conversation_question("adviser", "advise")
    short = ask(TASK, SAID, chat(300))
    assert (short.by, [one.content for one in short.messages]) == ("adviser", [f"{json.dumps(TEXT)}\nadvice?"])
    system, long = ask(TASK, SAID, chat(4000)).messages
    assert system.role == "system" and json.dumps(TEXT) in long.content.split("\n")


def test_a_user_reads_the_goal_and_its_own_side():
    names = {"user": "agent", "assistant": "you"}
    ask = conversation_question("user", "user", goal=lambda task: "the product", names=names)
    view = (Message("assistant", "12*34?"), Message("user", "480"))
    (short,) = ask(TASK, view, chat(300)).messages
    assert short.content == 'goal: the product\n"you: 12*34?\\nagent: 480"\nyou? or ###STOP###'
    assert "You want this: the product" in ask(TASK, view, chat(4000)).messages[1].content


def test_a_long_conversation_loses_its_middle():
    (cut,) = conversation_question("adviser", "advise")(TASK, [Message("tool", "x" * 4000)], chat(300)).messages
    assert "characters left out" in cut.content and len(Compact().start((cut,), ()).ids) <= 300 - 20


def test_another_prompt_raises():
    with pytest.raises(InputError, match="step"):
        conversation_question("adviser", "step")(TASK, SAID, chat(4000))
