"""Checkpoint files of an engine: written atomically, verified before use.

    model/               written by Model.save: weights, configuration, tokenizer, to be loaded without an engine
    engine.safetensors   trained weights, critic, reference, optimiser and random state, by name
    engine.json          format, version, checksum of engine.safetensors, digest of the untrained weights

Trained weights are stored twice: a model may rename or merge weights in model/ (an adapter alone, for instance), while
an engine continues bit for bit from engine.safetensors. Untrained weights are not stored there: the engine that loads a
checkpoint must have equal ones, verified by digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from handaxe.core.errors import CheckpointError
from handaxe.ops.tensor_digest import describe_tensor

__all__ = ["check_frozen", "check_tensors", "read_state", "write_state"]

FORMAT = 1


def write_state(
    folder: Path,
    tensors: Mapping[str, Tensor],
    version: int,
    save_model: Callable[[Path], None],
    *,
    frozen: str = "",
) -> None:
    """Write a checkpoint to a temporary folder and rename it to `folder`; an earlier checkpoint is replaced.

    Args:
        folder: empty, missing, or the checkpoint of an engine. A crash leaves it unchanged; between two renames the
            earlier checkpoint is `<folder>.previous`, and the error of `read_state` names it.
        tensors: all state, by name.
        version: optimiser steps taken.
        save_model: writes the model into a given folder.
        frozen: digest of the untrained weights; "" if all weights train.

    Raises:
        CheckpointError: `folder` holds other files or cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / "engine.json").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} holds files that are not an engine's checkpoint; give an empty folder")
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    previous = _previous(folder)
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        (fresh / "model").mkdir(parents=True)
        save_model(fresh / "model")
        # safetensors refuses views and tensors that share memory; copies on the host do neither.
        save_file({k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}, fresh / "engine.safetensors")
        header = {"format": FORMAT, "version": version, "checksum": _checksum(fresh / "engine.safetensors")}
        header |= {"frozen": frozen} if frozen else {}
        (fresh / "engine.json").write_text(json.dumps(header, indent=1) + "\n")
        shutil.rmtree(previous, ignore_errors=True)
        if folder.exists():
            folder.rename(previous)
        fresh.rename(folder)
        shutil.rmtree(previous, ignore_errors=True)
    except OSError as error:
        raise CheckpointError(f"cannot write a checkpoint to {folder}: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_state(folder: Path) -> tuple[dict[str, Tensor], int]:
    """Read the tensors and the version written by `write_state`.

    Raises:
        CheckpointError: the checkpoint is missing or damaged; the message names the remedy.
    """
    folder = Path(folder)
    if not folder.is_dir():
        hint = "give the folder that engine.save wrote"
        if _previous(folder).is_dir():
            hint = f"a save was interrupted; the previous checkpoint is intact: rename {_previous(folder)} to {folder}"
        raise CheckpointError(f"there is no checkpoint at {folder}; {hint}")
    remedy = "it is damaged or incomplete; load another checkpoint"
    try:
        header = json.loads((folder / "engine.json").read_text())
        number = header["format"]
        version = int(header["version"])
        checksum = header["checksum"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'engine.json'} cannot be read ({error!r}); {remedy}") from error
    if number != FORMAT:
        raise CheckpointError(
            f"{folder} has format {number}, and this version of handaxe reads {FORMAT}; use the version that wrote it"
        )
    try:
        if _checksum(folder / "engine.safetensors") != checksum:
            raise CheckpointError(f"the checksum of {folder / 'engine.safetensors'} differs; {remedy}")
        return load_file(folder / "engine.safetensors"), version
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / 'engine.safetensors'} cannot be read ({error}); {remedy}") from error


def check_frozen(folder: Path, frozen: str) -> None:
    """Check that the engine has the untrained weights of a checkpoint.

    Args:
        folder: written by `write_state`, read by `read_state` before.
        frozen: digest of the engine's untrained weights. A checkpoint of an early version without digest passes.

    Raises:
        CheckpointError: the digests differ.
    """
    saved = json.loads((Path(folder) / "engine.json").read_text()).get("frozen", frozen)
    if saved != frozen:
        raise CheckpointError(
            f"the checkpoint {folder} was trained on other frozen weights than this engine's (the digests differ): "
            "make the engine with the base model of the checkpoint"
        )


def check_tensors(folder: Path | str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], optional: str) -> None:
    """Check the tensors of a checkpoint against the engine.

    Args:
        folder: for the message.
        found: tensors of the checkpoint.
        wanted: tensors of the engine.
        optional: prefix of names in `wanted` that may be missing.

    Raises:
        CheckpointError: tensors are missing, unknown, or of another shape or dtype; the message names them.
    """
    problems = [f"lacks {k}" for k in wanted if k not in found and not k.startswith(optional)]
    problems += [f"has {k}, which this engine lacks" for k in found if k not in wanted]
    for key in found.keys() & wanted.keys():
        if found[key].shape != wanted[key].shape or found[key].dtype != wanted[key].dtype:
            problems.append(
                f"has {key} as {describe_tensor(found[key])}, this engine as {describe_tensor(wanted[key])}"
            )
    if problems:
        shown = "; ".join(sorted(problems)[:4]) + (f"; and {len(problems) - 4} more" if len(problems) > 4 else "")
        raise CheckpointError(
            f"the checkpoint {folder} is of another engine: it {shown}. Make the engine with the same model, trained "
            "parameters, `critic` and `reference`"
        )


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.previous")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
