import pytest

from handaxe.core.records import ToolCall, ToolSchema
from handaxe.models.chat_formats.glm_calls import GlmCalls

TOOL = ToolSchema("f", "", {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}})


def text(content, calls):
    return "".join(piece.text for piece in GlmCalls().write(content, calls))


def test_schema_decides_the_type_of_a_value():
    call = ToolCall("f", {"word": "12", "most": 12, "more": {"a": [None]}}, "c0")
    written = text("<think>\nhm\n</think>\n\nso", [call])
    parsed = GlmCalls().for_tools([TOOL]).read(written)
    assert (parsed.text, parsed.calls) == ("<think>\nhm\n</think>\n\nso", (call,))
    assert GlmCalls().read(written).calls[0].arguments["word"] == 12


def test_empty_thought_is_no_text():
    assert text("so", ()) == "\n<think></think>\nso" and GlmCalls().read(text("so", ())).text == "so"


@pytest.mark.parametrize(
    "turn", ["<tool_call>f", "<tool_call>f\n<arg_key>a</tool_call>", "<tool_call>\n</tool_call>", "so</tool_call>"]
)
def test_malformed_call_is_an_error(turn):
    assert len(GlmCalls().read(turn).errors) == 1 and not GlmCalls().read(turn).calls
