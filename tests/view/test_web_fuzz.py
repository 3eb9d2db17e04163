"""Seeded fuzzing of every route of a real viewer: each request gets its status, and a request beside it completes."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("starlette")
pytest.importorskip("plotly")
pytest.importorskip("itables")
from helpers.viewer import get, viewer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handaxe.view.assets import LIBRARIES, MODULES
from handaxe.view.record_search import MOST_WORDS, ORDERS

REQUESTS = settings(
    max_examples=200, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
VICTIM = "/api/rows?run=seed-0&length=1"


@pytest.fixture(scope="module")
def port(viewed):
    with viewer(viewed) as port:
        yield port


@pytest.fixture(scope="module")
def check(port):
    """check(path, status, ...) sends a request while another client's request runs."""
    with ThreadPoolExecutor(1) as beside:

        def check(path, status, **options):
            victim = beside.submit(get, port, VICTIM)
            found, body = get(port, path, **options)
            assert found == status, (path, options, found, body[:300])
            if status == 404 and body != b"Not Found":  # the text for a path without a route
                assert json.loads(body)["error"]
            assert victim.result(timeout=60)[0] == 200

        yield check


# --- grammar: a value of a parameter, and whether it is valid ---------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
TRAVERSALS = st.sampled_from(
    ["..", "../..", "../seed-0", "seed-0/..", "/etc/passwd", "..\\..", "%00", "\0", "%2e%2e", "....//", "a" * 9000]
)
HOSTILE = st.one_of(TRAVERSALS, TEXT, st.just("'; DROP TABLE steps; --"), st.just("<script>"))
RUNS = ("seed-0", "seed-1")


def valid(values):
    return values.map(lambda value: (value, True))


def invalid(values):
    return values.map(lambda value: (value, False))


def names(known, *, empty=False):
    """A known name, or another text; an empty one is valid if it means no filter."""
    other = HOSTILE.filter(lambda text: text not in known and (text or not empty))
    chosen = [valid(st.sampled_from(known)), invalid(other)]
    return st.one_of(*chosen, *([valid(st.just(""))] if empty else []))


WRONG_NUMBERS = st.sampled_from(["nan", "inf", "-Infinity", "1e400", "0x10", "one", "1,5", "--1", "1 2", "\0"])
NUMBERS = st.one_of(
    valid(st.floats(allow_nan=False, allow_infinity=False).map(str)), valid(st.just("")), invalid(WRONG_NUMBERS)
)
FRACTIONS = st.sampled_from(["1.5", "1e308", "9007199254740992", "-99999999999999999999"])
WHOLE = st.one_of(
    valid(st.integers(-(2**53) + 1, 2**53 - 1).map(str)), valid(st.just("")), invalid(WRONG_NUMBERS), invalid(FRACTIONS)
)
WORDS = st.one_of(
    valid(TEXT),
    valid(st.sampled_from(["%", "_", "!", '"', '""', "\\", "\\u00e9", "\u00e9" * 900, "role", "\0"])),
    valid(st.lists(st.sampled_from(["a", "\u00e9", "%", "content"]), max_size=MOST_WORDS).map(" ".join)),
    invalid(st.integers(MOST_WORDS + 1, 2000).map(lambda count: " ".join(["b"] * count))),
    invalid(st.integers(1001, 4000).map(lambda length: "c" * length)),
)
FREE = valid(st.one_of(HOSTILE, st.just("look"), st.just("task-1")))


def numbered(first, last):
    """A number in a range, or another text."""
    others = st.integers(-100, 2**40).filter(lambda value: not first <= value <= last).map(str)
    return st.one_of(
        valid(st.integers(first, last).map(str)), invalid(others), invalid(FRACTIONS), invalid(WRONG_NUMBERS)
    )


RUN = {"run": names(RUNS)}
SEARCH = {
    "text": WORDS,
    "tool": FREE,
    "task": FREE,
    "outcome": names(("scored", "correct", "incorrect", "truncated", "unscored"), empty=True),
    "fate": names(("trained", "unselected", "surplus", "dropped", "unscored"), empty=True),
    "first": NUMBERS,
    "last": NUMBERS,
    "low": NUMBERS,
    "high": NUMBERS,
    "trained": FREE,
}
TABLE = {"sort": names(ORDERS, empty=True), "falling": FREE, "start": WHOLE, "length": WHOLE}
QUERIES = {  # query -> required and optional parameters
    "runs": ({}, {"run": FREE, "x": FREE}),
    "results": ({}, {"x": FREE}),
    "pulse": ({}, RUN),
    "run": (RUN, {"x": FREE}),
    "curves": (RUN, {"x": FREE}),
    "bands": ({}, {"setting": FREE, "metric": FREE, "axis": FREE}),
    "rows": (RUN, SEARCH | TABLE),
    "step": (RUN | {"step": numbered(0, 2)}, {}),
    "rollout": (RUN | {"id": numbered(1, 11)}, {}),
}


