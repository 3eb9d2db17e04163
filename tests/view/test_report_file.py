import gzip
import json
import re
from base64 import b64decode
from contextlib import closing
from dataclasses import replace

import pytest
from helpers.group_records import with_rollouts

from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord
from handaxe.view.api import ViewApi
from handaxe.view.report_file import ReportContents, bisection_order, bundle, write_report


def held_in(text, key):
    found = re.search(rf'<script type="text/plain" id="data:{re.escape(key)}">([^<]*)</script>', text)
    return None if found is None else json.loads(gzip.decompress(b64decode(found[1])))


def test_report_has_all_data_and_fetches_nothing(viewed, decoder, tmp_path):
    held = write_report(viewed, tmp_path / "report.html", decoder)
    assert held["seed-0"] == ReportContents((2, 0, 1), 3, 11, 11) and str(held["seed-0"]) == "every rollout in full"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<(?:script|img|link)[^>]* src=|<link [^>]*href=\"(?!data:)", text)
    assert "default-src 'none'" in text and "connect-src" not in text
    assert len(held_in(text, "rows/seed-0")["rows"]) == 11
    step = held_in(text, "step/seed-1/2")
    assert len(step["rollouts"]) == 5 and step["step"]["groups"][0]["task"] == "task-2"
    assert any(key.endswith("training/reward steps") for key in held_in(text, "bands"))
    assert held_in(text, "results")[0]["kind"] == "replication"


def test_small_report_lists_its_steps(viewed, decoder, tmp_path):
    held = write_report(viewed / "seed-0", tmp_path / "report.html", decoder, megabytes=0)["seed-0"]
    assert held.steps == (2, 0) and str(held) == "steps 1, 3 in full: 2 of 3 steps, 8 rollouts"
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert held_in(text, "step/seed-0/1") is None and held_in(text, "run/seed-0")["held"] == str(held)


def test_many_steps_are_abbreviated():
    assert str(ReportContents(tuple(range(0, 60, 2)), 60, 30, 60)) == (
        "steps 1, 3, 5, ..., 55, 57, 59 in full: 30 of 60 steps, 30 rollouts"
    )


def test_report_converts_values_unknown_to_json(viewed, decoder, tmp_path):
    with RunRecord.open(viewed / "seed-0") as record:
        (group,) = record.groups(step=0)
    first, *others = group.played.group
    odd = replace(first, notes={"n": float("nan"), "x": [float("inf"), "y"]})
    with RunRecord(tmp_path / "run") as record:
        record.write_step(
            0, [with_rollouts(group, replace(group.played.group, trajectories=(odd, *others)))], {"reward": 0.0}
        )
    write_report(tmp_path / "run", tmp_path / "report.html", decoder)
    found = held_in((tmp_path / "report.html").read_text(encoding="utf-8"), "step/run/0")
    assert found["rollouts"]["1"]["notes"] == {"n": None, "x": [None, "y"]}
    with closing(ViewApi(tmp_path / "run", decoder)) as answers:
        assert json.dumps(answers.answer("step", {"run": "run", "step": "0"})) == json.dumps(found["step"])


def test_report_without_a_size_limit_has_every_step(viewed, decoder, tmp_path):
    held = write_report(viewed / "seed-0", tmp_path / "report.html", decoder, megabytes=float("inf"))["seed-0"]
    assert len(held.steps) == held.all_steps == 3


def test_untrusted_text_does_not_end_a_script(viewed, decoder, tmp_path):
    write_report(viewed, tmp_path / "report.html", decoder)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "window.hacked" not in text and "onerror='window" not in text
    assert text.count("</script>") == text.count("<script type=")


def test_bisection_order_starts_with_last_and_first():
    assert list(bisection_order([0, 1, 2, 3, 4])) == [4, 0, 2, 1, 3]
    assert list(bisection_order([])) == [] and list(bisection_order([7])) == [7]
    assert sorted(bisection_order(list(range(50)))) == list(range(50))


def test_bundle_has_no_import():
    text = bundle()
    assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    assert "DecompressionStream" in text and "DecompressionStream" not in bundle(stored=False)


def test_missing_run_and_unwritable_file_raise(tmp_path, viewed, decoder):
    with pytest.raises(InputError, match="no run"):
        write_report(tmp_path, tmp_path / "r.html", decoder)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(viewed / "seed-0", tmp_path / "file" / "r.html", decoder)
