"""Exports complete trajectories as JSON lines, and reads the lines back. docs/trajectories.md documents the fields.

A line is ASCII and standard JSON: a number that is not finite is {"__number__": "nan"}, or "inf" or "-inf"; values
unknown to JSON are tagged as in `ops.codec`. Text of models and tools is plain JSON text.

A trajectory with images has the second format. Each image is once in the line, or once in a folder beside the file; its
tokens are [start, stop, digest] of a sequence. The ids there are those of the model's vocabulary if a processor is
given, else -1; reading restores the recorded ids.
"""

import json
import math
import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image, image_spans, index_images
from handaxe.core.model_api import ImageProcessor
from handaxe.core.records import Branch, Ending, Message, Task, TokenSequence, ToolSchema, Trajectory, Turn
from handaxe.core.usage import Usage
from handaxe.ops import codec
from handaxe.view.exports.chosen import Arrays, ChosenTrajectory
from handaxe.view.why import Reason

__all__ = ["FORMAT", "read_jsonl", "to_line", "write_jsonl"]

FORMAT = "handaxe trajectory 1"
IMAGE_FORMAT = "handaxe trajectory 2"
SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg"}
ARRAYS = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
RATED = ("advantages", "returns", "trains", "pushed")
PLAIN = ("sample", "seed", "seconds")
NUMBER = "__number__"


def write_jsonl(
    chosen: Iterable[ChosenTrajectory],
    file: Path,
    *,
    images: Path | None = None,
    processor: ImageProcessor | None = None,
) -> int:
    """Write a line per trajectory; returns the number of lines.

    Args:
        chosen: trajectories to write.
        file: to write.
        images: folder for the images, each once, named by its digest; None writes the images into the lines.
        processor: of the model, for the ids of image tokens.

    Raises:
        InputError: the file cannot be written.
    """
    count = 0
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="ascii") as out:
            for one in chosen:
                out.write(to_line(one, images=images, beside=file.parent, processor=processor) + "\n")
                count += 1
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error
    return count


def read_jsonl(file: Path) -> Iterator[ChosenTrajectory]:
    """Read the trajectories of `write_jsonl`.

    Raises:
        InputError: the file does not exist, or a line is no trajectory of this format.
    """
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield _chosen(_back(json.loads(line)), file.parent)
                except (ValueError, LookupError, TypeError, AttributeError) as error:
                    raise InputError(f"line {number} of {file} is no {FORMAT!r}: {error}") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def to_line(
    one: ChosenTrajectory,
    *,
    images: Path | None = None,
    beside: Path | None = None,
    processor: ImageProcessor | None = None,
) -> str:
    """Format a trajectory as a line, without newline. `images` and `processor`: see `write_jsonl`; paths of images are
    relative to the folder `beside`.
    """
    trajectory = one.trajectory
    found: dict[str, Image] = {}
    body = {
        "format": FORMAT,
        "id": trajectory.id,
        "step": one.step,
        "task": _record(trajectory.task, found),
        **{name: getattr(trajectory, name) for name in PLAIN},
        "cost": trajectory.cost,
        "messages": _record(trajectory.messages, found),
        "tools": _record(trajectory.tools, found),
        "ending": {"kind": trajectory.ending.kind, "reason": trajectory.ending.reason},
        "outcome_class": one.outcome_class,
        "scored": one.scored,
        "trained": one.trained,
        "no_gradient": None if one.no_gradient is None else one.no_gradient._asdict(),
        "fate": one.fate,
        "part": one.part,
        "left_out_by": one.left_out_by,
        "age": one.age,
        "scores": {
            "outcome": one.outcome,
            "total": one.total,
            "channels": dict(one.channels),
            "turns": None if one.turns is None else one.turns.tolist(),
            "turn_channels": {name: values.tolist() for name, values in one.turn_channels.items()},
            "eligible": one.eligible,
        },
        "turns": _record(trajectory.turns, found),
        "sequences": [_sequence(one, place, processor) for place in range(len(trajectory.sequences))],
        "branch_of": None if trajectory.branch_of is None else list(trajectory.branch_of),
        "env": _free(trajectory.env, found),
        "notes": _free(trajectory.notes, found),
        "asked": _record(trajectory.aux_turns, found),
        "spent": None if trajectory.total_usage is None else trajectory.total_usage.numbers(),
    }
    if found:
        body["format"] = IMAGE_FORMAT
        body["images"] = {image.digest: _image(image, images, beside or Path()) for image in found.values()}
    return json.dumps(_finite(body), allow_nan=False)


def _image(image: Image, folder: Path | None, beside: Path) -> dict[str, Any]:
    about = {"media_type": image.media_type, "width": image.width, "height": image.height}
    if folder is None:
        return {**about, "data": b64encode(image.data).decode()}
    file = folder / f"{image.digest}{SUFFIXES[image.media_type]}"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image.data)
    return {**about, "file": Path(os.path.relpath(file, beside)).as_posix()}


