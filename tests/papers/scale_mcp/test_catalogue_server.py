import asyncio
import json

import pytest

pytest.importorskip("mcp")
pytest.importorskip("bfcl_eval")

import mcp_types as types  # noqa: E402
from mcp import MCPError  # noqa: E402

from handaxe.papers.scale_mcp.catalogue_server import CatalogueServer  # noqa: E402
from handaxe.worlds.toolbox.catalogue import stub_value  # noqa: E402


def write(path, names):
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tools = [{"name": name, "description": name, "parameters": parameters, "function": "f"} for name in names]
    path.write_text(json.dumps(tools))


def listed(server):
    names, cursor = [], None
    while True:
        page = asyncio.run(server.list(None, types.PaginatedRequestParams(cursor=cursor)))
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


def test_the_list_is_that_of_the_file_in_pages(tmp_path):
    server = CatalogueServer(tmp_path / "tools.json")
    for names in ([f"t{k}" for k in range(250)], ["other"], []):
        write(tmp_path / "tools.json", names)
        assert listed(server) == names


def test_calls_are_checked_and_answered_by_the_stub(tmp_path):
    server = CatalogueServer(tmp_path / "tools.json")
    write(tmp_path / "tools.json", ["one"])
    assert server.run("one", {"a": 3}).content == str(stub_value("f", {"a": 3}))
    assert server.run("one", {"a": 3, "b": 4}).status == server.run("one", {}).status == "invalid"
    result = asyncio.run(server.call(None, types.CallToolRequestParams(name="one", arguments={"a": "x"})))
    assert result.is_error
    with pytest.raises(MCPError, match="there is no tool 'two'"):
        server.run("two", {})
