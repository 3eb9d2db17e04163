import json
import signal
import subprocess
import sys
import time

import pytest
from helpers import processes

from handaxe.cli import main
from handaxe.training.record.run_record import RunRecord


@pytest.mark.slow
def test_resume_extends_a_finished_run(run, capsys):
    result = run.parent / "result.json"
    assert main(["resume", str(run), "--steps", "3", "--quiet", "--json", str(result)]) == 0
    with RunRecord.open(run) as record:
        assert record.steps() == [0, 1, 2]
        assert [event.kind for event in record.events()] == ["started", "finished", "resumed", "finished"]
        assert record.about()["recipe"]["arguments"]["steps"] == 3
    assert json.loads(result.read_text())["steps"] == 3


def test_missing_run_is_an_error(tmp_path, capsys):
    assert main(["resume", str(tmp_path / "none")]) == 2
    assert "no run record" in capsys.readouterr().err


def test_run_of_a_script_names_its_script(tmp_path, capsys):
    RunRecord(tmp_path / "run").close()
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "not made by a method" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ignored"),
    [
        pytest.param(signal.SIGINT, "", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "", marks=pytest.mark.slow),
        (signal.SIGTERM, "signal.signal(signal.SIGINT, signal.SIG_IGN); "),
    ],
    ids=["ctrl-c", "kill", "kill after nohup"],
)
def test_signal_stops_a_run_after_its_step_with_the_resume_command(number, ignored, small_model, tmp_path):
    out = tmp_path / "run"
    code = f"import signal, sys; {ignored}from handaxe.cli import main; sys.exit(main())"
    words = (
        f"train otc --steps 500 --groups 2 --group-size 2 --held-out 2 --max-tokens 8 --model {small_model} --out {out}"
    )
    command = [sys.executable, "-c", code, *words.split()]
    process = processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("step 1/500"):
            process.send_signal(number)
            break
    shown, errors = process.communicate()
    assert process.returncode == 130
    assert f"handaxe resume {out}" in shown and "Traceback" not in errors
    with RunRecord.open(out) as record:
        done = len(record.steps())
        assert 1 <= done < 500 and record.events()[-1].kind == "interrupted"
    assert main(["resume", str(out), "--steps", str(done + 1), "--quiet"]) == 0
    with RunRecord.open(out) as record:
        assert record.steps() == list(range(done + 1))


def test_resume_of_a_finished_run_changes_nothing(run, capsys):
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if not path.name.startswith("record.sqlite-")}
    for words in ([], ["--steps", "1"]):
        assert main(["resume", str(run), *words, "--json", str(run.parent / "result.json")]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"finished   all 2 steps of {run} are done; `handaxe resume {run} --steps 4` extends")
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*") if path in before} == before
    assert json.loads((run.parent / "result.json").read_text())["steps"] == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"recipe": 5}', '{"recipe": {"name": "otc", "arguments": [1]}}'])
@pytest.mark.parametrize("command", ["resume", "eval", "replay"])
def test_damaged_recipe_json_is_one_line(run, capsys, command, text):
    (run / "recipe.json").write_text(text)
    code, streams = main([command, str(run)]), capsys.readouterr()
    line = streams.err
    assert "Traceback" not in streams.out + line and line.count("\n") <= 1
    assert code == 2 and line.startswith(f"error: {run / 'recipe.json'} is damaged: ")


def test_run_with_a_damaged_recipe_json_is_shown(run, capsys):
    (run / "recipe.json").write_text("{")
    assert main(["show", str(run)]) == 0 and "reward" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["resume", "show", "eval", "replay"])
@pytest.mark.parametrize("what", ["empty", "missing", "file"])
def test_folder_without_a_run_is_one_line(tmp_path, capsys, command, what):
    folder = tmp_path / "run"
    if what == "empty":
        folder.mkdir()
    elif what == "file":
        folder.write_text("")
    assert main([command, str(folder)]) == 2
    assert capsys.readouterr().err == f"error: there is no run record in {folder}: record.sqlite is missing\n"


SLOW = '''import time

from dataclasses import replace

from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import World


def slow() -> World:
    """Arithmetic with slow tasks and slow scoring."""
    made = arithmetic()

    def tasks(*asked):
        print("making tasks", flush=True)
        time.sleep({building})
        return made.tasks(*asked)

    def correct(group):
        print("scoring", flush=True)
        time.sleep({judging})
        return made.correct(group)

    return replace(made, tasks=tasks, correct=correct)
'''


@pytest.mark.parametrize(("building", "judging"), [(5, 0), pytest.param(0, 5, marks=pytest.mark.slow)])
def test_ctrl_c_before_the_first_step_prints_how_to_continue(small_model, tmp_path, building, judging):
    """Ctrl-C during the making of the world leaves no folder; Ctrl-C in the first evaluation leaves a run to resume."""
    (tmp_path / "lazy.py").write_text(SLOW.format(building=building, judging=judging))
    code = "import sys; from handaxe.cli import main; sys.exit(main())"
    shape = "--groups 2 --group-size 2 --max-tokens 8 --steps 1"
    words = f"train grpo --world lazy:slow --held-out 2 {shape} --out run --model {small_model}"
    command = [sys.executable, "-c", code, *words.split()]
    process = processes.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    for line in process.stdout:
        if line.strip() == ("making tasks" if building else "scoring"):
            process.send_signal(signal.SIGINT)
            if not building:
                time.sleep(0.2)
                process.send_signal(signal.SIGINT)
            break
    _, errors = process.communicate()
    assert process.returncode == 130 and "Traceback" not in errors
    if building:
        assert "nothing was written, and the same command starts it" in errors and "resume" not in errors
        assert not (tmp_path / "run").exists()
        return
    assert "stopped with 0 of 1 steps done. `handaxe resume run`" in errors.replace("\n", " ")
    (tmp_path / "lazy.py").write_text(SLOW.format(building=0, judging=0))
    done = subprocess.run([sys.executable, "-c", code, "resume", "run"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
