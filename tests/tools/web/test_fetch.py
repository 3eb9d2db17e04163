"""Parts of `exchange` that tests/tools/test_http.py does not cover."""

import time

import pytest

from handaxe.tools.web.allowlist import parse_address
from handaxe.tools.web.fetch import ExchangeError, ForbiddenAddressError, exchange

pytest.importorskip("httpcore")
from helpers import web_server as server_module


@pytest.fixture(scope="module")
def server():
    server = server_module.Server()
    yield server
    server.end()


def ask(url, *, seconds=5.0, max_bytes=1000, private=True):
    end = time.monotonic() + seconds
    return exchange("GET", parse_address(url), end=end, max_bytes=max_bytes, private=private)


def test_exchange_returns_the_response(server):
    answer = ask(f"{server.origin}/hello")
    assert (answer.status, answer.reason, answer.body, answer.cut) == (200, "OK", b"hello", False)
    assert answer.headers == {"content-type": "text/plain", "content-length": "5"}
    assert ask(f"{server.origin}/near").status == 302


def test_body_is_cut_at_max_bytes(server):
    assert ask(f"{server.origin}/hello", max_bytes=5).cut is False
    assert (ask(f"{server.origin}/hello", max_bytes=4).body, ask(f"{server.origin}/hello", max_bytes=4).cut) == (
        b"hell",
        True,
    )
    bomb = ask(f"{server.origin}/bomb", max_bytes=1000)
    assert bomb.body == b"0" * 1000 and bomb.cut


def test_failures_raise_exchange_error(server):
    with pytest.raises(ForbiddenAddressError, match="127.0.0.1"):
        ask(f"{server.origin}/hello", private=False)
    with pytest.raises(ExchangeError, match="in time"):
        ask(f"{server.origin}/hello", seconds=-1)
    with pytest.raises(ExchangeError, match="packed as 'br'"):
        ask(f"{server.origin}/brotli")
    with pytest.raises(ExchangeError):
        ask("http://no-such-host.invalid/")


def test_ipv6_address_is_requested():
    with pytest.raises(ForbiddenAddressError, match="::1"):
        ask("http://[::1]:9/", private=False)
