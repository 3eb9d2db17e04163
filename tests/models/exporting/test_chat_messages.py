from handaxe.core.records import Message, ToolCall
from handaxe.models.exporting.chat_messages import chat_messages, chat_tools
from handaxe.tools.calculator import calculator


def test_chat_messages_have_calls_with_argument_objects():
    call = ToolCall("calculator", {"expression": "1+1"}, "c0")
    question, turn, reply = chat_messages(
        [
            Message("user", "1+1=?"),
            Message("assistant", "", (call,)),
            Message("tool", "2", call_id="c0", name="calculator"),
        ]
    )
    assert question == {"role": "user", "content": "1+1=?"}
    function = {"name": "calculator", "arguments": {"expression": "1+1"}}
    assert turn["tool_calls"] == [{"id": "c0", "type": "function", "function": function}]
    assert reply == {"role": "tool", "content": "2", "tool_call_id": "c0", "name": "calculator"}


def test_chat_tools_have_name_description_and_parameters():
    (made,) = chat_tools([calculator.schema])
    assert made["type"] == "function" and set(made["function"]) == {"name", "description", "parameters"}
    assert made["function"]["name"] == "calculator"
