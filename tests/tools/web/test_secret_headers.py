import pytest

from handaxe.core.errors import InputError
from handaxe.tools.web.allowlist import Allowlist, parse_address
from handaxe.tools.web.secret_headers import OriginHeaders, check_headers

ALLOWED = Allowlist(["https://a.example/v1/", "http://a.example/", "https://b.example:8443/"])
KEY = "sk-0123456789abcdef"


def origin_headers(headers, where="https://a.example"):
    return OriginHeaders({where: headers}, ALLOWED)


def test_check_headers_gives_the_example():
    assert check_headers({"X-Key": "abc"}) == {"x-key": "abc"}
    assert check_headers({}) == {}


@pytest.mark.parametrize(
    "name", ["", "X Key", "X:Key", "X\r\nEvil", "X\n", "\u00e9", "Host", "HOST", "Content-Length", "Transfer-Encoding",
             "Connection", "Content-Type", "Proxy-Authorization", "TE", "x" * 101, 3]
)  # fmt: skip
def test_invalid_names_raise(name):
    with pytest.raises(InputError, match="header"):
        check_headers({name: "value"})


@pytest.mark.parametrize("end", ["", " ", "\n", "\r\nX-Evil: 1", "\n folded", "\x00", "\t", "\u00e9", "\x7f"])
def test_invalid_values_raise_without_showing_them(end):
    with pytest.raises(InputError, match="'X-Key' is empty") as error:
        check_headers({"X-Key": f"{KEY}{end}" if end else ""})
    assert KEY not in str(error.value)
    with pytest.raises(InputError) as error:
        check_headers({"X-Key": KEY.encode()})
    assert KEY not in str(error.value)


def test_duplicate_name_raises():
    with pytest.raises(InputError, match="'x-KEY' is given twice"):
        check_headers({"X-Key": "a", "x-KEY": "b"})


def test_headers_belong_to_scheme_host_and_port():
    both = OriginHeaders(
        {"https://A.example:443/": {"X-Key": KEY}, "https://b.example:8443": {"X-Other": "b"}}, ALLOWED
    )
    assert both.of(parse_address("https://a.example/v1/x?y=z")) == {"x-key": KEY}
    assert both.of(parse_address("https://b.example:8443/")) == {"x-other": "b"}
    for other in ("http://a.example/", "https://a.example:444/", "https://b.example/", "https://a.example.b.example/"):
        assert both.of(parse_address(other)) == {}


@pytest.mark.parametrize(
    "where, message",
    [
        ("a.example", "does not begin with http"),
        ("https://a.example/v1/", "without path"),
        ("https://a.example?x", "without path"),
        ("https://c.example", "which is not in allow"),
        ("https://b.example", "which is not in allow"),
    ],
)
def test_invalid_origin_raises(where, message):
    with pytest.raises(InputError, match=message):
        origin_headers({"X-Key": KEY}, where)


def test_equal_origins_raise():
    with pytest.raises(InputError, match="twice"):
        OriginHeaders({"https://a.example": {"X-Key": "a"}, "https://a.example:443": {"X-Key": "b"}}, ALLOWED)


def test_only_secrets_are_redacted():
    some = origin_headers({"Authorization": f"Bearer {KEY}", "Cookie": "id=session-1234; theme=dark", "X-Version": "2",
                 "Accept": "application/json", "X-Path": "left/right/up"})  # fmt: skip
    assert some.hide(f"a {KEY} b {KEY.upper()}, session-1234") == "a *** b ***, ***"
    assert some.hide("left/right/up left%2Fright%2Fup") == "*** ***"
    plain = "Bearer 2 dark application/json id= sk-0123"
    assert some.hide(plain) == plain
    assert origin_headers({}).hide(KEY) == KEY


def test_prefix_of_a_secret_at_a_cut_is_redacted():
    some = origin_headers({"X-Key": KEY})
    for size in range(4, len(KEY)):
        assert some.hide("abc " + KEY[:size].upper(), cut=True) == "abc ***"
        assert some.hide("abc " + KEY[:size]) == "abc " + KEY[:size]
    assert some.hide("abc " + KEY[:3], cut=True) == "abc " + KEY[:3]
    assert some.hide("", cut=True) == ""


def test_longest_secret_is_redacted():
    assert origin_headers({"X-Key": "abcdefgh", "X-More": "abcdefghijkl"}).hide("abcdefghijkl abcdefgh") == "*** ***"
