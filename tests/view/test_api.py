import json
import math
import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from helpers.group_records import with_rollouts

from handaxe.core.errors import InputError
from handaxe.training.record.run_record import RunRecord
from handaxe.view.api import ViewApi, reward_documentation, to_json


@pytest.fixture
def answers(viewed, decoder):
    made = ViewApi(viewed, decoder)
    yield made
    made.close()


def test_runs_have_last_metrics(answers):
    found = answers.answer("runs", {})
    first, second = found["runs"]
    assert (first["name"], first["method"], first["seed"], first["steps"], first["rollouts"]) == (
        "seed-0",
        "grpo",
        0,
        3,
        11,
    )
    assert first["setting"] == second["setting"] != "" and first["state"] == "finished"
    assert second["figures"]["training/reward"] == pytest.approx(0.5)


def test_run_has_tools_steps_and_documentation_of_its_reward(answers):
    found = answers.answer("run", {"run": "seed-0"})
    assert found["tools"] == ["look"] and found["steps"] == [0, 1, 2]
    assert found["reward"]["text"].startswith("Give 1")
    assert {"trained", "unselected"} < set(found["fates"]) and {"correct", "incorrect"} < set(found["outcomes"])
    assert "format" in found["silent"] and "right" not in found["silent"]


def test_step_has_siblings_with_class_channels_and_reason_for_a_missing_gradient(answers):
    found = answers.answer("step", {"run": "seed-0", "step": "2"})
    assert (found["previous"], found["next"]) == (1, None)
    varied, equal = found["groups"]
    assert [one["class"] for one in varied["siblings"]] == ["correct", "incorrect", "incorrect"]
    assert [one["score"] for one in varied["siblings"]] == [1.0, 0.0, 0.0]
    assert all(one["why"] is None for one in varied["siblings"])
    assert [one["why"]["kind"] for one in equal["siblings"]] == ["equal_group"] * 2
    format, right = varied["siblings"][0]["channels"]
    assert (right["name"], right["value"], right["low"], right["high"]) == ("right", 1.0, 0.0, 1.0)
    assert format["low"] == format["high"] == 1.0
    fork = varied["siblings"][2]["branch"]
    assert fork["of"] == varied["siblings"][1]["id"] and varied["siblings"][0]["branch"] is None


def test_rollout_has_every_token_of_the_record(answers, viewed):
    row = answers.answer("step", {"run": "seed-0", "step": "0"})["groups"][0]["siblings"][0]["id"]
    found = answers.answer("rollout", {"run": "seed-0", "id": str(row)})
    with RunRecord.open(viewed / "seed-0") as record:
        group, place = record.group_of(row)
    recorded, shown = group.played.group[place].sequences[0], found["sequences"][0]
    assert shown["id"] == recorded.ids.tolist() and sum(length for _, length in shown["text"]) == len(recorded)
    sampled = np.flatnonzero(recorded.mask)
    assert [np.float32(shown["logp"][t]) for t in sampled] == recorded.logp[sampled].tolist()
    assert [shown["advantage"][t] for t in sampled] == group.advantages.tokens[place][0][sampled].tolist()
    assert all(shown["logp"][t] is None and not shown["gradient"][t] for t in np.flatnonzero(~recorded.mask))
    assert shown["gradient"] == ((group.advantages.tokens[place][0] != 0) & recorded.mask).tolist()
    assert "".join(text for text, _ in shown["text"]).endswith("it is caf\u00e9<END>")
    turn = found["turns"][0]
    assert [one["role"] for one in found["turns"]] == ["planner", "speaker"]
    assert turn["calls"][0]["name"] == "look" and turn["replies"][0]["content"] == "found it"
    assert found["next"] is not None and len(found["siblings"]) == 3


def test_rows_are_sorted_filtered_searched_and_paged(answers):
    every = answers.answer("rows", {"run": "seed-0", "sort": "score", "falling": "1"})
    place = every["columns"].index("score")
    scores = [row[place] for row in every["rows"]]
    assert every["total"] == every["filtered"] == len(scores) == 11 and scores == sorted(scores, reverse=True)
    page = answers.answer("rows", {"run": "seed-0", "sort": "score", "falling": "1", "start": "3", "length": "2"})
    assert page["rows"] == every["rows"][3:5]
    found = answers.answer("rows", {"run": "seed-0", "text": "CONSTRUCTOR", "outcome": "correct"})
    assert found["filtered"] == 2 and found["total"] == 11
    assert answers.answer("rows", {"run": "seed-0", "first": "1", "last": "1"})["filtered"] == 3
    assert answers.answer("rows", {"run": "seed-0", "tool": "other"})["filtered"] == 0


def test_rows_follow_a_run_that_writes_and_rolls_back(tmp_path, decoder, viewed):
    with RunRecord.open(viewed / "seed-0") as record:
        (group,) = record.groups(step=0)
    with RunRecord(tmp_path / "live") as record:
        record.write_step(0, [group], {"reward": 0.0})
        answers = ViewApi(tmp_path, decoder)
        before, pulse = answers.answer("rows", {"run": "live"}), answers.answer("pulse", {"run": "live"})
        later = with_rollouts(group, replace(group.group, step=1))
        record.write_step(1, [later], {"reward": 1.0})
        after = answers.answer("rows", {"run": "live"})
        assert (before["total"], after["total"]) == (3, 6) and answers.answer("pulse", {"run": "live"}) != pulse
        assert answers.answer("curves", {"run": "live"})["metrics"]["training/reward"] == [[1, 2], [0.0, 1.0]]
        record.roll_back(1)
        assert answers.answer("rows", {"run": "live"})["total"] == 3
        answers.close()


