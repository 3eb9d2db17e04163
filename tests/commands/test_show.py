import json
import re

import numpy as np
import pytest
from helpers import played
from helpers.group_records import recorded_group

from handaxe.cli import main
from handaxe.core.records import Advantages, Message, Scores, Task, ToolCall
from handaxe.tools import tool
from handaxe.training.record.run_record import RunRecord


@tool
def look(query: str) -> str:
    """Look something up.

    Args:
        query: words.
    """
    return f"{query}\x1b[2J[red]<END>"


def recorded(group, outcomes, scored):
    """Record of a group; unscored siblings have neither score nor advantage."""
    seen = [t for t, s in zip(group, scored) if s]
    advantages = tuple(tuple(np.where(q.mask, value, 0.0) for q in t.sequences) for t, value in zip(seen, outcomes))
    values = np.array(outcomes, float)
    scores = Scores(values, channels={"part": values * 2})
    return recorded_group(group, scores, Advantages(advantages), scored=scored)


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "run"
    script = [ToolCall("look", {"query": "it"}), "done"]
    tasks = [Task(name, (Message("user", "Q"),)) for name in ("easy", "hard\x1b[2J")]
    easy, hard = (played.play(task, look, script) for task in tasks)
    with RunRecord(where) as record:
        record.write_about({"recipe": None, "arguments": {"format": "handaxe.models.chat_formats.compact.Compact"}})
        record.write_event(0, "started", "\x1b]0;x\x07")
        groups = [recorded(easy, [1, 1, 1], [True] * 3), recorded(hard, [-0.5, 0.75], [True, False, True])]
        record.write_step(0, groups, {"reward": 0.5})
        record.write_step(1, [], {"reward": 0.75})
    return where


def shown(capsys, *words):
    code = main(["show", *map(str, words)])
    streams = capsys.readouterr()
    text = streams.out + streams.err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), "trap 40"
    return code, text


def test_default_rollout_is_the_best_of_the_group_with_different_scores(folder, capsys):
    code, text = shown(capsys, folder, "--step", 1)
    assert code == 0 and "hard\\x1b[2J, sample 3" in text
    assert "outcome 0.750" in text and "part 1.500" in text and "+0.750" in text
    assert "siblings   1: -0.50   2: completed   3: 0.75" in text
    assert "it\\x1b[2J[red]<END>" in text and "started after 0 steps \\x1b]0;x\\x07" in text


def test_task_and_sample_can_be_chosen(folder, capsys):
    code, text = shown(capsys, folder, "--step", 1, "--task", "ea", "--sample", 2, "--tokens")
    assert code == 0 and "easy, sample 2" in text and "+1.000" in text and "behaviour" in text
    code, text = shown(capsys, folder, "--step", 1, "--task", "hard\x1b[2J", "--sample", 2)
    assert code == 0 and "not scored" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--step", 7], "there is no step 7"),
        (["--step", 0], "there is no step 0 in"),
        (["--step", 3], "it has steps 1 to 2"),
        (["--step", 2], "step 2 in"),
        (["--step", 1, "--task", "none"], "there are easy, hard\\x1b[2J"),
        (["--step", 1, "--task", "easy", "--sample", 9], "there are 1, 2, 3"),
    ],
)
def test_unknown_step_task_or_sample_is_an_error(folder, capsys, words, message):
    code, text = shown(capsys, folder, *words)
    assert code == 2 and message in text


def test_json_has_metrics_evaluations_and_events(folder, capsys, tmp_path):
    file = tmp_path / "show.json"
    shown(capsys, folder, "--step", 1, "--json", file)
    body = json.loads(file.read_text())
    assert [row["reward"] for row in body["metrics"]] == [0.5, 0.75] and body["evaluations"] == {}
    assert body["events"][0]["kind"] == "started"


def test_run_of_an_unknown_format_shows_ids(folder, capsys):
    (folder / "recipe.json").unlink()
    code, text = shown(capsys, folder, "--step", 1)
    assert code == 0 and "<258>" in text


def test_run_of_a_method_is_shown_as_text(finished, capsys):
    code, text = shown(capsys, finished)
    assert code == 0 and "<USER>" in text and "eval/pass@1" in text


def test_run_without_a_step_is_shown(tmp_path, capsys):
    RunRecord(tmp_path / "run").close()
    assert shown(capsys, tmp_path / "run")[0] == 0


def test_existing_samples_are_listed_once(folder, capsys):
    code, text = shown(capsys, folder, "--step", 1, "--sample", 44)
    assert code == 2 and "there is no sample 44 in this step; there are 1, 2, 3\n" in text


def test_unknown_metric_is_an_error(folder, finished, capsys):
    code, text = shown(capsys, folder, "--metrics", "rewart")
    assert code == 2 and "the run has no metric 'rewart'; did you mean reward? There are reward\n" in text
    code, text = shown(capsys, finished, "--metrics", "qqqq", "reward")
    assert (
        code == 2 and "no metric 'qqqq'; there are " in text and "ending/infra_error" in text and text.count("\n") == 1
    )
    assert shown(capsys, finished, "--metrics", "eval/pass@1", "grad_norm")[0] == 0


def test_omitted_steps_metrics_and_rollouts_are_counted(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with RunRecord(folder) as record:
        for step in range(2, 14):
            record.write_step(step, [], {"reward": 0.5, "other": 1.0})
    text = shown(capsys, folder, "--step", 1, "--metrics", "reward")[1]
    assert (
        "left out   2 of 14 steps and 1 of 2 metrics: --metrics NAME ... chooses metrics, --json FILE has all" in text
    )
    assert "rollout    step 1 of 14, group 2 of 2 (" in text and "sample 3 of 3" in text
    assert "left out   1 of 2 groups of the step, 2 of 3 siblings, log-probs of single tokens: --task ID" in text
    text = shown(capsys, folder, "--step", 1, "--metrics", "reward", "other", "--tokens")[1]
    assert "left out   2 of 14 steps: " in text and "log-probs of single tokens" not in text
    rows = re.findall(r"^ +(\d+) +0.[57]", text, re.MULTILINE)
    assert rows[0] == "1" and rows[-1] == "14" and len(rows) == 12
