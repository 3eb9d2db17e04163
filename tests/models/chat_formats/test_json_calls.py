import pytest

from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.json_calls import BareCalls, ListedCalls

CALL = ToolCall("f", {"a": {"b": [1, "}"]}}, "c0")


def text(syntax, content, calls):
    return "".join(piece.text for piece in syntax.write(content, calls))


@pytest.mark.parametrize("syntax", [BareCalls(), BareCalls(start="<|python_start|>", end="<|python_end|>")])
def test_bare_calls_are_parsed_as_written(syntax):
    for content in ("", "so"):
        parsed = syntax.read(text(syntax, content, [CALL, ToolCall("g", {}, "c1")]))
        assert (parsed.text, parsed.calls, parsed.errors) == (content, (CALL, ToolCall("g", {}, "c1")), ())


@pytest.mark.parametrize("answer", ["408", '{"total": 408}', 'the set {"name": 1}', "{x}"])
def test_answer_with_braces_is_no_call(answer):
    parsed = BareCalls().read(answer)
    assert (parsed.text, parsed.calls, parsed.errors) == (answer, (), ())


@pytest.mark.parametrize(
    "turn", ['{"name": "f", "parameters": {', '{"name": 3, "parameters": {}}', '{"name": "f", "parameters": 1}']
)
def test_malformed_bare_call_is_an_error(turn):
    assert len(BareCalls().read(turn).errors) == 1 and not BareCalls().read(turn).calls


def test_listed_calls_keep_a_sampled_id_of_nine_letters():
    syntax = ListedCalls()
    parsed = syntax.read('so[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "9TVuNlzpW"}]')
    assert parsed.calls == (ToolCall("f", {}, "9TVuNlzpW"),) and parsed.text == "so"
    assert '"id": "aTVuNlzpW"' in text(syntax, "", [ToolCall("f", {}, "t1aTVuNlzpW")])


@pytest.mark.parametrize("turn", ["[TOOL_CALLS]", "[TOOL_CALLS][", "[TOOL_CALLS]{}", '[TOOL_CALLS][{"name": 1}]'])
def test_malformed_list_is_an_error(turn):
    assert len(ListedCalls().read(turn).errors) == 1 and not ListedCalls().read(turn).calls
