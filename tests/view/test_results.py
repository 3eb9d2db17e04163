import json

from handaxe.view.results import find_results


def test_find_results_returns_name_kind_and_body(viewed, tmp_path):
    found, other = find_results(viewed)
    assert (found["name"], found["kind"]) == ("results/otc.json", "replication")
    assert (other["name"], other["kind"]) == ("results/sides.json", "comparison")
    assert found["body"] == json.loads((viewed / "results" / "otc.json").read_text())


def test_find_results_ignores_other_files(tmp_path):
    compared = {"seeds": [0, 1], "sides": {"a": {}}, "metrics": {"calls": {}}}
    (tmp_path / "both.json").write_text(json.dumps(compared))
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"claims": 1, "curves": 2}'), ("d", "[" * 5000), ("e", "\xff")):
        (tmp_path / f"{name}.json").write_text(text, encoding="latin-1")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "record.sqlite").touch()
    (tmp_path / "run" / "result.json").write_text(json.dumps(compared))
    assert [(one["name"], one["kind"]) for one in find_results(tmp_path)] == [("both.json", "comparison")]
