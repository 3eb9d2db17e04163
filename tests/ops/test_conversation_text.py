import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import Message, ToolCall
from handaxe.ops.conversation_text import conversation_text

CALL = ToolCall("calculator", {"expression": "12*34"}, "c0")
SAID = [Message("user", "12*34?"), Message("assistant", "", (CALL,)), Message("tool", "408", call_id="c0")]


def test_the_docstring_example():
    assert conversation_text(SAID) == 'user: 12*34?\nassistant: calculator({"expression": "12*34"})\ntool: 408'
    assert conversation_text(SAID[1:2], names={"assistant": "agent"}).startswith("agent: calculator(")
    assert conversation_text([]) == ""


def test_text_stands_before_calls_and_images_have_names():
    two = Message("assistant", "so", (CALL, CALL))
    assert conversation_text([two]) == "assistant: so " + " ".join(['calculator({"expression": "12*34"})'] * 2)
    shown = Message.of("user", "Look: ", Image.of(np.zeros((6, 4, 3), np.uint8)))
    assert conversation_text([shown]) == "user: Look: [image 4x6]"
