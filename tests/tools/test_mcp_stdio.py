import asyncio
import sys
import time

import psutil
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from handaxe.core.errors import InfrastructureError
from handaxe.tools.mcp_stdio import StdioServerProcess

ECHO = """
import sys
for line in sys.stdin:
    sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "result": {"heard": ' + str(len(line)) + '}}\\n')
    sys.stdout.flush()
"""


def program(text):
    return StdioServerProcess([sys.executable, "-c", text], env={}, cwd=None)


async def lines(process, *requests):
    """Send requests and return the replies; without requests, all output of the server."""
    heard = []
    async with process.transport() as (incoming, outgoing):
        for request in requests:
            await outgoing.send(SessionMessage(request))
            heard.append((await incoming.receive()).message)
        if not requests:
            async for message in incoming:
                heard.append(message.message)
    return heard


def test_stdio_transport_exchanges_messages_of_a_program():
    (said,) = asyncio.run(lines(program(ECHO), JSONRPCRequest(jsonrpc="2.0", id=1, method="caf\u00e9", params={})))
    assert isinstance(said, JSONRPCResponse) and said.result["heard"] > 20


def test_lines_do_not_depend_on_chunks():
    text = r"""
import sys, time
message = b'{"jsonrpc": "2.0", "id": 1, "result": {"a": "\xc3\xa9"}}\n'
for part in (message[:40], message[40:] + b"no message\n\n" + message + message[:45], message[45:]):
    sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); time.sleep(0.05)
"""
    process = program(text)
    heard = asyncio.run(lines(process))
    assert [message.result for message in heard] == [{"a": "\u00e9"}] * 3
    assert process.last_words().endswith("a line that is no message: 'no message'")


def test_last_words_end_with_stderr():
    process = program("import sys; sys.stderr.write('x' * 100_000 + 'the end'); sys.exit(4)")
    assert asyncio.run(lines(process)) == []
    words = process.last_words()
    assert words.startswith("it exited with status 4") and words.endswith("xthe end") and len(words) < 2_200


def test_last_words_distinguish_signal_and_exit():
    process = program("import os; os.kill(os.getpid(), 11)")
    asyncio.run(lines(process))
    assert process.last_words().startswith("signal 11 ended it")


def test_missing_program_raises():
    for command in (["/no/such/program"], ["a\0b"]):
        with pytest.raises(InfrastructureError, match="cannot be started"):
            asyncio.run(lines(StdioServerProcess(command, env={}, cwd=None)))


def test_given_folder_and_variables_are_used(tmp_path):
    text = "import os, sys; sys.stderr.write(os.getcwd() + ' ' + os.environ['A'])"
    process = StdioServerProcess([sys.executable, "-c", text], env={"A": "1"}, cwd=tmp_path)
    asyncio.run(lines(process))
    assert process.last_words().endswith(f"{tmp_path} 1") and tmp_path.exists()


def test_server_is_killed_after_its_relay():
    text = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.kill(os.getppid(), 9); time.sleep(600)"
    process = program(text)
    assert asyncio.run(lines(process)) == []
    for _ in range(1000):
        if not psutil.pid_exists(process.pid) or psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.01)
    raise AssertionError("it lives on")


def test_oversized_message_ends_the_session(monkeypatch):
    monkeypatch.setattr("handaxe.tools.mcp_stdio.MAX_MESSAGE", 2**20)
    process = program("import sys\nwhile True: sys.stdout.write('{' * 2**16)")
    assert asyncio.run(lines(process)) == []
    assert process.last_words() == "it wrote a line of more than 1048576 bytes"


@pytest.mark.slow
def test_server_without_reads_is_ended():
    async def flood(process):
        async with process.transport() as (_, outgoing):
            request = JSONRPCRequest(jsonrpc="2.0", id=1, method="m" * 2**24, params={})
            await outgoing.send(SessionMessage(request))
            await asyncio.sleep(0.5)

    process = program("import time; time.sleep(600)")
    asyncio.run(flood(process))
    assert process.last_words().startswith("signal 15 ended it")
