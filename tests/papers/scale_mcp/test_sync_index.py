import json

import pytest
from helpers.count_words import count_words
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.records import ToolSchema
from handaxe.papers.scale_mcp.mcp_store import schema_entry
from handaxe.papers.scale_mcp.sync_index import SyncedIndex, plan_changes, tool_hash
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.tool_documents import tool_document

pytest.importorskip("bm25s")


def schema(name, text="does it"):
    return ToolSchema(name, text, {"type": "object", "properties": {"a": {"type": "integer"}}})


def index_of(embed):
    return SyncedIndex(LiveIndex(TextVectors(embed)), lambda one: tool_document(schema_entry(one)))


def test_changes_equal_the_worked_example():
    found = plan_changes({"a": "h1", "b": "h2"}, {"a": "h1", "b": "h3", "c": "h4"})
    assert found == (("c",), ("b",), ()) and found.written == 2
    assert plan_changes({"a": "h1"}, {}) == ((), (), ("a",))


def test_hash_reads_name_description_and_parameters():
    one = schema("x")
    turned = ToolSchema("x", "does it", json.loads(json.dumps(dict(reversed(one.parameters.items())))))
    assert tool_hash(one) == tool_hash(turned)
    others = [schema("y"), schema("x", "else"), ToolSchema("x", "does it", {"type": "object"})]
    assert len({tool_hash(other) for other in (one, *others)}) == 4


@settings(deadline=None, max_examples=25)
@given(st.lists(st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["one", "two", "three"])), max_size=6))
def test_index_equals_the_server_after_any_history(history):
    def embed(texts):
        raise AssertionError("no ranking, no vectors")

    synced = index_of(embed)
    for state in history:
        listed = [schema(name, text) for name, text in state.items()]
        changes = synced.sync(listed)
        assert synced.mismatches(listed) == 0 and synced.sync(listed) == ((), (), ())
        assert {name: one.description for name, one in synced.index.documents.items()} == state
        assert synced.schemas.keys() == state.keys() and changes.written <= len(state)


def test_unchanged_tools_are_not_embedded_again():
    synced = index_of(count_words)
    vectors = synced.index._query_vectors
    synced.sync([schema("a", "one"), schema("b", "two")])
    synced.index.rank("one", 1)
    before = vectors.computed
    synced.sync([schema("a", "one"), schema("c", "three")])
    assert synced.index.rank("three", 1) == ["c"] and vectors.computed == before + 2  # a document and a query
