import pytest

from handaxe.core.errors import InputError, Retry
from handaxe.tools.web.allowlist import Address, Allowlist, is_public, parse_address


def test_parse_address_gives_the_example():
    address = parse_address("HTTP://Example.org:80/a?b#c")
    assert address == Address("http", "example.org", 80, "/a", "b")
    assert str(address) == "http://example.org/a?b" and address.join("../x") == "http://example.org/x"
    assert str(parse_address("https://[::1]:8/")) == "https://[::1]:8/"
    assert parse_address("https://a.b.").host == "a.b" and parse_address("https://a.b").path == "/"


BAD = [
    "a.b", "ftp://a.b", "http://", "http://u@a.b", "http://a.b:x", "http://a.b:70000", "http://a b", "http://a.b/\n",
    "http://a.b/..", "http://a.b/%2E%2e", "http://a.b/%252e%252e/", "http://a.b/x/./y", "http://a.b/%5c", "http://a.b/%00",
    "http://1", "http://127.1", "http://0x7f000001", "http://01.2.3.4", "http://1.2.3.4.5", "http://[1::2::3]", "http://[::1",
    "http://a..b", "http://-a.b", "http://a_b.c", "http://a.b/\u00e4", "http://a.b/<", "http://a.b?<", "http://a.b\\c",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD, ids=ascii)
def test_unusual_urls_raise(url):
    with pytest.raises(ValueError):
        parse_address(url)


def test_allowed_path_continues_after_a_slash():
    allowed = Allowlist(["https://a.b/3", "https://c.d/", "http://e.f:81/x/"])
    for url in ("https://a.b/3", "https://a.b/3/", "https://a.b/3/q?x=/35", "https://c.d", "https://c.d:443/z"):
        assert allowed.check(url).port == 443
    for url in (
        "https://a.b/35",
        "https://a.b/",
        "http://a.b/3",
        "https://a.b:444/3",
        "https://sub.a.b/3",
        "http://e.f/x/",
    ):
        with pytest.raises(Retry, match="is not allowed; you may visit https://a.b/3, https://c.d/, http://e.f:81/x/"):
            allowed.check(url)
    with pytest.raises(InputError, match="nothing is allowed"):
        Allowlist([])


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
     "240.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
     "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "2001:db8::1"],
)  # fmt: skip
def test_special_addresses_are_not_public(text):
    assert not is_public(text)


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_public(text):
    assert is_public(text)
