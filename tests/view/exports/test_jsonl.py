import json
from dataclasses import fields

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import TokenSequence, Trajectory
from handaxe.view.exports.chosen import ChosenTrajectory
from handaxe.view.exports.jsonl import FORMAT, read_jsonl, write_jsonl


def assert_same(a, b, rows):
    assert (a is None) == (b is None)
    if isinstance(a, np.ndarray):
        rows.same_arrays([a], [b])
    elif isinstance(a, tuple) and not hasattr(a, "_fields"):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y, rows)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            assert_same(a[name], b[name], rows)
    elif isinstance(a, ChosenTrajectory | Trajectory | TokenSequence):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), rows)
    else:
        assert a == b or (a != a and b != b), (a, b)


def test_what_is_read_is_what_was_written(everything, rows, tmp_path):
    file = tmp_path / "deep" / "out.jsonl"
    assert write_jsonl(everything, file) == len(everything) == 8
    found = list(read_jsonl(file))
    for before, after in zip(everything, found, strict=True):
        assert_same(before, after, rows)


def test_a_line_is_plain_json_for_anybody(everything, tmp_path):
    write_jsonl(everything, tmp_path / "out.jsonl")

    def refuse(constant):
        raise AssertionError(constant)

    text = (tmp_path / "out.jsonl").read_bytes()
    assert all(byte == 10 or 32 <= byte < 127 for byte in text)  # neither escape codes nor marks of direction
    lines = [json.loads(line, parse_constant=refuse) for line in text.splitlines()]
    (first,) = [line for line in lines if line["id"] == "talk/0"]
    assert first["format"] == FORMAT and first["scores"]["channels"] == {"right": 1.0}
    assert [message["role"] for message in first["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    (call,) = first["messages"][2]["calls"]
    assert call["name"] == "search" and call["arguments"]["query"].startswith("<script>")
    (sequence,) = first["sequences"]
    assert sequence["mask"] == [author in (3, 4) for author in sequence["author"]]
    assert [a for a, own in zip(sequence["advantages"], sequence["mask"]) if own] == [0.5] * sum(sequence["mask"])
    assert (
        len({len(sequence[name]) for name in ("ids", "logp", "behaviour_logp", "version", "turn", "advantages")}) == 1
    )
    (second,) = [line for line in lines if line["id"] == "talk/1"]
    assert second["no_gradient"]["kind"] == "truncated" and second["no_gradient"]["by"] == "mask_overlong"


@pytest.mark.parametrize("text", ["{}", "[1]", "{", '{"format": "handaxe trajectory 0"}', f'{{"format": "{FORMAT}"}}'])
def test_a_line_that_is_none_is_named(everything, tmp_path, text):
    file = tmp_path / "out.jsonl"
    write_jsonl(everything[:1], file)
    file.write_text(file.read_text() + text + "\n")
    with pytest.raises(InputError, match=r"line 2 of .*out\.jsonl is no 'handaxe trajectory 1'"):
        list(read_jsonl(file))


def test_files_that_cannot_be_written_or_read(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_jsonl([], tmp_path / "file" / "out.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_jsonl(tmp_path / "none.jsonl"))
