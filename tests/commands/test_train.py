import json
import sqlite3
import struct
import subprocess
import sys

import pytest

from handaxe.cli import main
from handaxe.commands.train import make_loggers, new_folder
from handaxe.training.record.run_record import RunRecord


def test_train_writes_record_checkpoint_and_result(finished, small_model):
    about = json.loads((finished / "recipe.json").read_text())
    assert about["recipe"]["name"] == "otc"
    saved = about["recipe"]["arguments"]
    assert (saved["steps"], saved["smooth"], saved["base"], saved["world.easy"]) == (2, 2.0, "grpo_no_kl", 0.5)
    assert about["recipe"]["command"].startswith("handaxe train otc --smooth 2 --model")
    assert [path.name for path in (finished / "checkpoints").iterdir()] == ["step-000002"]
    body = json.loads((finished.parent / "result.json").read_text())
    assert (body["method"], body["steps"], body["stopped"]) == ("otc", 2, "")
    assert body["before"]["pass@1"]["tasks"] == body["after"]["pass@1"]["tasks"] == 4
    assert set(body["difference"]["calls"]) >= {"difference", "low", "high", "verdict"}
    assert len(body["reward"]) == 2 and body["seconds"] > 0


def test_folder_in_use_is_an_error(run, small_model, capsys):
    assert main(["train", "otc", "--model", str(small_model), "--held-out", "2", "--out", str(run), "--quiet"]) == 2
    assert "there is a run in" in capsys.readouterr().err


def test_result_file_that_cannot_be_written_is_an_error_before_training(tmp_path, small_model, capsys):
    out = tmp_path / "run"
    assert main(["train", "otc", "--model", str(small_model), "--out", str(out), "--json", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err and not out.exists()


def test_unknown_method_argument_and_model_are_errors(tmp_path, capsys):
    assert main(["train", "otk"]) == 2
    assert capsys.readouterr().err == "error: there is no method 'otk'; did you mean otc or sport or orbit?\n"
    assert main(["train", "otc", "--stepz", "3"]) == 2
    assert "--stepz" in "".join(capsys.readouterr())
    assert main(["train"]) == 2
    assert "the method is missing" in capsys.readouterr().err
    assert main(["train", "otc", "--model", str(tmp_path), "--out", str(tmp_path / "run")]) in (1, 2)
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--base", "dap"), "there is no method 'dap'; did you mean dapo or "),
        (("--world", "jym"), "there is no world 'jym'; did you mean gym?"),
        (("--engine", "locl"), "there is no engine 'locl'; did you mean local?"),
        (("--tools", "calculater"), "there is no tool 'calculater'; did you mean calculator?"),
    ],
)
def test_unknown_base_world_engine_and_tool_are_errors(tmp_path, words, message, capsys):
    assert main(["train", "otc", "--model", "tiny", *words, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "run").exists()


OWN = """from dataclasses import replace

from handaxe.methods.method import Method
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.tools import tool
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import World

@tool
def double(number: int) -> int:
    'Double a number.'
    return 2 * number


def thrifty(base: Method, *, tolerance: float = 3.0) -> Method:
    '''Reward fewer calls.

    Args:
        tolerance: smoothness of the penalty.
    '''
    return replace(base, reward=fewer_calls(base=base.reward, smooth=tolerance))


def mine(*, share: float = 0.5) -> World:
    '''Arithmetic.

    Args:
        share: of easy tasks.
    '''
    return replace(arithmetic(easy=share), name="mine")
"""
OWN_PAGE = """
[[methods]]
name = "thrifty"
base = "dr_grpo"
settings = { max_tokens = 8, tools = ["own:double"] }
"""
SMALL = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--out", "run", "--quiet"]


def handaxe_(folder, *words):
    code = "import sys; from handaxe.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, cwd=folder)


def saved(folder):
    return json.loads((folder / "run" / "recipe.json").read_text())["recipe"]["arguments"]


@pytest.mark.slow
def test_users_own_method_world_and_tool_train(tmp_path, small_model):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "paper.toml").write_text(OWN_PAGE)
    words = ["--tolerance", "2", "--world", "own:mine", "--world.share", "0.25", "--base.max-length", "9"]
    done = handaxe_(tmp_path, "train", "own:thrifty", *words, *SMALL, "--model", small_model)
    assert done.returncode == 0, done.stderr
    found = saved(tmp_path)
    assert (found["tolerance"], found["world.share"], found["base"]) == (2.0, 0.25, "dr_grpo")
    assert (found["base.max_length"], found["tools"], found["max_tokens"]) == (9, ["own:double"], 8)
    assert "double" in handaxe_(tmp_path, "show", "run").stdout
    for command in (["eval", "run"], ["resume", "run", "--steps", "2", "--quiet"], ["replay", "run"]):
        again = handaxe_(tmp_path, *command)
        assert again.returncode == 0, again.stderr
    shown = handaxe_(tmp_path, "train", "own:thrifty", "--help").stdout
    assert "smoothness of the penalty" in shown and "--base.max-length INT" in shown
    wrong = handaxe_(tmp_path, "train", "own:thrify", *SMALL)
    assert wrong.returncode == 2 and "did you mean thrifty?" in wrong.stderr and "Traceback" not in wrong.stderr