def queries(required, optional):
    """Parameters with validity; a missing required parameter is invalid."""
    whole = st.fixed_dictionaries(required, optional=optional)
    missing = [whole.map(lambda found, name=name: found | {name: ("", False)}) for name in required]
    return st.one_of(whole, whole, whole, *missing)


def path_of(base, found):
    return f"{base}?{urlencode({name: value for name, (value, _) in found.items()})}"


def status_of(found):
    return 200 if all(right for _, right in found.values()) else 404


# --- routes -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_every_query_gets_its_status(check, name):
    @REQUESTS
    @given(queries(*QUERIES[name]))
    def send(found):
        check(path_of(f"/api/{name}", found), status_of(found))

    send()


@REQUESTS
@given(HOSTILE.filter(lambda name: name not in QUERIES))
def test_unknown_queries_are_not_found(check, name):
    check(f"/api/{quote(name, safe='')}", 404)


FILES = {"pages": (*MODULES, "style.css", "tables_library.js"), "lib": LIBRARIES}


@pytest.mark.parametrize("folder", FILES)
def test_only_known_files_are_found(check, folder):
    @REQUESTS
    @given(names(tuple(FILES[folder])))
    def send(found):
        name, known = found
        check(f"/{folder}/{quote(name, safe='')}", 200 if known else 404)

    send()


KINDS = names(("jsonl",)).filter(lambda one: one[0] not in ("datasets", "inspect"))
FOUND = st.one_of(valid(st.sampled_from(["look", ""])), invalid(st.just("a tool without calls")))
LIMITS = st.one_of(valid(st.just("")), invalid(WRONG_NUMBERS))


@REQUESTS
@given(KINDS, st.fixed_dictionaries(RUN | {"tool": FOUND}, optional={"last": LIMITS}))
def test_exports_get_their_status(check, kind, found):
    check(path_of(f"/export/{quote(kind[0], safe='')}", found), status_of(found | {"kind": kind}))


HEADERS = st.one_of(
    st.tuples(st.just("Origin"), st.sampled_from(["http://evil.example", "null", "http://localhost.evil.example"])),
    st.tuples(
        st.just("Host"), st.sampled_from(["evil.example", "localhost.", "127.1", "localhost:80@evil", "0.0.0.0"])
    ),
    st.tuples(st.just("Origin"), st.sampled_from(["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"])),
    st.tuples(st.just("X-Any"), st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200)),
)


def refusal(name, value):
    if name == "Host":
        return 421
    return 403 if name == "Origin" and ("evil" in value or value == "null") else None


@REQUESTS
@given(HEADERS, st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]), FREE)
def test_first_page_obeys_host_origin_and_method(check, header, method, query):
    expected = refusal(*header) or (200 if method in ("GET", "HEAD") else 405)
    check(path_of("/", {"q": query}), expected, method=method, headers=dict([header]))


LINES = st.one_of(
    st.binary(min_size=1, max_size=200).map(lambda line: b"\x00" + line.replace(b"\n", b"")),
    st.sampled_from([b"GET /", b"GET  / HTTP/1.1", b"GET / HTTP/1.1\r\nHost", b"GET / HTTP/1.1\r\n: x"]),
    st.integers(65_537, 200_000).map(lambda length: b"GET /" + b"a" * length + b" HTTP/1.1"),
    st.sampled_from([b"-1", b"1e3", b"abc", b"9" * 40]).map(
        lambda length: b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length
    ),
)


@REQUESTS
@given(LINES)
def test_malformed_requests_get_status_400(port, line):
    with ThreadPoolExecutor(1) as beside, socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        victim = beside.submit(get, port, VICTIM)
        connection.sendall(line + b"\r\n\r\n")
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 400 ")
        assert victim.result(timeout=60)[0] == 200
