from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.model_calls import FoundCall, join_thought, parsed_turn, split_thought, unprefixed_id


def test_joined_thought_splits_into_its_parts():
    for thought, text in (("hm", "2"), (None, "2"), ("a\n\nb", "")):
        assert split_thought(join_thought(thought, text)) == (thought, text)


def test_own_id_has_no_prefix_of_the_turn():
    assert unprefixed_id(ToolCall("f", {}, "t12functions.f:3")) == "functions.f:3"
    assert unprefixed_id(ToolCall("f", {}, "c0")) == "c0"


def test_repeated_call_ids_are_replaced():
    found = [FoundCall(ToolCall("f", {}, "same"), 0, 1), FoundCall(ToolCall("g", {}, "same"), 1, 2)]
    assert [call.id for call in parsed_turn("xy", "", found).calls] == ["c0", "c1"]
