"""Small MCP server with state, written with the SDK: `python stateful.py [PORT]`, stdio without a port."""

import asyncio
import os
import sys
from collections import defaultdict

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("stateful")
notes = defaultdict(dict)
cancelled = []
inside, most = [], []


def session(context):
    """Key of a client's notes: the HTTP session, or the only client."""
    request = context.request_context.request
    return "" if request is None else request.headers.get("mcp-session-id", "none")


@server.tool()
def remember(key: str, value: str, context: Context) -> str:
    """Write a note."""
    notes[session(context)][key] = value
    return "noted"


@server.tool()
def recall(context: Context) -> dict:
    """Every note of this session."""
    return notes[session(context)]


@server.tool()
async def hang(seconds: float) -> str:
    """Answer late."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        cancelled.append(seconds)
        raise
    return "at last"


@server.tool()
def cancellations() -> str:
    """List the cancelled calls."""
    return str(cancelled)


@server.tool()
def die(status: int) -> str:
    """Exit in the middle of a call."""
    sys.stderr.write("goodbye, cruel world\n")
    sys.stderr.flush()
    os._exit(status)


@server.tool()
def die_once(flag: str) -> str:
    """Exit, unless the file is there already."""
    if os.path.exists(flag):
        return "alive"
    open(flag, "w").close()
    os._exit(1)


@server.tool()
async def meet(count: int) -> str:
    """Wait for N concurrent calls; returns the largest number of concurrent calls."""
    inside.append(1)
    most.append(len(inside))
    while max(most) < count:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    inside.pop()
    return str(max(most))


@server.tool()
def fail(message: str) -> str:
    """Raise an error."""
    raise ToolError(message)


@server.tool()
def shout(count: int) -> str:
    """A long reply."""
    return "x" * count


@server.tool()
def surroundings() -> str:
    """Working directory, then the names of the environment variables."""
    return "\n".join([os.getcwd(), *sorted(os.environ)])


@server.tool()
def variable(of: str) -> str:
    """The value of an environment variable."""
    return os.environ[of]


@server.tool()
def noise() -> str:
    """Write a line that is no message to the real stdout."""
    os.write(int(os.environ["WIRE"]), b'hello, I am a log line\n\xff\xfe\n{"json": "but no message"}\n')
    return "quiet again"


if __name__ == "__main__":
    os.environ["WIRE"] = str(os.dup(1))
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
