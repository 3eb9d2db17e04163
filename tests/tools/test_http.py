"""Tests against a real server on loopback; a patched resolver gives other addresses."""

import socket

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.tools import check_env, check_tool
from handaxe.tools.http import http

pytest.importorskip("httpcore")
from helpers import web_server as server_module


@pytest.fixture(scope="module")
def server():
    server = server_module.Server()
    yield server
    server.end()


@pytest.fixture
def tools(server):
    return http(
        [f"{server.origin}/open/"],
        methods=["GET", "POST"],
        private=True,
        seconds=60,
        max_bytes=20_000,
        trouble_is="policy",
    )


def get(tool, url):
    reply = tool.run(ToolCall("http_get", {"url": url}, "c0"))
    return reply.status, reply.content


def post(tool, url, body):
    reply = tool.run(ToolCall("http_post", {"url": url, "body": body}, "c0"))
    return reply.status, reply.content


def test_pages_become_text(server, tools):
    read, _ = tools
    base = f"{server.origin}/open"
    check_tool(read, arguments={"url": f"{base}/hello"})
    assert get(read, f"{base}/hello") == ("ok", "hello")
    assert get(read, f" {base}/hello#part ") == ("ok", "hello")
    assert get(read, f"{base}/page") == ("ok", f"Kemi\nA town on the [arn]({server.origin}/arn).")
    assert get(read, f"{base}/json") == ("ok", '{\n "a": [\n  1,\n  2\n ]\n}')
    assert get(read, f"{base}/gzip") == ("ok", "packed " * 10)
    assert get(read, f"{base}/near") == ("ok", "hello")


def test_unsuccessful_responses_are_retry(server, tools):
    read, _ = tools
    base = f"{server.origin}/open"
    assert get(read, f"{base}/gone") == ("retry", "404 Not Found: no such town")
    assert get(read, f"{base}/broken") == ("retry", "500 Oops: ")
    assert get(read, f"{base}/image") == ("retry", "the page is no text but 'image/png'")


