import json
import os
import re
from pathlib import Path

import pytest

from handaxe.view.results import find_results

COMPARED = {"seeds": [0, 1], "sides": {"a": {}}, "metrics": {"calls": {}}}
RESULT = Path(__file__).parents[2] / "handaxe" / "papers" / "otc" / "result.json"


def test_find_results_returns_name_kind_and_body(viewed, tmp_path):
    found, other = find_results(viewed)
    assert (found["name"], found["kind"]) == ("results/otc.json", "replication")
    assert (other["name"], other["kind"]) == ("results/sides.json", "comparison")
    assert found["body"] == json.loads((viewed / "results" / "otc.json").read_text())


def test_find_results_ignores_other_files(tmp_path):
    (tmp_path / "both.json").write_text(json.dumps(COMPARED))
    for name, text in (("a", "{"), ("b", "[]"), ("d", "[" * 5000), ("e", "\xff"), ("f", " " * 5_000_001)):
        (tmp_path / f"{name}.json").write_text(text, encoding="latin-1")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "record.sqlite").touch()
    (tmp_path / "run" / "result.json").write_text(json.dumps(COMPARED))
    assert [(one["name"], one["kind"]) for one in find_results(tmp_path)] == [("both.json", "comparison")]


DAMAGED = {
    "deep": (json.dumps(COMPARED)[:-1] + ', "more": ' + "[" * 500 + "]" * 500 + "}", "nests deeper than 64 levels"),
    "too deep": (json.dumps(COMPARED)[:-1] + ', "more": ' + "[" * 99_999, "recursion|nests deeper"),
    "cut": (json.dumps(COMPARED)[:-9], "delimiter|Expecting|Unterminated"),
    "bytes": (json.dumps(COMPARED) + "\xff", "utf-8"),
    "types": ('{"seeds": 1, "sides": 2, "metrics": {}}', "seeds: Input should be a valid list"),
    "pairs": ('{"seeds": [1], "sides": {}, "metrics": {"a": {"b": 3}}}', "metrics.a.b"),
    "claims": ('{"claims": 1, "curves": 2}', "Field required|valid list"),
}


@pytest.mark.parametrize("text, message", DAMAGED.values(), ids=DAMAGED)
def test_damaged_result_is_listed_with_its_error(tmp_path, text, message):
    (tmp_path / "good.json").write_text(json.dumps(COMPARED))
    (tmp_path / "x.json").write_text(text, encoding="latin-1")
    good, bad = find_results(tmp_path)
    assert (good["name"], good["kind"]) == ("good.json", "comparison")
    assert (bad["name"], bad["kind"]) == ("x.json", "damaged") and re.search(message, bad["body"])


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(RESULT)]
)
def test_pipes_devices_and_links_out_of_the_folder_are_not_read(tmp_path, make):
    make(tmp_path / "x.json")
    (found,) = find_results(tmp_path)
    assert found["kind"] == "damaged" and re.search("not a regular file|link out of", found["body"])


def test_result_with_a_name_that_is_not_utf8_is_listed(tmp_path):
    (tmp_path / os.fsdecode(b"\xe9.json")).write_text(json.dumps(COMPARED))
    assert [one["name"] for one in find_results(tmp_path)] == [r"\xe9.json"]
