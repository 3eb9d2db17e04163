import hashlib
import json
import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.tools import check_env, check_no_leak, check_tool
from handaxe.tools.files import files

TASK = Task("t", (Message("user", "tidy up"),))


def run(folder, name, **arguments):
    reply = getattr(folder, name).run(ToolCall(name, arguments, "c0"))
    return reply.status, reply.content


def test_write_list_and_read_give_the_example():
    folder = files({"a.txt": "one\ntwo"})()
    assert folder.write_file("b.txt", "x") == "wrote b.txt (1 bytes)"
    assert folder.list_files() == "a.txt (7 bytes)\nb.txt (1 bytes)"
    assert folder.read_file("a.txt", 2) == "line 2 of 2\ntwo"


def test_tools_and_environment_keep_their_contracts():
    folder = files({"a.txt": "one"})()
    check_tool(folder.list_files, arguments={})
    check_tool(folder.read_file, arguments={"path": "a.txt"})
    check_tool(folder.write_file, arguments={"path": "b/c.txt", "text": "x"})
    check_tool(folder.replace_text, arguments={"path": "a.txt", "old": "ne", "new": "ff"})
    assert folder.contents() == {"a.txt": "off", "b/c.txt": "x"}
    factory = tool_chat([files({"a.txt": "one"})])
    check_env(factory, TASK)

    def write(text):
        return ParsedTurn("", (ToolCall("write_file", {"path": "n.txt", "text": text}, "c0"),))

    check_no_leak(factory, TASK, write=write, read=ParsedTurn("", (ToolCall("read_file", {"path": "n.txt"}, "c1"),)))


def test_read_file_returns_line_ranges():
    folder = files({"a": "1\n2\n3\n4"})()
    assert folder.read_file("a") == "1\n2\n3\n4"
    assert folder.read_file("a", 2, 3) == "lines 2 to 3 of 4\n2\n3"
    assert folder.read_file("a", 3, 99) == "lines 3 to 4 of 4\n3\n4"
    assert folder.read_file("a", -5, 1) == "line 1 of 4\n1"
    for first, last in ((5, 0), (3, 2)):
        with pytest.raises(Retry, match="has 4 lines"):
            folder.read_file("a", first, last)


def test_replace_text_needs_a_unique_match():
    folder = files({"a": "x y x"})()
    for old, count in (("x", 2), ("z", 0), ("", 0)):
        assert run(folder, "replace_text", path="a", old=old, new="q") == (
            "retry",
            f"the old text stands {count} times in a; it must stand there exactly once",
        )
    folder.replace_text("a", "y", "")
    assert folder.contents() == {"a": "x  x"}


BAD = [
    "", ".", "..", "/", "/etc/passwd", "../a", "a/../b", "a/..", "./a", "a//b", "a/", "a\x00b", "a\nb", "a\\b", "..\\a",
    "C:\\a", " a", "a ", "a/ b", "a" * 101, "b/" * 100 + "c", "e\u0301", "\u202ea", "a\u200b", "\ud800", "\u2028",
    "~\x7f", "a/./b", "//a", "\u00a0a", "\ufeffa", "a/\u2025\u2024/../b",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD, ids=ascii)
def test_invalid_paths_change_nothing(path):
    folder = files({"a.txt": "one"})()
    assert run(folder, "write_file", path=path, text="x")[0] == "retry"
    assert run(folder, "read_file", path=path)[0] == "retry"
    assert folder.contents() == {"a.txt": "one"}


@pytest.mark.parametrize("path", ["A.txt", "a.TXT", "a.txt/b"])
def test_colliding_paths_are_refused(path):
    folder = files({"a.txt": "one", "d/e": "two"})()
    assert run(folder, "write_file", path=path, text="x")[0] == "retry"
    assert run(folder, "write_file", path="d", text="x")[0] == "retry"
    assert run(folder, "write_file", path="D/E", text="x")[0] == "retry"
    assert folder.contents() == {"a.txt": "one", "d/e": "two"}


@given(st.text(max_size=30))
def test_accepted_paths_stay_inside_a_real_folder(path):
    folder = files()()
    if run(folder, "write_file", path=path, text="x")[0] != "ok":
        return
    joined = os.path.normpath(os.path.join("/base/folder", path))
    assert joined == f"/base/folder/{path}" and os.path.commonpath([joined, "/base/folder"]) == "/base/folder"
    assert unicodedata.normalize("NFC", path) == path and len(os.fsencode(path)) <= 200


def test_limits_are_enforced():
    make = files({"a": "12345"}, max_files=2, max_file=10, max_total=12)
    folder = make()
    assert run(folder, "write_file", path="a", text="x" * 11)[1] == "'a' would have 11 bytes, the limit is 10"
    assert run(folder, "write_file", path="a", text="\u00e9" * 6)[0] == "retry"
    assert (
        run(folder, "write_file", path="b", text="x" * 8)[1]
        == "the files would have 13 bytes together, the limit is 12"
    )
    assert run(folder, "write_file", path="b", text="x" * 7)[0] == "ok"
    assert run(folder, "write_file", path="c", text="")[1] == "there would be 3 files, the limit is 2"
    assert run(folder, "replace_text", path="b", old="x" * 7, new="x" * 9)[0] == "retry"
    assert folder.contents() == {"a": "12345", "b": "x" * 7}
    assert run(folder, "write_file", path="a", text="")[0] == "ok"


def test_replies_are_bounded():
    folder = files({"a": "x" * 5000}, max_chars=100)()
    assert folder.read_file("a") == "x" * 100 + "\n(cut; there are 4900 more characters: read it by lines)"


def test_forks_do_not_affect_each_other():
    one = files({"a": "1"})()
    state = one.snapshot()
    one.write_file("b", "2")
    other = files()()
    other.restore(state)
    other.write_file("a", "other")
    assert one.contents() == {"a": "1", "b": "2"} and other.contents() == {"a": "other"}
    one.restore(state)
    assert one.contents() == {"a": "1"} and dict(state) == {"a": "1"}


def test_report_is_bounded_json():
    folder = files(max_files=200)()
    folder.replace({f"f{i:03}": "x" * 10 for i in range(150)})
    report = folder.report()
    assert report["count"] == 150 and report["bytes"] == 1500 and len(report["files"]) == 100
    assert report["files"]["f000"] == {"bytes": 10, "sha256": hashlib.sha256(b"x" * 10).hexdigest()}
    assert json.loads(json.dumps(report)) == report and "x" * 10 not in json.dumps(report)


def test_lone_surrogates_are_replaced():
    folder = files()()
    folder.write_file("a", "x\ud800y")
    assert folder.read_file("a") == "x?y"


def test_invalid_starting_files_raise():
    for start in ({"../a": ""}, {"a": "x" * 200_000}, {"a": "", "A": ""}):
        with pytest.raises(InputError, match="starting files"):
            files(start)
    with pytest.raises(InputError, match="give 1 or more"):
        files(max_files=0)
