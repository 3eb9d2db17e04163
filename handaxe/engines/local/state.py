"""Keep an engine's state in a folder: written whole or not at all, checked before anything of it is used.

    model/               what Model.save wrote: weights, configuration, tokenizer, to be loaded without an engine
    engine.safetensors   trained weights, critic, reference, optimiser and random state, by name
    engine.json          format, version, checksum of engine.safetensors, digest of the weights that do not train

The trained weights stand in both, because what a model calls its weights on disk is its own affair (an adapter alone,
merged, renamed), while an engine continues bit for bit from exactly the tensors it had. Weights that do not train are
in engine.safetensors not at all: an engine that goes on must have the same, which their digest tells.
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
from handaxe.ops.digests import describe_tensor

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
    """Write a checkpoint beside `folder`, then put it there; an earlier checkpoint there is replaced.

    Args:
        folder: holds nothing but a checkpoint of an engine, or does not exist yet. A crash leaves it as it was; in
            the instant between two renames it stands as `<folder>.previous`, and `read_state` says so.
        tensors: everything stateful, by name.
        version: optimiser steps taken.
        save_model: writes the model into the folder it is given.
        frozen: digest of the weights that do not train; "" when all do.

    Raises:
        CheckpointError: when `folder` holds something else, or cannot be written.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / "engine.json").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise CheckpointError(f"{folder} holds something that is not an engine's checkpoint; give a folder of its own")
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    previous = _previous(folder)
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        (fresh / "model").mkdir(parents=True)
        save_model(fresh / "model")
        # safetensors refuses views and device tensors that share memory; a copy on the host has neither.
        save_file({k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}, fresh / "engine.safetensors")
        about = {"format": FORMAT, "version": version, "checksum": _checksum(fresh / "engine.safetensors")}
        about |= {"frozen": frozen} if frozen else {}
        (fresh / "engine.json").write_text(json.dumps(about, indent=1) + "\n")
        shutil.rmtree(previous, ignore_errors=True)
        if folder.exists():
            folder.rename(previous)
        fresh.rename(folder)
        shutil.rmtree(previous, ignore_errors=True)
    except OSError as error:
        raise CheckpointError(f"no checkpoint can be written to {folder}: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_state(folder: Path) -> tuple[dict[str, Tensor], int]:
    """The tensors and the version that `write_state` wrote.

    Raises:
        CheckpointError: saying what is missing or damaged, and what to do.
    """
    folder = Path(folder)
    if not folder.is_dir():
        hint = "give the folder that engine.save wrote"
        if _previous(folder).is_dir():
            hint = f"a save was interrupted; the checkpoint before it is whole: rename {_previous(folder)} to {folder}"
        raise CheckpointError(f"there is no checkpoint at {folder}; {hint}")
    again = "it is damaged or incomplete; load another checkpoint"
    try:
        about = json.loads((folder / "engine.json").read_text())
        number = about["format"]
        version = int(about["version"])
        checksum = about["checksum"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / 'engine.json'} cannot be read ({error!r}); {again}") from error
    if number != FORMAT:
        raise CheckpointError(f"{folder} has format {number}, and this handaxe reads {FORMAT}; use the handaxe of then")
    try:
        if _checksum(folder / "engine.safetensors") != checksum:
            raise CheckpointError(
                f"{folder / 'engine.safetensors'} is not what was saved (its checksum differs); {again}"
            )
        return load_file(folder / "engine.safetensors"), version
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / 'engine.safetensors'} cannot be read ({error}); {again}") from error


def check_frozen(folder: Path, frozen: str) -> None:
    """Check that weights which do not train are those beside which a checkpoint was trained.

    Args:
        folder: what `write_state` wrote; `read_state` has read it.
        frozen: the engine's own digest. One of an earlier handaxe, which kept none, is not looked at.

    Raises:
        CheckpointError: they are not.
    """
    then = json.loads((Path(folder) / "engine.json").read_text()).get("frozen", frozen)
    if then != frozen:
        raise CheckpointError(
            f"the checkpoint {folder} was trained on other frozen weights than this engine's (their digest differs): "
            "make the engine with the base model that it was trained with"
        )


def check_tensors(folder: Path | str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], optional: str) -> None:
    """Check that a checkpoint is of the engine that reads it.

    Args:
        folder: for the message.
        found: what was read.
        wanted: the engine's own tensors.
        optional: names of `wanted` that begin so need not be there.

    Raises:
        CheckpointError: naming the tensors that are missing, unknown, or of another shape or type.
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
            f"the checkpoint {folder} is of another engine: it {shown}. Make the engine as it was made then: "
            "same model, same trained parameters, same `critic` and `reference`"
        )


def _previous(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.previous")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
