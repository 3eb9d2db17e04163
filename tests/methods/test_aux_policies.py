"""Engines that a run may ask besides its policy, as they are named on the command line."""

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.methods.aux_policies import speakers


def test_a_model_and_a_chat_server():
    found = speakers(["user=tiny", "critic=http://127.0.0.1:9/v1#small"], max_tokens=7)
    assert isinstance(found["user"].engine, LocalEngine) and isinstance(found["critic"].engine, OpenAICompatible)
    assert [one.sampling.max_tokens for one in found.values()] == [7, 7]


@pytest.mark.parametrize(
    "named, words",
    [
        (["user"], "write NAME=MODEL"),
        (["=tiny"], "write NAME=MODEL"),
        (["user=http://127.0.0.1:9/v1"], "ADDRESS#MODEL"),
        (["user=tiny", "user=tiny"], "it stands twice"),
    ],
)
def test_what_does_not_fit_is_told(named, words):
    with pytest.raises(InputError, match=words):
        speakers(named, max_tokens=7)
