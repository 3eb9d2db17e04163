"""Runs on ranks from the command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.training.record.run_record import RunRecord

pytestmark = pytest.mark.slow
SMALL = ["--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "8", "--quiet"]


def test_run_on_two_ranks_resumes_in_one_process_and_evaluates_on_one_rank(small_model, tmp_path):
    words = ["otc", "--model", str(small_model), *SMALL, "--steps", "2", "--trainers", "2"]
    assert main(["train", *words, "--out", str(tmp_path / "ranks")]) == 0
    assert main(["resume", str(tmp_path / "ranks"), "--steps", "3", "--quiet"]) == 0
    with RunRecord.open(tmp_path / "ranks") as record:
        assert record.steps() == [0, 1, 2]
    result = tmp_path / "eval.json"
    words = ["eval", str(tmp_path / "ranks"), "--tasks", "2", "--trainers", "1", "--json", str(result)]
    assert main(words) == 0
    assert json.loads(result.read_text())["steps"] == 3


def test_ctrl_c_ends_all_ranks(small_model, tmp_path):
    code = "import sys; from handaxe.cli import main; sys.exit(main())"
    words = ["train", "otc", "--model", str(small_model), *SMALL[:-1], "--steps", "500", "--trainers", "1"]
    command = [sys.executable, "-c", code, *words, "--out", str(tmp_path / "run")]
    with processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith("step 1/500"):
                ranks = children(process.pid)
                process.send_signal(signal.SIGINT)
                break
        shown, errors = process.communicate()
    assert process.returncode == 130 and "handaxe resume" in shown and "Traceback" not in errors
    assert ranks and not any(Path(f"/proc/{pid}").exists() for pid in ranks)


def children(pid):
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text().split()]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--servers", "a"], "give addresses such as"),
        (["--trainers", "-1"], "--trainers -1"),
        (["--ray", "auto"], "--trainers N"),
    ],
)
def test_wrong_machines_are_an_error(small_model, tmp_path, words, message, capsys):
    assert main(["train", "otc", "--model", str(small_model), "--out", str(tmp_path / "run"), *words]) == 2
    assert message in capsys.readouterr().err and not os.path.exists(tmp_path / "run")
