import json

from helpers.count_words import count_words

from handaxe.core.errors import Retry
from handaxe.core.records import ToolSchema
from handaxe.papers.scale_mcp.mcp_store import McpStore, schema_entry
from handaxe.papers.scale_mcp.sync_index import SyncedIndex
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.tool_documents import tool_document


class Listed:
    description = "Area of a circle."
    input_schema = {"type": "object", "properties": {"radius": {"type": "integer"}}}

    def __init__(self, name):
        self.name = name


class Session:
    def __init__(self):
        self.names = ["area"]

    def list_again(self):
        return [Listed(name) for name in self.names]

    async def call(self, name, arguments, call_id):
        if name not in self.names:
            raise Retry(f"there is no tool {name}")
        return f"{name} {arguments} {call_id}"


def store(keep_in_step):
    session = Session()
    synced = SyncedIndex(LiveIndex(TextVectors(count_words)), lambda schema: tool_document(schema_entry(schema)))
    made = McpStore(session, synced, {}.get, keep_in_step=keep_in_step)
    made.sync()
    return session, made


def test_entries_of_schemas_have_the_line_of_a_search_result():
    schema = ToolSchema("area", "Area.", {"type": "object"})
    assert json.loads(schema_entry(schema).shown) == {
        "name": "area",
        "description": "Area.",
        "parameters": {"type": "object"},
    }
    assert schema_entry(schema).document["parameters"]["properties"] == {}


def test_search_synchronizes_only_if_asked():
    for keep_in_step, found in ((True, ["ring"]), (False, ["area"])):
        session, made = store(keep_in_step)
        session.names = ["ring"]
        assert made.store().retrieve("circle", 1) == found
        assert made.mismatches() == (0 if keep_in_step else 2)
        assert json.loads(made.show(found[0]))["name"] == found[0]


def test_calls_go_to_the_server():
    _, made = store(False)
    assert made.call("area", {"radius": 1}).content == "area {'radius': 1} 0"
    gone = made.call("ring", {})
    assert (gone.status, gone.content) == ("invalid", "there is no tool ring")
