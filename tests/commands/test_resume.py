import json
import signal
import subprocess
import sys

from handaxe.cli import main
from handaxe.training.record.run_record import RunRecord


def test_a_finished_run_is_made_longer(run, capsys):
    result = run.parent / "result.json"
    assert main(["resume", str(run), "--steps", "3", "--quiet", "--json", str(result)]) == 0
    with RunRecord.open(run) as record:
        assert record.steps() == [0, 1, 2]
        assert [event.kind for event in record.events()] == ["started", "finished", "resumed", "finished"]
        assert record.about()["recipe"]["arguments"]["steps"] == 3
    assert json.loads(result.read_text())["steps"] == 3


def test_nothing_to_resume(tmp_path, capsys):
    assert main(["resume", str(tmp_path / "none")]) == 2
    assert "no run record" in capsys.readouterr().err


def test_a_run_of_a_script_is_sent_back_to_its_script(tmp_path, capsys):
    RunRecord(tmp_path / "run").close()
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "not made by a recipe" in capsys.readouterr().err


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(small_model, tmp_path):
    out = tmp_path / "run"
    code = "import sys; from handaxe.cli import main; sys.exit(main())"
    words = (
        f"train otc --steps 500 --groups 2 --group-size 2 --held-out 2 --max-tokens 8 --model {small_model} --out {out}"
    )
    command = [sys.executable, "-c", code, *words.split()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("step 2/500"):
            process.send_signal(signal.SIGINT)
            break
    shown, complaint = process.communicate()
    assert process.returncode == 130
    assert f"handaxe resume {out}" in shown and "Traceback" not in complaint
    with RunRecord.open(out) as record:
        done = len(record.steps())
        assert 2 <= done < 500 and record.events()[-1].kind == "interrupted"
    assert main(["resume", str(out), "--steps", str(done + 1), "--quiet"]) == 0
    with RunRecord.open(out) as record:
        assert record.steps() == list(range(done + 1))
