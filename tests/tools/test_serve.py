import asyncio
import importlib.util
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from handaxe.core.errors import Failed, InputError, Retry, ToolDefinitionError
from handaxe.core.images import Image
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.definition import ToolContext
from handaxe.tools.mcp import mcp
from handaxe.tools.python import python
from handaxe.tools.serve import mcp_server, serve
from handaxe.tools.sql import sql

_spec = importlib.util.spec_from_file_location("test_mcp", Path(__file__).with_name("test_mcp.py"))
helpers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(helpers)
call, close, free_port, listening = helpers.call, helpers.close, helpers.free_port, helpers.listening
PROGRAM = [sys.executable, str(Path(__file__).with_name("servers") / "served.py")]


@tool
def choose(how: str, context: ToolContext) -> str:
    """Reply, or fail in one of the ways there are."""
    if how == "crash":
        raise KeyError("internal secret")
    if how in ("again", "never"):
        raise {"again": Retry, "never": Failed}[how]("because")
    return f"{how} {context.call_id} {context.seed}"


@tool(timeout=0.1, timeout_is="policy")
async def slow() -> str:
    """Never reply."""
    await asyncio.sleep(60)
    return ""


@tool(timeout=0.1)
async def stuck() -> str:
    """Never reply, for no fault of the caller."""
    await asyncio.sleep(60)
    return ""


def talk(tools, work, **options):
    async def session():
        async with Client(mcp_server(tools, **options), mode="legacy") as client:
            return await work(client)

    return asyncio.run(session())


async def texts(client, name, arguments=None, **more):
    result = await client.call_tool(name, arguments or {}, **more)
    return result.is_error, result.content[0].text


def test_listed_schemas_equal_the_tools():
    async def work(client):
        return (await client.list_tools()).tools

    (listed,) = talk([calculator], work)
    assert (listed.name, listed.description) == (calculator.schema.name, calculator.schema.description)
    assert listed.input_schema == calculator.schema.parameters


def test_statuses_become_results_or_protocol_errors(capfd):
    async def work(client):
        found = [await texts(client, "choose", {"how": how}) for how in ("well", "again", "never")]
        found.append(await texts(client, "choose", {"how": 3}))
        found.append(await texts(client, "slow"))
        for name, arguments in [("choose", {"how": "crash"}), ("stuck", {}), ("nothing", {})]:
            with pytest.raises(MCPError) as error:
                await client.call_tool(name, arguments)
            found.append((error.value.code, error.value.message))
        return found

    well, again, never, invalid, late, crash, stuck_, unknown = talk([choose, slow, stuck], work)
    assert well[0] is False and well[1].startswith("well c0 ")
    assert again == (True, "because") and never == (True, "because")
    assert invalid[0] is True and "how" in invalid[1]
    assert late[0] is True and "no reply within" in late[1]
    assert crash[0] == stuck_[0] == types.INTERNAL_ERROR and "internal secret" not in crash[1]
    assert "internal secret" in capfd.readouterr().err
    assert unknown == (types.INVALID_PARAMS, "there is no tool 'nothing'")


def test_tools_that_take_images_by_number_are_refused():
    @tool
    def look(image: Image) -> str:
        """Look."""
        return str(image)

    with pytest.raises(ToolDefinitionError, match=r"tools \['look'\] take images by their numbers in a conversation"):
        mcp_server([calculator, look])


def test_nested_lists_of_tools_are_served(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (v)")

    async def work(client):
        return [one.name for one in (await client.list_tools()).tools], await texts(client, "tables")

    assert talk([sql(tmp_path / "a.db"), (calculator,)], work) == (["query", "tables", "calculator"], (False, "t(v)"))


def lost():
    """Makes nothing here."""
    raise FileNotFoundError("shop.db")


def test_repeated_call_has_the_same_seed():
    async def work(client):
        return [await texts(client, "choose", {"how": "a"}, meta={"handaxe/call_id": id}) for id in ("k1", "k1", "k2")]

    first, again, other = talk([choose], work)
    assert first == again and first[1].split()[2] != other[1].split()[2]


def test_call_ids_and_seeds_reach_the_tools():
    async def work(client):
        first = await texts(client, "choose", {"how": "a"}, meta={"handaxe/call_id": "t1c2"})
        return first[1], (await texts(client, "choose", {"how": "a"}))[1]

    first, second = talk([choose], work, seed=3)
    assert first.split()[1] == "t1c2" and second.split()[1] == "c1"
    assert first.split()[2] != second.split()[2]
    assert talk([choose], work, seed=3) == (first, second) != talk([choose], work, seed=4)


def test_invalid_tools_raise():
    for tools, message in [
        ([calculator, calculator], "several tools"),
        ([lambda: 3], "no tool"),
        (["calculator"], r"^tools\[0\]: 'calculator' is no tool"),
        (
            [calculator, [sql]],
            r"^tools\[1\]\[0\] is handaxe.tools.sql:sql, which needs arguments \(database\).* in your own module",
        ),
        ([python()], "would leak between clients"),
        (
            [lost],
            r"test_serve:lost made no tools but raised FileNotFoundError\('shop.db'\): make the tools in your own",
        ),
    ]:
        with pytest.raises(ToolDefinitionError, match=message):
            mcp_server(tools)
    with pytest.raises(InputError, match="there is no database file"):
        mcp_server([lambda: sql("missing.db")])
    with pytest.raises(InputError, match="workers 0"):
        serve([calculator], workers=0)


# --- over real transports ----------------------------------------------------------------------------------------


def test_stdio_server_answers_the_mcp_tool():
    made = mcp(command=PROGRAM)()
    assert call(made, "count") == ("ok", "1") and call(made, "count") == ("ok", "2")
    assert call(made, "calculator", expression="2*") == (
        "retry",
        "cannot read '2*': write one expression such as 12*(3+4)",
    )
    assert call(made, "crash")[0] == "infra_error"
    close(made)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_stdio_server_keeps_state_for_the_sdk_client(mode):
    """Also one of the newest protocol, whose requests stand each for itself, finds the state of its process."""

    async def work():
        async with Client(StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:]), mode=mode) as client:
            return [await texts(client, "count") for _ in range(2)]

    assert asyncio.run(work()) == [(False, "1"), (False, "2")]


@pytest.fixture(scope="module")
def url():
    port = free_port()
    process = subprocess.Popen([*PROGRAM, str(port)], stderr=subprocess.DEVNULL)
    try:
        listening(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_http_sessions_have_separate_state(url):
    first, second = mcp(url=url)(), mcp(url=url)()
    assert [call(first, "count"), call(first, "count"), call(second, "count")] == [
        ("ok", "1"),
        ("ok", "2"),
        ("ok", "1"),
    ]
    before = int(call(second, "closings")[1])
    close(first)
    assert helpers.becomes_true(lambda: int(call(second, "closings")[1]) == before + 1)
    close(second)


def test_newest_client_gets_a_session_over_http(url):
    async def work():
        async with Client(url, mode="auto") as client:
            return [await texts(client, "count") for _ in range(2)]

    assert asyncio.run(work()) == [(False, "1"), (False, "2")]


def test_oversized_body_is_refused(url):
    made = mcp(url=url)()
    assert call(made, "calculator", expression="1" * 5_000_000)[0] == "infra_error"
    close(made)
    made = mcp(url=url)()
    assert call(made, "count") == ("ok", "1")
    close(made)