def _sequence(one: ChosenTrajectory, place: int, processor: ImageProcessor | None) -> dict[str, Any]:
    """A sequence with advantages. `dtypes` has the types of the lists."""
    sequence = one.trajectory.sequences[place]
    arrays = {name: getattr(sequence, name) for name in ARRAYS}
    spans = image_spans(sequence.ids) if sequence.ids.dtype == np.int64 else []
    shown = index_images(one.trajectory.images) if spans else {}
    if spans:
        arrays["ids"] = _plain_ids(sequence.ids, spans, shown, processor)
    rated: dict[str, Arrays | None] = {name: getattr(one, name) for name in RATED}
    arrays |= {name: own[place] for name, own in rated.items() if own is not None}
    arrays |= {f"features/{name}": values for name, values in sequence.features.items()}
    return {
        "mask": sequence.mask.tolist(),
        **{name: array.tolist() for name, array in arrays.items()},
        "dtypes": {name: array.dtype.str for name, array in arrays.items()},
        **({"images": [[start, stop, shown[key].digest] for start, stop, key in spans]} if spans else {}),
    }


def _plain_ids(
    ids: np.ndarray, spans: list[tuple[int, int, int]], images: Mapping[int, Image], processor: ImageProcessor | None
) -> np.ndarray:
    """Ids without image tokens: those of the vocabulary with a processor, else -1."""
    if processor is not None:
        return np.array(processor.expand(ids.tolist(), images), np.int64)
    found = ids.copy()
    for start, stop, _ in spans:
        found[start:stop] = -1
    return found


def _chosen(body: Mapping[str, Any], beside: Path) -> ChosenTrajectory:
    if body["format"] not in (FORMAT, IMAGE_FORMAT):
        raise ValueError(f"the format is {body['format']!r}")
    images = {digest: _load_image(digest, one, beside) for digest, one in body.get("images", {}).items()}
    scores, found = body["scores"], [_arrays(one, images) for one in body["sequences"]]
    per_sequence: dict[str, Any] = {name: _ragged(found, name) for name in RATED}
    reason = body["no_gradient"]
    return ChosenTrajectory(
        trajectory=_trajectory(body, found, codec.image_finder(images.values())),
        **{name: body[name] for name in ("step", "fate", "scored", "trained", "outcome_class", "part", "left_out_by")},
        age=body["age"],
        outcome=scores["outcome"],
        total=scores["total"],
        no_gradient=None if reason is None else Reason(**reason),
        turns=None if scores["turns"] is None else np.array(scores["turns"], np.float64),
        channels=scores["channels"],
        turn_channels={name: np.array(values, np.float64) for name, values in scores["turn_channels"].items()},
        eligible=scores["eligible"],
        **per_sequence,
    )


def _trajectory(body: Mapping[str, Any], found: list[dict[str, np.ndarray]], images: codec.ImageSource) -> Trajectory:
    return Trajectory(
        id=body["id"],
        task=_load(Task, body["task"], images),
        **{name: body[name] for name in PLAIN},
        turns=_load(tuple[Turn, ...], body["turns"], images),
        sequences=tuple(
            TokenSequence(
                **{name: arrays[name] for name in ARRAYS},
                features={name[9:]: array for name, array in arrays.items() if name.startswith("features/")},
            )
            for arrays in found
        ),
        ending=Ending(**body["ending"]),
        messages=_load(tuple[Message, ...], body["messages"], images),
        tools=_load(tuple[ToolSchema, ...], body["tools"], images),
        branch_of=None if body["branch_of"] is None else Branch(*body["branch_of"]),
        env=codec.load_json(json.dumps(body["env"]), images),
        notes=codec.load_json(json.dumps(body["notes"]), images),
        aux_turns=_load(tuple[Trajectory, ...], body["asked"], images),
        total_usage=None if body["spent"] is None else Usage(*body["spent"]),
    )


def _load_image(digest: str, one: Mapping[str, Any], beside: Path) -> Image:
    width, height = int(one["width"]), int(one["height"])
    media_type = str(one["media_type"])
    if "data" in one:
        return Image(width, height, digest, data=b64decode(one["data"]), media_type=media_type)
    file = beside / str(one["file"])
    return Image(width, height, digest, media_type=media_type, load=lambda: Image.read(file))


def _arrays(one: Mapping[str, Any], images: Mapping[str, Image]) -> dict[str, np.ndarray]:
    found = {name: np.array(one[name], np.dtype(dtype)) for name, dtype in one["dtypes"].items()}
    for start, stop, digest in one.get("images", ()):
        found["ids"][start:stop] = images[digest].ids(stop - start)
    return found


def _ragged(found: list[dict[str, np.ndarray]], name: str) -> Arrays | None:
    there = [arrays[name] for arrays in found if name in arrays]
    return tuple(there) if len(there) == len(found) and found else None


def _record(value: Any, images: dict[str, Image]) -> Any:
    return json.loads(codec.dump_record(value, images))


def _load(kind: Any, body: Any, images: codec.ImageSource) -> Any:
    return codec.load_record(kind, json.dumps(body), images)


def _free(value: Mapping[str, Any], images: dict[str, Image]) -> Any:
    return json.loads(codec.dump_json(dict(value), images))


def _finite(value: Any) -> Any:
    """Tag numbers unknown to JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return {NUMBER: str(value)}
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _back(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value[NUMBER]) if value.keys() == {NUMBER} else {key: _back(item) for key, item in value.items()}
    return [_back(item) for item in value] if isinstance(value, list) else value
