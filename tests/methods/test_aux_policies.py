"""Auxiliary policies named on the command line."""

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.methods.aux_policies import load_aux_policies


def test_entries_load_models_and_models_of_chat_servers():
    found = load_aux_policies(["user=tiny", "critic=http://127.0.0.1:9/v1#small"], max_tokens=7)
    assert isinstance(found["user"].engine, LocalEngine) and isinstance(found["critic"].engine, OpenAICompatible)
    assert [one.sampling.max_tokens for one in found.values()] == [7, 7]


@pytest.mark.parametrize(
    "entries, words",
    [
        (["user"], "write NAME=MODEL"),
        (["=tiny"], "write NAME=MODEL"),
        (["user=http://127.0.0.1:9/v1"], "ADDRESS#MODEL"),
        (["user=tiny", "user=tiny"], "two entries are named 'user'"),
    ],
)
def test_malformed_entry_raises_with_the_form(entries, words):
    with pytest.raises(InputError, match=words):
        load_aux_policies(entries, max_tokens=7)
