import asyncio
import importlib.util
import threading
from pathlib import Path

import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.tools.mcp_session import McpSession, Server

_spec = importlib.util.spec_from_file_location("test_mcp", Path(__file__).with_name("test_mcp.py"))
helpers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(helpers)


def session(mode, **options):
    return McpSession(Server(tuple(helpers.raw(mode))), **{"startup": 30.0, **options})


def test_session_closed_during_startup_fails():
    waiting = session("mute", startup=60.0)
    waiting.close()
    with pytest.raises(InfrastructureError, match="gives no session"):
        waiting.wait()
    assert not waiting.usable and (waiting.pid is None or helpers.dies(waiting.pid))


def test_close_is_thread_safe():
    open_ = session("plain").wait()
    threads = [threading.Thread(target=open_.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads) and helpers.dies(open_.pid)


def test_calls_from_several_event_loops_are_answered():
    open_ = session("meta").wait()
    heard = []

    def talk(name):
        heard.append((name, asyncio.run(open_.call("plain", {}, name))))

    threads = [threading.Thread(target=talk, args=(f"t{k}",)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(heard) == 8 and all(f'"{name}"' in said for name, said in heard)
    open_.close()


@pytest.mark.slow
def test_closing_ends_a_running_call():
    open_ = McpSession(Server(tuple(helpers.stateful())), startup=60.0).wait()
    failed = []

    def talk():
        try:
            asyncio.run(open_.call("hang", {"seconds": 600}, "c0"))
        except InfrastructureError as error:
            failed.append(error)

    thread = threading.Thread(target=talk)
    thread.start()
    thread.join(0.5)
    open_.close()
    thread.join(30)
    assert len(failed) == 1


def test_repr_hides_secrets():
    server = Server(("run", "me"), env={"KEY": "s3cret"}, headers={"Authorization": "s3cret"})
    assert repr(server) == "MCP server run me"
    assert "s3cret" not in repr(Server(url="http://a/mcp", headers={"Authorization": "s3cret"}))


def test_list_again_lists_the_tools_of_now_until_the_session_ends():
    open_ = session("plain").wait()
    first = [tool.name for tool in open_.tools]
    assert first and [tool.name for tool in open_.list_again()] == first == [tool.name for tool in open_.tools]
    open_.close()
    with pytest.raises(InfrastructureError, match="the session is over"):
        open_.list_again()