CONVERT = """from handaxe.tools import tool


@tool
def convert(inches: float) -> float:
    'Convert inches to cm.'
    return 2.54 * inches
"""


@pytest.mark.slow
def test_users_own_questions_and_tool_train(tmp_path, small_model):
    questions = [{"question": f"how many cm are {n} inches?", "answer": 2.54 * n} for n in range(1, 60)]
    (tmp_path / "my.jsonl").write_text("\n".join(json.dumps(one) for one in questions))
    (tmp_path / "mytools.py").write_text(CONVERT)
    words = ["--base", "dapo", "--tools", "mytools:convert", "--max-tokens", "8", "--model", small_model, *SMALL]
    world = ["--world", "jsonl", "--world.score", "numeric_match"]
    done = handaxe_(tmp_path, "train", "otc", *words, *world, "--world.file", "my.jsonl")
    assert done.returncode == 0, done.stderr
    assert (saved(tmp_path)["world"], saved(tmp_path)["world.file"]) == ("jsonl", "my.jsonl")
    missing = handaxe_(tmp_path, "train", "otc", *words, *world)
    assert missing.returncode == 2 and "--world.file" in missing.stdout + missing.stderr


def test_help_needs_no_method(capsys):
    assert main(["train", "--help"]) == 0
    assert "grpo" in capsys.readouterr().out


def test_new_folders_do_not_collide(tmp_path, monkeypatch):
    monkeypatch.setattr("time.strftime", lambda form: "noon")
    first = new_folder(tmp_path, "otc")
    assert first == tmp_path / "otc-noon"
    first.mkdir()
    assert new_folder(tmp_path, "otc") == tmp_path / "otc-noon-2"


def test_tensorboard_gets_the_metrics(tmp_path):
    pytest.importorskip("tensorboard")
    assert make_loggers((), tmp_path, {}) == ()
    (logger,) = make_loggers(("tensorboard",), tmp_path, {})
    logger(0, {"reward": 0.5})
    logger.close()
    assert list((tmp_path / "tensorboard").glob("events*"))


