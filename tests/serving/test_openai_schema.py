"""Requests with invalid characters and numbers are refused in one sentence; others are parsed."""

import json
import re

import pytest

pytest.importorskip("starlette")
from handaxe.serving.openai_schema import ApiError, read_request

USER = {"role": "user", "content": "x"}


def read(fields):
    return read_request(json.dumps({"messages": [USER], **fields}).encode(), model="tiny", max_tokens=8)


def calling(arguments):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    return [USER, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": "\ud83d"}]},
        {"messages": [{"role": "user", "content": "a\udc00\ud83d"}]},
        {"stop": ["\udfff"]},
        {"model": "\ud800"},
        {"tools": [{"function": {"name": "f", "description": "\udbff"}}]},
        {"messages": calling('{"a": "\\ud800"}')},
        {"messages": calling('{"\\uDFFF": 1}')},
        {"messages": calling({"a": ["\ud800"]})},
    ],
)
def test_unpaired_surrogate_gets_status_400(fields):
    words = r"the body has half a character, the unpaired surrogate \\ud[89a-f]\w\w; send whole characters"
    with pytest.raises(ApiError) as raised:
        read(fields)
    assert raised.value.status == 400 and re.fullmatch(words, str(raised.value))


@pytest.mark.parametrize("body", [b'{"messages": "\xed\xa0\x80"}', b"\xff", '{"a": 1}'.encode("utf-16")])
def test_body_in_another_encoding_gets_status_400(body):
    with pytest.raises(ApiError, match="the body is not JSON: 'utf-8' codec can't decode") as raised:
        read_request(body, model="tiny", max_tokens=8)
    assert raised.value.status == 400


def test_characters_beyond_16_bits_are_read():
    face = "\U0001f600"
    request = read({"messages": [{"role": "user", "content": face}], "stop": [face]})
    assert request.messages[0].content == face and request.stop == (face,)
    assert read({"messages": calling('{"a": "\\ud83d\\ude00"}')}).messages[1].calls[0].arguments == {"a": face}


@pytest.mark.parametrize("name", ["n", "max_tokens", "max_completion_tokens", "seed", "temperature", "top_p", "top_k"])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beyond_floats_get_status_400(name, sign):
    shown = name.replace("_completion", "")
    with pytest.raises(ApiError, match=rf"^{shown} is -?10+\.\.\. \(\d+ digits\); give ") as raised:
        read({name: sign * 10**400})
    assert raised.value.status == 400 and len(str(raised.value)) < 120


@pytest.mark.parametrize("temperature", [0, 1e-30, 1, 100])
def test_temperatures_that_can_be_sampled_are_read(temperature):
    assert read({"temperature": temperature}).sampling.temperature == temperature


@pytest.mark.parametrize("temperature", [5e-324, 1e-308, 9e-31])
def test_negligible_temperature_gets_status_400(temperature):
    with pytest.raises(ApiError, match=f"temperature is {temperature}; give 0 .greedy., or 1e-30 or more"):
        read({"temperature": temperature})
