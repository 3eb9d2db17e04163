import json
import os

import pytest
import torch

from handaxe.core.errors import CheckpointError
from handaxe.engines.local.checkpoint_files import check_tensors, read_state, write_state

TENSORS = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(7)}


def save_model(folder):
    (folder / "config.json").write_text("{}")


def save(folder, version=3, tensors=TENSORS):
    write_state(folder, tensors, version, save_model)
    return folder


def test_saved_tensors_and_version_round_trip(tmp_path):
    view = torch.arange(12.0).view(3, 4).T
    tensors, version = read_state(save(tmp_path / "x", tensors={**TENSORS, "view": view, "same": view}))
    assert version == 3 and all(torch.equal(tensors[k], TENSORS[k]) for k in TENSORS)
    assert torch.equal(tensors["view"], view) and torch.equal(tensors["same"], view)
    assert (tmp_path / "x" / "model" / "config.json").exists()


def test_second_save_replaces_the_first_without_other_files(tmp_path):
    save(tmp_path / "x", 1)
    save(tmp_path / "x", 2)
    assert read_state(tmp_path / "x")[1] == 2
    assert os.listdir(tmp_path) == ["x"]


def test_save_accepts_an_empty_folder(tmp_path):
    (tmp_path / "x").mkdir()
    assert read_state(save(tmp_path / "x"))[1] == 3


def test_save_refuses_a_folder_with_other_files(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CheckpointError, match="files that are not"):
        save(tmp_path)
    with pytest.raises(CheckpointError, match="files that are not"):
        save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_failed_save_keeps_the_previous_checkpoint(tmp_path):
    save(tmp_path / "x", 1)

    def full_disk(folder):
        raise OSError("No space left on device")

    with pytest.raises(CheckpointError, match="No space left"):
        write_state(tmp_path / "x", TENSORS, 2, full_disk)
    assert read_state(tmp_path / "x")[1] == 1 and os.listdir(tmp_path) == ["x"]

    def interrupted(folder):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_state(tmp_path / "x", TENSORS, 2, interrupted)
    assert read_state(tmp_path / "x")[1] == 1 and os.listdir(tmp_path) == ["x"]


def test_error_names_the_previous_checkpoint_after_an_interrupted_rename(tmp_path):
    save(tmp_path / "x").rename(tmp_path / "x.previous")
    with pytest.raises(CheckpointError, match=r"interrupted.*rename .*x\.previous"):
        read_state(tmp_path / "x")


@pytest.mark.parametrize("file", ["engine.json", "engine.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "half", "empty", "flipped"])
def test_damaged_file_is_named_in_the_error(tmp_path, file, damage):
    path = save(tmp_path / "x") / file
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "flipped":
        path.write_bytes(data[:-8] + bytes([data[-8] ^ 1]) + data[-7:])  # a digit of the checksum, or a weight
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "half" else b"")
    named = "engine.safetensors" if damage == "flipped" else file
    with pytest.raises(CheckpointError, match=f"{named}.*load another checkpoint"):
        read_state(tmp_path / "x")


def test_unknown_format_and_missing_folder_raise(tmp_path):
    path = save(tmp_path / "x") / "engine.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(CheckpointError, match="format 99"):
        read_state(tmp_path / "x")
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        read_state(tmp_path / "y")


def test_check_tensors_names_missing_unknown_and_mismatched_tensors(tmp_path):
    wanted = {**TENSORS, "optimizer.a.step": torch.zeros(())}
    check_tensors(tmp_path, TENSORS, wanted, optional="optimizer.")
    with pytest.raises(CheckpointError, match="lacks c"):
        check_tensors(tmp_path, TENSORS, {**TENSORS, "c": torch.zeros(1)}, optional="optimizer.")
    with pytest.raises(CheckpointError, match="has b, which this engine lacks"):
        check_tensors(tmp_path, TENSORS, {"a": TENSORS["a"]}, optional="optimizer.")
    with pytest.raises(CheckpointError, match=r"has a as float32 \[2, 3\], this engine as float64 \[2, 3\]"):
        check_tensors(tmp_path, TENSORS, {**TENSORS, "a": TENSORS["a"].double()}, optional="optimizer.")
    many = {f"p{i}": torch.zeros(1) for i in range(9)}
    with pytest.raises(CheckpointError, match="and 5 more"):
        check_tensors(tmp_path, {}, many, optional="optimizer.")
