import json
import re
import sqlite3

import numpy as np
import pytest

from handaxe.cli import main
from handaxe.ops.codec import pack, unpack
from handaxe.training.record.run_record import RunRecord


def replayed(capsys, *words):
    code = main(["replay", *map(str, words)])
    streams = capsys.readouterr()
    text = streams.out + streams.err
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    return code, text


def tamper(run, query, *values):
    with sqlite3.connect(run / "record.sqlite") as db:
        db.execute(query, values)
    db.close()


@pytest.mark.parametrize("words", [[], ["--tools"], ["--step", 1]])
def test_replay_of_an_unchanged_run_is_equal(finished, capsys, words):
    code, text = replayed(capsys, finished, *words)
    count = 4 if words == ["--step", 1] else 8
    assert code == 0 and f"{count} trajectories of" in text
    rows = dict(re.findall(r"^\s*(\w+)\s+(\d+)\s+\d+\s*$", text, re.MULTILINE))
    assert rows["ids"] == rows["replies"] == rows["trajectories"] == str(count)
    assert ("state" in rows) == (words == ["--tools"])


def test_replay_needs_no_weights(finished, small_model, capsys):
    weights = small_model / "model.safetensors"
    aside = weights.rename(weights.with_suffix(".away"))
    try:
        code, text = replayed(capsys, finished)
    finally:
        aside.rename(weights)
    assert code == 0 and "8 trajectories of" in text


def test_trajectory_and_step_select_rollouts(finished, capsys):
    with RunRecord.open(finished) as record:
        name = record.trajectories(step=1)[2].id
    code, text = replayed(capsys, finished, "--trajectory", name)
    assert code == 0 and "1 trajectories of" in text
    code, text = replayed(capsys, finished, "--step", 2, "--trajectory", name[:-1])
    assert code == 2 and f"{name[:-1]!r} is the start of 2 trajectory ids in" in text and name in text
    code, text = replayed(capsys, finished, "--trajectory", name + "7")
    assert code == 2 and "there is no trajectory" in text and name in text
    code, text = replayed(capsys, finished, "--step", 5)
    assert code == 2 and "there is no step 5" in text and "steps 1 to 2" in text


def test_changed_token_id_is_reported(run, capsys, tmp_path):
    """Changes the third id of the prompt of the third trajectory."""
    with sqlite3.connect(run / "record.sqlite") as db:
        (blob,) = db.execute("SELECT ids FROM sequences WHERE trajectory = 3 AND place = 0").fetchone()
        (name,) = db.execute("SELECT name FROM trajectories WHERE id = 3").fetchone()
    db.close()
    ids = unpack(blob)
    was = int(ids[2])
    ids[2] = 7
    tamper(run, "UPDATE sequences SET ids = ? WHERE trajectory = 3 AND place = 0", pack(ids))
    file = tmp_path / "result.json"
    code, text = replayed(capsys, run, "--json", file)
    assert code == 1 and f"requests of {name}, turn 0, sequence 0, token 2" in text
    assert "recorded  id 7" in text and f"replayed  id {was}" in text
    body = json.loads(file.read_text())
    assert body["trajectories"] == 8 and body["equal"] == 7 and body["kinds"]["requests"] == 7
    (difference,) = body["differences"]
    assert difference["trajectory"] == name and difference["token"] == 2


def test_text_of_differences_is_escaped_and_cut(run, capsys):
    messages = json.dumps([{"role": "user", "content": "\x1b[2J" * 999, "calls": [], "call_id": "", "name": ""}])
    tamper(run, "UPDATE trajectories SET messages = ?", messages)
    code, text = replayed(capsys, run, "--show", 2)
    assert code == 1 and "left out" in text and "more; --show N lists" in text and len(text) < 3000
    assert np.all([len(line) < 300 for line in text.splitlines()])


def test_run_without_rollouts_is_an_error(run, capsys):
    tamper(run, "DELETE FROM groups")
    code, text = replayed(capsys, run)
    assert code == 2 and "there is no rollout in" in text
