"""Checkpoints for bitwise resume, written atomically.

    checkpoints/step-000012/engine/...        files of engine.save
                           /state.json        steps done, and the state of every stateful part
                           /arrays.safetensors  the arrays in those states
                           /manifest.json     size and sha256 of every file above

A checkpoint is written to a temporary folder, flushed to disk and renamed; the manifest detects damage. An old
checkpoint is renamed before removal. JSON and safetensors only: reading one never runs code. An image is stored once,
encoded, as the array images/DIGEST: a checkpoint needs no run record.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError

from handaxe.core.deferred import DeferredModule, torch
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.images import Image
from handaxe.core.protocols import Engine, Stateful
from handaxe.models.saved_policy import (
    ARRAYS,
    STATE,
    SavedCheckpoint,
    file_manifest,
    list_checkpoints,
    verify_checkpoint,
)
from handaxe.training.record.folder import flush_folder

if TYPE_CHECKING:
    import safetensors.torch as tensor_files
else:
    tensor_files = DeferredModule("safetensors.torch")

__all__ = ["Checkpoints"]

Parts = Mapping[str, object]
WRITING, REMOVING = "writing-", "removing-"
"""Prefixes of folders that are no checkpoints: not yet whole, or no longer."""
IMAGES = "images/"
"""Prefix of arrays that are encoded images."""


class Checkpoints:
    """Checkpoints of one run.

    Args:
        folder: holds one folder per checkpoint.
        keep: number of latest checkpoints to keep, >= 1.
    """

    def __init__(self, folder: Path, *, keep: int = 2):
        if keep < 1:
            raise InputError(f"a run keeps at least 1 checkpoint, not {keep}")
        self.folder, self.keep = Path(folder), keep

    def found(self) -> list[SavedCheckpoint]:
        """Return all complete checkpoints, oldest first."""
        return list_checkpoints(self.folder)

    def save(self, steps: int, engine: Engine, parts: Parts, *, protected: Collection[int] = ()) -> Path:
        """Write a checkpoint after `steps` steps unless it exists, and remove the oldest beyond `keep`.

        Args:
            steps: steps done.
            engine: saved with engine.save.
            parts: named roles; the `Stateful` ones are saved.
            protected: steps of checkpoints that are not removed, such as the best one.

        Raises:
            InputError: a part's state is not JSON-like.
            CheckpointError: the disk is full; earlier checkpoints are intact.
        """
        part, path = self.folder / f"{WRITING}{steps:06d}", self.folder / f"step-{steps:06d}"
        if path.exists():
            return path
        try:
            _clear(self.folder)
            (part / "engine").mkdir(parents=True)
            engine.save(part / "engine")
            arrays: dict[str, torch.Tensor] = {}
            states = {name: _lift(p.state_dict(), name, arrays) for name, p in parts.items() if isinstance(p, Stateful)}
            (part / STATE).write_text(json.dumps({"steps": steps, "parts": states}))
            tensor_files.save_file(arrays, part / ARRAYS)
            (part / "manifest.json").write_text(json.dumps(file_manifest(part), indent=1))
            _flush(part)
            os.replace(part, path)
            flush_folder(self.folder)
        except (OSError, SafetensorError, CheckpointError) as error:
            shutil.rmtree(part, ignore_errors=True)
            raise CheckpointError(
                f"the checkpoint after step {steps} cannot be written to {self.folder}: {error}. Free some space and "
                "resume; the checkpoints before it are intact"
            ) from error
        for old in self.found()[: -self.keep]:
            if old.steps not in protected:
                self._remove(old.path)
        return path

    def _remove(self, path: Path) -> None:
        """Remove a checkpoint. After the rename it is no checkpoint, so a kill never leaves a part of one."""
        away = self.folder / f"{REMOVING}{path.name}"
        os.replace(path, away)
        flush_folder(self.folder)
        shutil.rmtree(away)

    def load(self, engine: Engine, parts: Parts | None = None) -> int:
        """Load the latest checkpoint into engine and parts; without `parts` into the engine alone, for evaluation.

        Returns:
            The number of steps done; 0, with nothing changed, without a checkpoint.

        Raises:
            CheckpointError: names the damaged file, and the folder to remove to continue from the checkpoint before.
                Nothing is loaded then: another checkpoint is never chosen silently.
        """
        found = self.found()
        if not found:
            return 0
        path = found[-1].path
        verify_checkpoint(path)
        state = json.loads((path / STATE).read_text())
        if parts is None:
            engine.load(path / "engine")
            return state["steps"]
        arrays = tensor_files.load_file(path / ARRAYS)
        wanted = {name for name, part in parts.items() if isinstance(part, Stateful)}
        if wanted != set(state["parts"]):
            raise CheckpointError(
                f"{path} holds the state of {sorted(state['parts'])}, but this run needs that of {sorted(wanted)}. "
                "Resume with the roles of the start of the run, or start again in another folder"
            )
        engine.load(path / "engine")
        for name, part in parts.items():
            if isinstance(part, Stateful):
                part.load_state_dict(_lower(state["parts"][name], arrays))
        return state["steps"]


def _lift(state: Any, where: str, arrays: dict[str, torch.Tensor]) -> Any:
    """Convert the state to JSON, with its arrays moved to `arrays` under their path."""
    if state is None or isinstance(state, (str, bool, int, float)):
        return state
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, (np.ndarray, torch.Tensor)):
        arrays[where] = torch.as_tensor(state).detach().cpu().contiguous().clone()
        return {"__array__": where, "numpy": isinstance(state, np.ndarray)}
    if isinstance(state, Image):
        return _lift_image(state, arrays)
    if isinstance(state, (list, tuple)):
        return [_lift(item, f"{where}/{i}", arrays) for i, item in enumerate(state)]
    if isinstance(state, Mapping) and all(isinstance(key, str) for key in state):
        return {key: _lift(item, f"{where}/{key}", arrays) for key, item in state.items()}
    what = "a mapping with keys that are not strings" if isinstance(state, Mapping) else type(state).__name__
    raise InputError(
        f"the state of {where} is {what}; state_dict may hold numbers, strings, lists, arrays and dicts with string "
        "keys, so that it comes back as it went"
    )


def _lift_image(image: Image, arrays: dict[str, torch.Tensor]) -> dict[str, Any]:
    place = f"{IMAGES}{image.digest}"
    if place not in arrays:
        arrays[place] = torch.frombuffer(bytearray(image.data), dtype=torch.uint8)
    return {"__image__": [image.digest, image.width, image.height, image.media_type]}


def _lower_image(found: list[Any], arrays: Mapping[str, torch.Tensor]) -> Image:
    digest, width, height, media_type = found
    data = arrays[f"{IMAGES}{digest}"].numpy().tobytes()
    return Image(width, height, digest, data=data, media_type=media_type)


def _lower(state: Any, arrays: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(state, list):
        return [_lower(item, arrays) for item in state]
    if isinstance(state, dict) and "__array__" in state:
        array = arrays[state["__array__"]]
        return array.numpy() if state["numpy"] else array
    if isinstance(state, dict) and "__image__" in state:
        return _lower_image(state["__image__"], arrays)
    if isinstance(state, dict):
        return {key: _lower(item, arrays) for key, item in state.items()}
    return state


def _flush(folder: Path) -> None:
    for file in (path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        flush_folder(path)


def _clear(folder: Path) -> None:
    """Remove incomplete files of a killed run."""
    for left in (*folder.glob(f"{WRITING}*"), *folder.glob(f"{REMOVING}*")):
        shutil.rmtree(left)
