import asyncio

import pytest

from handaxe.core.errors import InputError
from handaxe.tools.bearer_auth import BearerAuth, check_token, is_loopback

TOKEN = "aB3._~+/-0123456=="


def ask(*authorizations, kind="http", name=b"authorization"):
    """Return the scopes that the protected app received, and the sent messages."""
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(name, value) for value in authorizations]}
    asyncio.run(BearerAuth(app, TOKEN)(scope, None, send))
    return seen, sent


@pytest.mark.parametrize("scheme", [b"Bearer ", b"bearer ", b"BEARER  "])
def test_request_with_token_is_served(scheme):
    assert ask(scheme + TOKEN.encode()) == (["http"], [])
    assert ask(scheme + TOKEN.encode(), name=b"Authorization") == (["http"], [])


@pytest.mark.parametrize(
    "brought",
    [(), (b"",), (b"Bearer",), (b"Bearer ",), (TOKEN.encode(),), (b"Basic " + TOKEN.encode(),),
     (b"Bearer " + TOKEN[:-1].encode(),), (b"Bearer " + TOKEN.encode() + b"x",), (b"Bearer " + TOKEN.lower().encode(),),
     (b"Bearer \xff\x00",), (b"Bearer " + TOKEN.encode(),) * 2],
)  # fmt: skip
def test_request_without_token_gets_401(brought):
    seen, (start, body) = ask(*brought)
    assert seen == [] and start["status"] == 401 and (b"www-authenticate", b"Bearer") in start["headers"]
    assert int(dict(start["headers"])[b"content-length"]) == len(body["body"]) and TOKEN.encode() not in body["body"]


def test_lifespan_passes_and_websocket_is_closed():
    assert ask(kind="lifespan") == (["lifespan"], [])
    assert ask(kind="websocket") == ([], [{"type": "websocket.close", "code": 1008}])


@pytest.mark.parametrize("token", ["", "short", "a" * 15, "a" * 16 + " b", "a" * 20 + "\n", "\u00e9" * 20, "=" * 20])
def test_invalid_token_raises_without_showing_it(token):
    with pytest.raises(InputError, match="a token has 16 or more") as error:
        check_token(token)
    assert not token or token not in str(error.value)
    with pytest.raises(InputError, match="a token has"):
        BearerAuth(None, token)
    assert check_token("a" * 16) == "a" * 16


def test_only_loopback_hosts_need_no_token():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "::1")))
    for host in ("0.0.0.0", "::", "", "192.168.1.2", "127.0.0.1.nip.io", "lab.example", "127.0.0.2"):
        assert not is_loopback(host)
