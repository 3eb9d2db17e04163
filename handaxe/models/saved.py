"""Where a policy lies in what was saved: the folder of a run, of its stages, of a checkpoint, or of `engine.save`.

RUN/checkpoints/step-000012/engine/model/   the model, for use without an engine
                           /manifest.json   size and sha256 of every file beside it
   /format/                                 the chat format; see models.saved_format
   /stages/stages.json, 00-teach/...        what came before the last part, each a run of its own
SAVED/model/, engine.json                   what engine.save wrote, which knows no chat format
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from handaxe.core.errors import CheckpointError, InputError

__all__ = ["Found", "SavedPolicy", "checkpoints_in", "find_saved", "manifest_of", "verify"]

CHECKPOINTS, STAGES = "checkpoints", "stages.json"


class Found(NamedTuple):
    """A checkpoint on disk and the number of steps done when it was written."""

    steps: int
    path: Path


class SavedPolicy(NamedTuple):
    """A saved policy: the model's folder; the run whose format it speaks, None where no run is known; and the number of
    steps done when it was saved, 0 where that is not known."""

    model: Path
    run: Path | None
    steps: int = 0


def checkpoints_in(folder: Path) -> list[Found]:
    """Every finished checkpoint in the folder `checkpoints` of a run, oldest first."""
    paths = [path for path in folder.glob("step-*") if path.name[5:].isdecimal() and path.is_dir()]
    return sorted(Found(int(path.name[5:]), path) for path in paths)


def find_saved(where: str | Path, *, whole: bool = True) -> SavedPolicy | None:
    """The policy in a folder; None for what is no folder of handaxe's, such as one of transformers.

    Args:
        where: the folder.
        whole: see that every file of a checkpoint is what was written.

    Raises:
        InputError: it is a run's, and there is no checkpoint in it yet.
        CheckpointError: the checkpoint is damaged, or its engine kept no model.
    """
    folder = Path(where)
    if not folder.is_dir():
        return None
    if (folder / "engine.json").is_file() and not (folder.parent / "manifest.json").is_file():
        return SavedPolicy(_model(folder), None)
    checkpoint = _checkpoint(folder)
    if checkpoint is None:
        if (folder / "record.sqlite").exists() or (folder / STAGES).exists() or (folder / CHECKPOINTS).is_dir():
            raise InputError(f"there is no checkpoint in {folder} yet: go on with the run, and use it then")
        return None
    if whole:
        verify(checkpoint)
    return SavedPolicy(_model(checkpoint / "engine"), checkpoint.parent.parent, _steps(checkpoint))


def manifest_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Size and sha256 of every file in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {file.relative_to(folder).as_posix(): (file.stat().st_size, _digest(file)) for file in files}


def verify(path: Path) -> None:
    """See that a checkpoint is what was written.

    Raises:
        CheckpointError: naming the damaged file, and what to remove to go on from the checkpoint before.
    """
    try:
        listed = json.loads((path / "manifest.json").read_text())
        manifest = {name: (int(size), str(digest)) for name, (size, digest) in listed.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, path / "manifest.json", str(error)) from error
    for name, (size, digest) in manifest.items():
        file = path / name
        if not file.is_file():
            raise _damaged(path, file, "it is missing")
        if file.stat().st_size != size:
            raise _damaged(path, file, f"it has {file.stat().st_size} bytes, not {size}")
        if _digest(file) != digest:
            raise _damaged(path, file, "its content is not what was written")


def _checkpoint(folder: Path) -> Path | None:
    """The checkpoint that a folder is, or the last one of the run, or of the last stage that has one."""
    for one in (folder, folder.parent, folder.parent.parent):  # or that of the engine, or of the model, in it
        if (one / "manifest.json").is_file() and (one / "engine").is_dir():
            return one
    for place in (folder / CHECKPOINTS, folder):
        if found := checkpoints_in(place):
            return found[-1].path
    if (folder / STAGES).is_file():
        try:
            names = [str(name) for name in json.loads((folder / STAGES).read_text())["stages"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{folder / STAGES} is damaged: {error!r}") from error
        shared = _shared(folder)
        places = [place for name in reversed(names) for place in (folder / name, *(one / name for one in shared))]
        return next((last for place in places if (last := _checkpoint(place)) is not None), None)
    return _checkpoint(folder / "stages") if (folder / "stages").is_dir() else None


def _shared(folder: Path) -> list[Path]:
    """Where the stages lie that these share with other runs."""
    try:
        return [Path(json.loads((folder / "shared.json").read_text())["folder"])]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _steps(checkpoint: Path) -> int:
    return int(checkpoint.name[5:]) if checkpoint.name[5:].isdecimal() else 0


def _model(engine: Path) -> Path:
    if not (engine / "model").is_dir():
        raise CheckpointError(f"{engine} holds no model that could be used without its engine: load it into that")
    return engine / "model"


def _damaged(path: Path, file: Path, why: str) -> CheckpointError:
    earlier = [one for one in checkpoints_in(path.parent) if one.path != path]
    then = f"from {earlier[-1].path.name}, the one before" if earlier else "from the first step"
    return CheckpointError(f"checkpoint file {file} is damaged: {why}. Remove {path} to resume {then}")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
