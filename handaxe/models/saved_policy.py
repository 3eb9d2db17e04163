"""Discovery of a saved policy in the folder of a run, of its stages, of a checkpoint, or of `engine.save`.

RUN/checkpoints/step-000012/engine/model/   the model, usable without an engine
                           /state.json, arrays.safetensors   states of the roles
                           /manifest.json   size and sha256 of each file of the checkpoint
   /format/                                 the chat format; see models.chat_formats.saved_format
   /stages/stages.json, 00-teach/...        earlier stages, each a run
SAVED/model/, engine.json                   output of engine.save, without a chat format
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import CheckpointError, InputError

__all__ = [
    "ARRAYS",
    "STATE",
    "SavedCheckpoint",
    "SavedPolicy",
    "file_manifest",
    "find_saved_policy",
    "list_checkpoints",
    "verify_checkpoint",
]

CHECKPOINTS, STAGES = "checkpoints", "stages.json"
STATE, ARRAYS = "state.json", "arrays.safetensors"
"""Files of every checkpoint beside the engine's."""


class SavedCheckpoint(NamedTuple):
    """A checkpoint on disk, and the number of training steps before it."""

    steps: int
    path: Path


class SavedPolicy(NamedTuple):
    """A saved policy.

    model   the folder of the model
    run     the folder of the run that trained the policy and holds its chat format; None if unknown
    steps   the number of training steps before the save; 0 if unknown
    """

    model: Path
    run: Path | None
    steps: int = 0


def list_checkpoints(folder: Path) -> list[SavedCheckpoint]:
    """List the complete checkpoints in the folder `checkpoints` of a run, oldest first."""
    paths = [path for path in folder.glob("step-*") if path.name[5:].isdecimal() and path.is_dir()]
    return sorted(SavedCheckpoint(int(path.name[5:]), path) for path in paths)


def find_saved_policy(source: str | Path, *, verify: bool = True) -> SavedPolicy | None:
    """Find the policy in a folder; None for a folder of another library, such as transformers.

    Args:
        source: the folder.
        verify: compare each file of a checkpoint with the manifest.

    Raises:
        InputError: the folder is a run without a checkpoint.
        CheckpointError: the checkpoint is damaged, or its engine saved no model.
    """
    folder = Path(source)
    if not folder.is_dir():
        return None
    if (folder / "engine.json").is_file() and not (folder.parent / "manifest.json").is_file():
        return SavedPolicy(_model_folder(folder), None)
    checkpoint = _find_checkpoint(folder)
    if checkpoint is None:
        if (folder / "record.sqlite").exists() or (folder / STAGES).exists() or (folder / CHECKPOINTS).is_dir():
            raise InputError(f"{folder} has no checkpoint yet: continue the run until its first checkpoint")
        return None
    if verify:
        verify_checkpoint(checkpoint)
    return SavedPolicy(_model_folder(checkpoint / "engine"), checkpoint.parent.parent, _steps(checkpoint))


def file_manifest(folder: Path) -> dict[str, tuple[int, str]]:
    """Return size and sha256 of each file in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {file.relative_to(folder).as_posix(): (file.stat().st_size, _digest(file)) for file in files}


def verify_checkpoint(path: Path) -> None:
    """Compare the files of a checkpoint with its manifest, which must list every file.

    Files with names that begin with a dot may be unlisted: desktops and network disks leave such files.

    Raises:
        CheckpointError: a file is damaged. The message names the file, and the folder to remove to resume from the
            previous checkpoint.
    """
    listing = path / "manifest.json"
    if not listing.is_file():
        raise _damaged(path, listing, "the file is missing")
    try:
        listed = json.loads(listing.read_text())
        manifest = {name: (int(size), str(digest)) for name, (size, digest) in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, listing, str(error)) from error
    present = [file.relative_to(path).as_posix() for file in sorted(path.rglob("*")) if not file.is_dir()]
    visible = [name for name in present if not any(part.startswith(".") for part in name.split("/"))]
    if missing := [name for name in (STATE, ARRAYS, *visible) if name not in manifest and name != listing.name]:
        raise _damaged(path, listing, f"it does not list {missing[0]}")
    if not any(name.startswith("engine/") for name in manifest):
        raise _damaged(path, listing, "it lists no file of the engine")
    for name, (size, digest) in manifest.items():
        file = path / name
        if not file.is_file():
            raise _damaged(path, file, "the file is missing")
        if file.stat().st_size != size:
            raise _damaged(path, file, f"the size is {file.stat().st_size} bytes, not {size}")
        if _digest(file) != digest:
            raise _damaged(path, file, "its content differs from the manifest")


def _find_checkpoint(folder: Path) -> Path | None:
    """Find the checkpoint of a folder: the folder itself, the last checkpoint of a run, or the last of all stages."""
    for candidate in (folder, folder.parent, folder.parent.parent):  # a checkpoint, its engine folder, its model folder
        if (candidate / "manifest.json").is_file() and (candidate / "engine").is_dir():
            return candidate
    for candidate in (folder / CHECKPOINTS, folder):
        if checkpoints := list_checkpoints(candidate):
            return checkpoints[-1].path
    if (folder / STAGES).is_file():
        try:
            names = [str(name) for name in json.loads((folder / STAGES).read_text())["stages"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{folder / STAGES} is damaged: {error!r}") from error
        roots = [folder, *_shared_folders(folder)]
        runs = [root / name for name in reversed(names) for root in roots]
        return next((last for run in runs if (last := _find_checkpoint(run)) is not None), None)
    return _find_checkpoint(folder / "stages") if (folder / "stages").is_dir() else None


def _shared_folders(folder: Path) -> list[Path]:
    """Return the folders of stages that several runs share."""
    try:
        return [Path(json.loads((folder / "shared.json").read_text())["folder"])]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name[5:]) if checkpoint.name[5:].isdecimal() else 0


def _model_folder(engine: Path) -> Path:
    if not (engine / "model").is_dir():
        raise CheckpointError(f"{engine} has no model for use without an engine: load the checkpoint into an engine")
    return engine / "model"


def _damaged(path: Path, file: Path, reason: str) -> CheckpointError:
    earlier = [checkpoint for checkpoint in list_checkpoints(path.parent) if checkpoint.path != path]
    previous = f"{earlier[-1].path.name}, the previous checkpoint" if earlier else "the first step"
    return CheckpointError(f"checkpoint file {file} is damaged: {reason}. Remove {path} to resume from {previous}")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