def test_bands_average_runs_with_equal_settings(answers):
    setting = answers.answer("runs", {})["runs"][0]["setting"]
    found = answers.answer("bands", {"setting": setting, "metric": "training/reward", "axis": "steps"})
    assert found["runs"] == ["seed-0", "seed-1"] and found["band"]["x"] == [1.0, 2.0, 3.0]
    assert found["band"]["mean"] == pytest.approx([0.05, 0.25, 0.45])
    assert all(low < mean < high for low, mean, high in zip(*(found["band"][name] for name in ("low", "mean", "high"))))
    assert answers.answer("bands", {"setting": "", "metric": "training/reward"})["band"] is None


@pytest.mark.parametrize(
    "name, query, message",
    [
        ("nothing", {}, "no query"),
        ("run", {"run": "../seed-0"}, "no run"),
        ("step", {"run": "seed-0", "step": "9"}, "no step 10 in this run; it has steps 1 to 3"),
        ("step", {"run": "seed-0"}, "step is missing"),
        ("step", {"run": "seed-0", "step": "1.5"}, "whole number"),
        ("rollout", {"run": "seed-0", "id": "999"}, "no trajectory"),
        ("rows", {"run": "seed-0", "sort": "id; DROP"}, "no order"),
        ("rows", {"run": "seed-0", "low": "nan"}, "finite"),
        ("rows", {"run": "seed-0", "low": "x"}, "give a number"),
        ("rows", {"run": "seed-0", "text": "x" * 1001}, "more than 1000"),
    ],
)
def test_wrong_query_raises(answers, name, query, message):
    with pytest.raises(InputError, match=message):
        answers.answer(name, query)


def test_to_json_converts_every_value():
    value = {"a": math.nan, 1: (np.float32(0.5), np.arange(2)), "b": {"c": object}}
    assert json.loads(json.dumps(to_json(value), allow_nan=False)) == {
        "a": None,
        "1": [0.5, [0, 1]],
        "b": {"c": str(object)},
    }


def test_reward_documentation_reads_only_rewards_of_handaxe():
    assert reward_documentation("handaxe.rewards.exact_match.exact_match").startswith("Give 1")
    assert reward_documentation("os.path.join") == reward_documentation("handaxe.rewards.nothing.nothing") == ""


DAMAGES = {
    "metric": "UPDATE metrics SET value = 'abc'",
    "metric name": "UPDATE metrics SET name = x'fffe' WHERE name = 'reward'",
    "event": "UPDATE events SET time = x'ff'",
    "evaluation": 'INSERT INTO evaluations VALUES (1, \'{"evaluation": "{}"}\')',
    "table": "DROP TABLE steps",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_run_is_listed_beside_the_others(tmp_path, viewed, decoder, damage):
    for name in ("bad", "good"):
        shutil.copytree(viewed / "seed-0", tmp_path / name)
    with sqlite3.connect(tmp_path / "bad" / "record.sqlite") as db:
        db.execute(damage)
    db.close()
    answers = ViewApi(tmp_path, decoder)
    found = answers.answer("runs", {})
    assert [run["name"] for run in found["runs"]] == ["good"]
    assert [one["name"] for one in found["damaged"]] == ["bad"] and found["damaged"][0]["error"]
    assert answers.answer("pulse", {})["good"]
    setting = found["runs"][0]["setting"]
    assert "good" in answers.answer("bands", {"setting": setting, "metric": "training/reward"})["runs"]
    assert answers.answer("rows", {"run": "good"})["total"] == 11
    answers.close()


def test_times_that_are_no_numbers_hide_nothing(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "record.sqlite") as db:
        db.execute("UPDATE steps SET time = 'abc'")
    db.close()
    answers = ViewApi(tmp_path, decoder)
    assert [run["name"] for run in answers.answer("runs", {})["runs"]] == ["run"]
    assert answers.answer("pulse", {"run": "run"})[:2] == [3.0, 0.0]
    answers.close()


def test_recipe_with_other_types_gives_text(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    arguments = {"world": ["<b>"], "seed": {"x": 1}, "model": None}
    (tmp_path / "run" / "recipe.json").write_text(json.dumps({"recipe": {"name": {"a": 1}, "arguments": arguments}}))
    answers = ViewApi(tmp_path, decoder)
    (run,) = answers.answer("runs", {})["runs"]
    assert (run["method"], run["world"], run["seed"], run["model"]) == ("{'a': 1}", "['<b>']", "{'x': 1}", None)
    answers.close()


def test_damaged_recipe_file_is_listed_and_the_run_is_shown(tmp_path, viewed, decoder):
    shutil.copytree(viewed / "seed-0", tmp_path / "run")
    (tmp_path / "run" / "recipe.json").write_text('{"a": ' + "[" * 900 + "]" * 900 + "}")
    answers = ViewApi(tmp_path, decoder)
    found = answers.answer("runs", {})
    assert [run["name"] for run in found["runs"]] == ["run"]
    assert "nests deeper" in found["damaged"][0]["error"]
    answers.close()
