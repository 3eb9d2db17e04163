import json
import math

import pytest

from handaxe.commands.output import check_writable, command_line, console, note, write_json
from handaxe.core.errors import InputError


def test_numbers_that_are_not_finite_become_null(tmp_path):
    file = tmp_path / "made" / "result.json"
    write_json(file, {"a": math.nan, "b": [1.5, math.inf], "c": {"d": (2, "x")}})
    assert json.loads(file.read_text()) == {"a": None, "b": [1.5, None], "c": {"d": [2, "x"]}}


def test_no_file_writes_nothing(tmp_path):
    write_json(None, {"a": object()})
    check_writable(None)


def test_file_that_cannot_be_written_raises_early(tmp_path):
    check_writable(tmp_path / "made" / "result.json")
    with pytest.raises(InputError, match="cannot be written"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_json(tmp_path, {})


def test_command_line_is_quoted_for_a_shell():
    assert command_line(["show", "runs/my run"]) == "handaxe show 'runs/my run'"


def test_note_is_never_wrapped(capsys):
    note(console(), "run", "x" * 300)
    assert capsys.readouterr().out == "run        " + "x" * 300 + "\n"
