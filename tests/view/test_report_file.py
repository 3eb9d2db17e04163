import gzip
import json
import re
from base64 import b64decode
from contextlib import closing
from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord
from handaxe.view.answers import Answers
from handaxe.view.report_file import Held, bundled, spread_out, write_report


def held_in(text, key):
    found = re.search(rf'<script type="text/plain" id="data:{re.escape(key)}">([^<]*)</script>', text)
    return None if found is None else json.loads(gzip.decompress(b64decode(found[1])))


def test_a_report_holds_everything_and_asks_for_nothing(viewed, decoder, tmp_path):
    held = write_report(viewed, tmp_path / "report.html", decoder)
    assert held["seed-0"] == Held((2, 0, 1), 3, 11, 11) and str(held["seed-0"]) == "every attempt in full"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|img|link)[^>]* src=|<link [^>]*href=\"(?!data:)", text)
    assert "default-src 'none'" in text and "connect-src" not in text
    assert len(held_in(text, "rows/seed-0")["rows"]) == 11
    step = held_in(text, "step/seed-1/2")
    assert len(step["attempts"]) == 5 and step["step"]["groups"][0]["task"] == "task-2"
    assert any(key.endswith("training/reward steps") for key in held_in(text, "bands"))
    assert held_in(text, "results")[0]["kind"] == "replication"


def test_a_report_with_little_room_says_what_it_holds(viewed, decoder, tmp_path):
    held = write_report(viewed / "seed-0", tmp_path / "report.html", decoder, megabytes=0)["seed-0"]
    assert held.steps == (2, 0) and str(held) == "steps 0, 2 in full: 2 of 3, 8 of its attempts"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert held_in(text, "step/seed-0/1") is None and held_in(text, "run/seed-0")["held"] == str(held)


def test_many_steps_are_not_listed_one_by_one():
    assert str(Held(tuple(range(0, 60, 2)), 60, 30, 60)) == (
        "steps 0, 2, 4, ..., 54, 56, 58 in full: 30 of 60, 30 of its attempts"
    )


def test_a_report_of_what_json_lacks(viewed, decoder, tmp_path):
    with RunRecord.open(viewed / "seed-0") as record:
        (group,) = record.groups(step=0)
    first, *others = group.group
    odd = replace(first, notes={"n": float("nan"), "x": [float("inf"), "y"]})
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [replace(group, group=replace(group.group, trajectories=(odd, *others)))], {"reward": 0.0})
    write_report(tmp_path / "run", tmp_path / "report.html", decoder)
    found = held_in((tmp_path / "report.html").read_text(encoding="utf-8"), "step/run/0")
    assert found["attempts"]["1"]["notes"] == {"n": None, "x": [None, "y"]}
    with closing(Answers(tmp_path / "run", decoder)) as answers:
        assert json.dumps(answers.answer("step", {"run": "run", "step": "0"})) == json.dumps(found["step"])


def test_a_report_may_have_all_the_room_there_is(viewed, decoder, tmp_path):
    held = write_report(viewed / "seed-0", tmp_path / "report.html", decoder, megabytes=float("inf"))["seed-0"]
    assert len(held.steps) == held.all_steps == 3


def test_nothing_that_was_said_ends_a_script(viewed, decoder, tmp_path):
    write_report(viewed, tmp_path / "report.html", decoder)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "window.hacked" not in text and "onerror='window" not in text
    assert text.count("</script>") == text.count("<script type=")


def test_steps_are_spread():
    assert list(spread_out([0, 1, 2, 3, 4])) == [4, 0, 2, 1, 3]
    assert list(spread_out([])) == [] and list(spread_out([7])) == [7]
    assert sorted(spread_out(list(range(50)))) == list(range(50))


def test_modules_are_bundled_without_an_import_left():
    text = bundled()
    assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    assert "DecompressionStream" in text and "DecompressionStream" not in bundled(stored=False)


def test_what_cannot_be_reported_is_said(tmp_path, viewed, decoder):
    with pytest.raises(InputError, match="no run"):
        write_report(tmp_path, tmp_path / "r.html", decoder)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(viewed / "seed-0", tmp_path / "file" / "r.html", decoder)
