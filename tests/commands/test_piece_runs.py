"""Tests that a run of a policy of pieces trains, resumes, and loads in every command."""

import json

import pytest

from handaxe.cli import main
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.load import dummy_policy, load, load_format
from handaxe.training.record.run_record import RunRecord

pytest.importorskip("tokenizers")
from helpers.piece_policy import piece_policy, vocabulary  # noqa: E402

SIZES = ["--steps", "1", "--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "8", "--quiet"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run of one step, from a saved model."""
    folder = tmp_path_factory.mktemp("pieces")
    piece_policy().model.save(folder / "start")
    words = ["train", "grpo", "--world", "arithmetic", "--model", str(folder / "start"), "--out", str(folder / "run")]
    assert main([*words, *SIZES]) == 0
    return folder / "run"


def test_saved_model_loads_with_its_vocabulary(tmp_path):
    policy = piece_policy()
    policy.model.save(tmp_path)
    for format in (load(str(tmp_path)).format, load(policy.model).format, load_format(tmp_path)):
        assert isinstance(format, Pieces) and format.vocabulary == vocabulary()
    (tmp_path / "model.safetensors").unlink()
    dummy = dummy_policy(tmp_path)
    assert dummy.model.vocab_size == policy.model.vocab_size and isinstance(dummy.format, Pieces)


def test_run_loads_with_the_ids_of_training(run):
    model, format = load(run)
    assert isinstance(format, Pieces) and model.pieces == vocabulary()
    with RunRecord.open(run) as record:
        played = record.trajectories()
    assert played
    for one in played:
        for sequence in one.sequences:
            assert sequence.ids.max() < format.vocab_size
        opening = format.start(one.task.messages, one.tools).ids
        assert one.sequences[0].ids[: len(opening)].tolist() == opening
        for turn in one.turns:
            ids = one.sequences[turn.sequence].ids[turn.start : turn.stop].tolist()
            assert format.parse(ids, one.tools).text == turn.parsed.text


def test_run_is_continued(run):
    assert main(["resume", str(run), "--steps", "2", "--quiet"]) == 0


@pytest.mark.parametrize("command", ["show", "eval", "replay"])
def test_commands_read_the_run(run, command, capsys):
    words = {"show": ["--step", "1"], "eval": ["--tasks", "2"], "replay": []}[command]
    assert main([command, str(run), *words]) == 0, capsys.readouterr().err


def test_chat_answers(run, capsys):
    """An untrained policy ends no turn, or begins another speaker's, which are errors of the policy."""
    main(["chat", str(run), "12*34=?"])
    shown = capsys.readouterr()
    assert shown.out.strip() or "policy_error" in shown.err


@pytest.mark.hf
def test_run_is_exported_and_loads_again(run, tmp_path):
    pytest.importorskip("transformers")
    assert main(["export", str(run), "--out", str(tmp_path / "exported")]) == 0
    again = load(tmp_path / "exported")
    assert isinstance(again.format, Pieces) and again.model.module.config == load(run).model.module.config
    assert json.loads((tmp_path / "exported" / "config.json").read_text())["kv_heads"] == 2
