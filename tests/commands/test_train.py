import json

import pytest

from handaxe.cli import main
from handaxe.commands.train import make_loggers, new_folder


def test_a_run_leaves_record_checkpoint_and_result(finished, small_model):
    about = json.loads((finished / "recipe.json").read_text())
    assert about["recipe"]["name"] == "otc"
    assert about["recipe"]["arguments"]["steps"] == 2
    assert about["recipe"]["command"].startswith("handaxe train otc --model")
    assert [path.name for path in (finished / "checkpoints").iterdir()] == ["step-000002"]
    body = json.loads((finished.parent / "result.json").read_text())
    assert (body["recipe"], body["steps"], body["stopped"]) == ("otc", 2, "")
    assert body["before"]["pass@1"]["tasks"] == body["after"]["pass@1"]["tasks"] == 4
    assert set(body["difference"]["calls"]) >= {"difference", "low", "high", "verdict"}
    assert len(body["reward"]) == 2 and body["seconds"] > 0


def test_a_folder_in_use_is_refused(run, small_model, capsys):
    assert main(["train", "otc", "--model", str(small_model), "--held-out", "2", "--out", str(run), "--quiet"]) == 2
    assert "there is a run in" in capsys.readouterr().err


def test_a_result_file_that_cannot_be_written_is_found_out_before_training(tmp_path, small_model, capsys):
    out = tmp_path / "run"
    assert main(["train", "otc", "--model", str(small_model), "--out", str(out), "--json", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err and not out.exists()


def test_unknown_recipe_argument_and_model(tmp_path, capsys):
    assert main(["train", "otk"]) == 2
    assert capsys.readouterr().err == "error: there is no recipe 'otk'; did you mean otc?\n"
    assert main(["train", "otc", "--stepz", "3"]) == 2
    assert "--stepz" in "".join(capsys.readouterr())
    assert main(["train"]) == 2
    assert "which recipe?" in capsys.readouterr().err
    assert main(["train", "otc", "--model", str(tmp_path), "--out", str(tmp_path / "run")]) in (1, 2)
    assert "error:" in capsys.readouterr().err


def test_help_needs_no_recipe(capsys):
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
    assert make_loggers(None, tmp_path, {}) == ()
    (logger,) = make_loggers("tensorboard", tmp_path, {})
    logger(0, {"reward": 0.5})
    logger.close()
    assert list((tmp_path / "tensorboard").glob("events*"))