def test_request_headers_are_minimal(server, tools, monkeypatch):
    """No proxy, no credential, no cookie; only what the library always sends."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", "/nonexistent")
    read, send = tools
    server.seen.clear()
    assert get(read, f"{server.origin}/open/echo?q=%20a")[0] == "ok"
    line, headers, body = server.seen[-1]
    assert (line, body) == ("GET /open/echo?q=%20a HTTP/1.1", "")
    assert set(headers) == {"host", "user-agent", "accept", "accept-encoding"}
    assert headers["accept-encoding"] == "identity" and headers["host"] == server.origin.removeprefix("http://")
    assert post(send, f"{server.origin}/open/echo", '{"a": 1}')[0] == "ok"
    assert server.seen[-1][1]["content-type"] == "application/json" and server.seen[-1][2] == '{"a": 1}'
    assert post(send, f"{server.origin}/open/echo", "a b")[0] == "ok"
    assert server.seen[-1][1]["content-type"].startswith("text/plain") and server.seen[-1][2] == "a b"
    assert post(send, f"{server.origin}/open/echo", "x" * 100_001)[0] == "retry"


def test_post_redirects_follow_the_status(server, tools):
    _, send = tools
    post(send, f"{server.origin}/open/303", "a")
    assert server.seen[-1][0].startswith("GET /open/echo") and server.seen[-1][2] == ""
    post(send, f"{server.origin}/open/307", "a")
    assert server.seen[-1][0].startswith("POST /open/echo") and server.seen[-1][2] == "a"
    (only,) = http([f"{server.origin}/open/"], methods=["POST"], private=True)
    status, content = post(only, f"{server.origin}/open/303", "a")
    assert status == "retry" and "with GET, which is not allowed" in content


@pytest.mark.parametrize("page", ["loop", "metadata", "file", "outside", "user", "odd"])
def test_redirects_to_disallowed_addresses_are_refused(server, tools, page):
    server.seen.clear()
    status, content = get(tools[0], f"{server.origin}/open/{page}")
    assert status == "retry" and "treasure" not in content
    assert all(line.split(" ")[1] == f"/open/{page}" for line, _, _ in server.seen)
    assert len(server.seen) == (6 if page == "loop" else 1)


FORBIDDEN = [
    "{o}/", "{o}/secret", "{o}/openly", "{o}/open/../secret", "{o}/open/%2e%2e/secret",
    "{o}/open/%252e%252e/secret", "{o}/open/..%2fsecret", "{o}/open/..\\secret", "{o}/open/%5c..%5csecret",
    "http://127.0.0.1/open/", "https{r}/open/", "http://localhost{p}/open/hello", "http://127.1{p}/open/hello",
    "http://0x7f.0.0.1{p}/open/hello", "http://2130706433{p}/open/hello", "http://0177.0.0.1{p}/open/hello",
    "http://[::ffff:127.0.0.1]{p}/open/hello", "http://user@127.0.0.1{p}/open/hello", "{o}@example.org/open/",
    "{o}/open/a b", "{o}/open/\r\nX: y", "{o}/open/\x00", "{o}/open/\u00e9", "file:///etc/passwd",
    "ftp://127.0.0.1/", "gopher://127.0.0.1/", "javascript:alert(1)", "", "open", "//127.0.0.1{p}/open/hello",
    "http://", "http:///open", "http://127.0.0.1:99999/open/", "http://127.0.0.1:x/open/",
    "http://127.0.0.1{p}\\@example.org/open/", "http://127.0.0.1\uff0f{p}/open/hello", "{o}/open/" + "a" * 3000,
    "http://169.254.169.254/latest/meta-data/", "http://[::1", "{o}?/open/hello", "{o}#/open/hello",
]  # fmt: skip


@pytest.mark.parametrize("url", FORBIDDEN, ids=lambda url: ascii(url[:40]))
def test_disallowed_urls_are_not_requested(server, tools, url):
    server.seen.clear()
    port = server.origin.removeprefix("http://127.0.0.1")
    url = url.replace("{o}", server.origin).replace("{p}", port).replace("{r}", server.origin.removeprefix("http"))
    for reply in (get(tools[0], url), post(tools[1], url, "x")):
        assert reply[0] == "retry" and reply[1]
    assert server.seen == []


def test_endless_responses_are_cut(server, tools):
    read, _ = tools
    for page, letter in (("endless", "y"), ("bomb", "0"), ("long", "x")):
        status, content = get(read, f"{server.origin}/open/{page}")
        assert status == "ok" and content.startswith(letter * 1000) and len(content) <= 4000
        assert content.endswith("]") and "characters cut" in content


@pytest.mark.parametrize("page", ["headers", "header", "garbage", "short", "brotli", "notgzip"])
def test_invalid_responses_are_trouble(server, tools, page):
    assert get(tools[0], f"{server.origin}/open/{page}")[0] == "retry"
    (strict,) = http([server.origin], private=True, seconds=60)
    assert get(strict, f"{server.origin}/open/{page}")[0] == "infra_error"


@pytest.mark.parametrize("page", ["slow-head", "slow-body", "silence"])
def test_slow_responses_time_out(server, page):
    (read,) = http([server.origin], private=True, seconds=0.3, trouble_is="policy")
    status, content = get(read, f"{server.origin}/{page}")
    assert (status, content) == ("retry", "127.0.0.1 did not answer in time")


def test_refused_connection_is_trouble():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{free.getsockname()[1]}"
        (read,) = http([origin], private=True, seconds=60)
        assert get(read, origin)[0] == "infra_error"


def test_private_addresses_need_the_option(server):
    (read,) = http([server.origin])
    server.seen.clear()
    status, content = get(read, server.origin)
    assert status == "retry" and "no public address" in content and server.seen == []


def resolver(monkeypatch, *answers):
    """Patch name resolution to return these addresses in turn, the last one repeatedly."""
    left = list(answers)
    asked = []

    def look_up(host, port, *rest, **named):
        if host[0].isdigit():
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        asked.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_name_with_private_address_is_refused(server, monkeypatch):
    port = server.origin.rpartition(":")[2]
    (read,) = http([f"http://rebind.test:{port}"])
    for answers in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"]):
        asked = resolver(monkeypatch, answers)
        server.seen.clear()
        status, content = get(read, f"http://rebind.test:{port}/")
        assert status == "retry" and "no public address" in content
        assert asked == ["rebind.test"] and server.seen == []


def test_name_is_resolved_once(server, monkeypatch):
    """A second answer of the resolver, such as one of a rebinding attack, is never asked for."""
    port = server.origin.rpartition(":")[2]
    (read,) = http([f"http://rebind.test:{port}"], private=True, seconds=60)
    asked = resolver(monkeypatch, ["127.0.0.1"], ["192.0.2.1"])
    assert get(read, f"http://rebind.test:{port}/hello") == ("ok", "hello")
    assert asked == ["rebind.test"] and server.seen[-1][1]["host"] == f"rebind.test:{port}"


# --- headers of the user ---------------------------------------------------------------------------------------

KEY = "sk-0123456789abcdef"


@pytest.fixture
def other():
    """A second origin."""
    second = server_module.Server()
    yield second
    second.end()


def keyed(server, *more, **options):
    headers = {server.origin: {"X-Key": KEY, "User-Agent": "tester"}}
    places = [f"{server.origin}/open/", *(one.origin for one in more)]
    return http(places, private=True, seconds=30, headers=headers, **options)[0]


def test_headers_go_only_to_their_origin(server, other):
    read = keyed(server, other)
    assert get(read, f"{server.origin}/open/hello") == ("ok", "hello")
    sent = server.seen[-1][1]
    assert sent["x-key"] == KEY and sent["user-agent"] == "tester" and sent["accept-encoding"] == "identity"
    assert get(read, f"{other.origin}/hello") == ("ok", "hello")
    assert get(read, f"{server.origin}/open/go?{other.origin}/hello") == ("ok", "hello")
    assert server.seen[-1][1]["x-key"] == KEY, "the first hop"
    assert [("x-key" in headers, headers["user-agent"]) for _, headers, _ in other.seen] == [(False, "handaxe")] * 2
    back = f"{other.origin}/go?{server.origin}/open/hello"
    assert get(read, back) == ("ok", "hello") and server.seen[-1][1]["x-key"] == KEY and len(other.seen) == 3


def test_key_is_redacted(server):
    read = keyed(server)
    status, content = get(read, f"{server.origin}/open/echo")
    assert status == "ok" and '"x-key": "***"' in content and '"user-agent": "tester"' in content
    assert get(read, f"{server.origin}/open/tell?500") == ("retry", "500 ***: ")
    assert get(read, f"{server.origin}/open/tell?200") == ("retry", "the page is no text but 'image/***'")
    assert KEY not in repr(read) + str(read.schema) + str(vars(read))


@pytest.mark.parametrize("shown", range(len(KEY) + 1))
def test_key_at_a_cut_is_redacted(server, shown):
    """A policy that may choose how much stands before the key cannot read it letter by letter."""
    status, content = get(keyed(server, max_bytes=1000, max_chars=4000), f"{server.origin}/open/pad?{1000 - shown}")
    assert status == "ok" and KEY[:4] not in content and content.startswith("x" * (1000 - shown))


@pytest.mark.parametrize("to", ["{o}/KEY", "{s}/open/KEY", "{o}/?a=KEY", "http://[KEY"])
def test_redirect_with_a_key_is_not_followed(server, other, to):
    to = to.format(o=other.origin, s=server.origin)
    status, content = get(keyed(server, other), f"{server.origin}/open/go?{to}")
    assert status == "retry" and "with a key in it" in content and KEY not in content and other.seen == []


def test_invalid_headers_raise():
    for headers in ({"http://c.d": {"X": "1"}}, {"http://a.b/x": {"X": "1"}}, {"http://a.b": {"Host": "c.d"}},
                    {"http://a.b": {"X": "1\r\nY: 2"}}, {"https://a.b": {"X": "1"}}):  # fmt: skip
        with pytest.raises(InputError, match="header"):
            http(["http://a.b"], headers=headers)


def test_http_works_in_an_environment(server):
    check_env(tool_chat(http([server.origin], private=True)), Task("t", (Message("user", "read the news"),)))


def test_invalid_arguments_raise(server):
    for allow in ([], ["ftp://a"], ["http://a?b"], ["example.org"]):
        with pytest.raises(InputError):
            http(allow)
    with pytest.raises(InputError, match="methods"):
        http(["http://a.b"], methods=["PUT"])
    for name in ("seconds", "max_bytes", "max_chars"):
        with pytest.raises(InputError, match=name):
            http(["http://a.b"], **{name: 0})


def test_prefix_renames_both_tools():
    made = http(["https://a.org"], methods=["GET", "POST"], prefix="a_")
    assert [tool.schema.name for tool in made] == ["a_http_get", "a_http_post"]
