import json

import pytest

from handaxe.core.errors import CheckpointError, InputError
from handaxe.models.saved_policy import (
    ARRAYS,
    STATE,
    SavedPolicy,
    file_manifest,
    find_saved_policy,
    list_checkpoints,
    verify_checkpoint,
)


def checkpoint(run, steps):
    """A checkpoint with one model file and no state."""
    path = run / "checkpoints" / f"step-{steps:06}"
    (path / "engine" / "model").mkdir(parents=True)
    (path / "engine" / "model" / "weights").write_text(f"weights after {steps}")
    for name in (STATE, ARRAYS):
        (path / name).touch()
    manifest = file_manifest(path)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_the_last_checkpoint_of_a_run_is_found_from_every_folder(tmp_path):
    checkpoint(tmp_path, 2)
    last = checkpoint(tmp_path, 12)
    expected = SavedPolicy(last / "engine" / "model", tmp_path, 12)
    for source in (tmp_path, last, last / "engine", last / "engine" / "model"):
        assert find_saved_policy(source) == expected
    assert [one.steps for one in list_checkpoints(tmp_path / "checkpoints")] == [2, 12]


def test_the_output_of_an_engine_has_no_run(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "engine.json").write_text("{}")
    assert find_saved_policy(tmp_path) == SavedPolicy(tmp_path / "model", None)


def test_folders_of_other_libraries_and_runs_without_checkpoint(tmp_path):
    assert find_saved_policy(tmp_path) is None and find_saved_policy(tmp_path / "absent") is None
    (tmp_path / "record.sqlite").touch()
    with pytest.raises(InputError, match="no checkpoint yet"):
        find_saved_policy(tmp_path)


def test_a_damaged_file_is_named_with_the_previous_checkpoint(tmp_path):
    checkpoint(tmp_path, 2)
    last = checkpoint(tmp_path, 12)
    (last / "engine" / "model" / "weights").write_text("weights after 99")
    with pytest.raises(CheckpointError, match=r"weights is damaged.*resume from step-000002"):
        find_saved_policy(tmp_path)
    assert find_saved_policy(tmp_path, verify=False) is not None
    (last / "engine" / "model" / "weights").unlink()
    with pytest.raises(CheckpointError, match="the file is missing"):
        verify_checkpoint(last)
