import pytest

from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.section_calls import DEEPSEEK, DEEPSEEK_V3_1, KIMI

CALLS = (ToolCall("f", {"a": 'x <|tool_call_end|> "y"'}, "c0"), ToolCall("g-h", {"b": {"c": [1]}}, "c1"))


def text(syntax, content, calls):
    return "".join(piece.text for piece in syntax.write(content, calls))


@pytest.mark.parametrize("syntax", [DEEPSEEK, DEEPSEEK_V3_1, KIMI])
def test_section_calls_are_parsed_as_written(syntax):
    written = text(syntax, "so", CALLS)
    parsed = syntax.read(written)
    pairs = [(call.name, call.arguments) for call in parsed.calls]
    assert pairs == [(call.name, call.arguments) for call in CALLS] and parsed.text == "so" and not parsed.errors
    assert [syntax._layout.call in written[start:stop] for start, stop in parsed.spans] == [True, True]


def test_kimi_keeps_the_sampled_id_of_a_call():
    written = text(KIMI, "", [ToolCall("f", {}, "t2functions.f:7")])
    assert "functions.f:7" in written and KIMI.read(written).calls[0].id == "functions.f:7"
    assert "functions.f:0" in text(KIMI, "", [ToolCall("f", {}, "t2c0")])


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.replace("}<|tool_call_end|>", "<|tool_call_end|>"),
        lambda one: one.replace("<|tool_calls_section_end|>", ""),
        lambda one: one.replace("<|tool_calls_section_begin|>", ""),
        lambda one: one.replace("<|tool_call_argument_begin|>", ""),
        lambda one: "<|tool_calls_section_begin|>",
    ],
)
def test_malformed_section_is_an_error_without_calls(change):
    parsed = KIMI.read(change(text(KIMI, "", [ToolCall("f", {"a": 1}, "c0")])))
    assert len(parsed.errors) == 1 and not parsed.calls


def test_calls_inside_a_thought_are_text():
    inside = f"<think>{text(KIMI, '', [CALLS[1]])}</think>so"
    assert KIMI.read(inside).calls == () and KIMI.read(inside).text == inside