@pytest.mark.slow
def test_run_logs_to_several_services(tmp_path, small_model, monkeypatch):
    """Weights & Biases offline, TensorBoard and Trackio at once, each read back."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    messages = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    pytest.importorskip("trackio")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    services = ["wandb", "tensorboard", "trackio"]
    done = handaxe_(tmp_path, "train", "otc", "--model", small_model, *SMALL, "--steps", "2", "--log", *services)
    assert done.returncode == 0, done.stderr
    with RunRecord.open(tmp_path / "run") as record:
        expected = [row["tokens/sampled"] for row in record.metrics()]
    found = events.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    assert [one.value for one in found.Scalars("tokens/sampled")] == expected
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert [row["tokens/sampled"] for row in wandb_rows(file.read_bytes(), messages)] == expected
    (file,) = (tmp_path / "trackio").glob("handaxe.db")
    with sqlite3.connect(file) as db:
        rows = [json.loads(text) for (text,) in db.execute("SELECT metrics FROM metrics ORDER BY step")]
    assert [row["tokens/sampled"] for row in rows] == expected


def wandb_rows(data, messages):
    """Metrics of each step in the file of an offline run: a log in blocks of 32 KiB, as of LevelDB."""
    place, whole = 7, b""  # after the header of the file
    while place + 7 <= len(data):
        if (left := 32768 - place % 32768) < 7:
            place += left
            continue
        length, kind = struct.unpack("<4xHB", data[place : place + 7])
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind not in (1, 4):  # a record goes on in the next block
            continue
        record = messages.Record.FromString(whole)
        whole = b""
        if record.HasField("history"):
            yield {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in record.history.item}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--log", "tensorboard", "tensorboard"], "--log names tensorboard twice"),
        (["--log", "wandb"], "--log wandb needs a package: pip install 'handaxe[wandb]'"),
    ],
)
def test_wrong_services_are_refused_before_the_run(words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name == "wandb" else object())
    assert message in refused(capsys, "--out", tmp_path / "run", *words)
    assert not (tmp_path / "run").exists()


def refused(capsys, *words):
    """The error line of a refused command."""
    assert main(["train", "otc", *map(str, words)]) == 2
    streams = capsys.readouterr()
    assert streams.err.startswith("error: ") and streams.err.count("\n") == 1
    return streams.err


def test_folder_is_checked_before_a_model_is_loaded(run, tmp_path, capsys, monkeypatch):
    def load(spec, keep):
        raise AssertionError("the run started")

    monkeypatch.setattr("handaxe.methods.run.run", load)
    line = refused(capsys, "--out", run)
    assert f"there is a run in {run} already: `handaxe resume {run}` continues it, --out names another folder" in line
    (tmp_path / "file").write_text("")
    assert f"{tmp_path / 'file'} is a file; name another one" in refused(capsys, "--out", tmp_path / "file")
    assert "is a file; name another one" in refused(capsys, "--out", tmp_path / "file" / "run")
    with monkeypatch.context() as patched:
        patched.setattr("os.access", lambda path, mode: False)
        assert "there is no permission to write in" in refused(capsys, "--out", tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()


def test_misspelt_model_and_group_size_of_one_are_errors_before_loading(tmp_path, capsys, monkeypatch):
    line = refused(capsys, "--out", tmp_path / "run", "--model", "smolm2", "--quiet")
    assert "no model, folder or file is named 'smolm2'; did you mean smollm2?" in line
    monkeypatch.setattr("handaxe.methods.build.load", lambda where: pytest.fail("a model was loaded"))
    line = refused(capsys, "--out", tmp_path / "run", "--group-size", 1, "--quiet")
    assert "a group size of 1 leaves every rollout without siblings" in line
    assert not (tmp_path / "run").exists()


def test_train_prints_claims_and_the_command_that_decides_them(small_model, tmp_path, capsys):
    words = ["--model", str(small_model), *SMALL[:-3], "--out", str(tmp_path / "run"), "--quiet"]
    assert main(["train", "grpo", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(pass@1 up, against start)" in shown
    assert "decide handaxe replicate grpo" in shown
    assert main(["show", str(tmp_path / "run")]) == 0


DYING = '''from dataclasses import replace

from handaxe.core.errors import VerifierError


def dying(base):
    """Score with a judge that is offline."""

    def reward(group):
        raise VerifierError("the judge is \\x1b[2Joffline")

    return replace(base, reward=reward)
'''


@pytest.mark.slow
def test_run_without_scored_rollouts_fails_and_so_does_its_resume(tmp_path, small_model, monkeypatch, capsys):
    (tmp_path / "own_dying.py").write_text(DYING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["train", "own_dying:dying", "--world", "arithmetic", "--model", small_model, "--max-tokens", "8", *SMALL]
    for command in (words, ["resume", "run", "--quiet"]):
        assert main([str(word) for word in command]) == 1
        error = capsys.readouterr().err
        assert "Traceback" not in error and "\x1b" not in error
        assert error.startswith("error: step 0: ") and "VerifierError: the judge is \\x1b[2Joffline" in error
        assert "`handaxe resume run`" in error
    with RunRecord.open(tmp_path / "run") as record:
        assert [event.kind for event in record.events()] == ["started", "failed", "started", "failed"]
