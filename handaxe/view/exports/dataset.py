"""Exports trajectories as a Parquet folder for the package datasets, with messages in the form of chat trainers.

    datasets.load_dataset(str(folder), split="train")

Text is unchanged except lone surrogates, which Parquet cannot store: written as \\udc80. With images, the column
`images` holds them in the order of the conversation, and contents are lists of parts of type text and image.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import Image, name_images, split_images
from handaxe.core.records import Message, ToolSchema
from handaxe.ops import codec
from handaxe.view.exports.chosen import ChosenTrajectory

__all__ = ["FILE", "write_dataset"]

FILE = "data/train-00000-of-00001.parquet"
"""Parquet file in the folder, in the layout of data set hubs."""
BATCH = 500
"""Rows in memory."""
TOKENS = {
    "ids": "int64",
    "author": "int8",
    "turn": "int64",
    "mask": "bool",
    "trains": "bool",
    "logp": "float32",
    "behaviour_logp": "float32",
    "version": "int64",
    "advantages": "float64",
}


def write_dataset(chosen: Iterable[ChosenTrajectory], folder: Path, *, images: bool = False) -> int:
    """Write a row per trajectory; returns the number of rows. docs/trajectories.md documents the columns.

    Args:
        chosen: trajectories to write.
        folder: empty or new folder.
        images: write images and contents as parts; without, contents are text.

    Raises:
        InputError: datasets is not installed, the folder is not empty or cannot be written, or there is no trajectory:
            the package loads no data set without rows.
    """
    try:
        import datasets
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise InputError("a data set needs the package datasets; install handaxe[datasets]") from error
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; name another folder for the data set")
    features = _features(datasets, images)
    rows, count = (_row(one, images) for one in chosen), 0
    batch = list(islice(rows, BATCH))
    if not batch:
        raise InputError("there is no trajectory to write; a data set without rows cannot be loaded")
    try:
        (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
        schema = features.arrow_schema
        with ParquetWriter(folder / FILE, schema) as writer:
            while batch:
                writer.write_table(datasets.Dataset.from_list(batch, features=features).data.table)
                count += len(batch)
                batch = list(islice(rows, BATCH))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error}") from error
    return count


def _features(datasets: Any, images: bool) -> Any:
    """Columns with types."""
    text, number = datasets.Value("string"), datasets.Value("float64")
    whole, yes = datasets.Value("int64"), datasets.Value("bool")
    function = {"name": text, "arguments": text}
    call = {"id": text, "type": text, "function": function}
    message = {
        "role": text,
        "content": datasets.List({"type": text, "text": text}) if images else text,
        "tool_calls": datasets.List(call),
        "tool_call_id": text,
        "name": text,
    }
    named = datasets.List({"name": text, "value": number})
    tokens = {name: datasets.List(datasets.Value(kind)) for name, kind in TOKENS.items()}
    return datasets.Features(
        {
            "id": text,
            "step": whole,
            "task": text,
            "sample": whole,
            "messages": datasets.List(message),
            **({"images": datasets.List(datasets.Image())} if images else {}),
            "tools": text,
            "answer": text,
            "ending": text,
            "reason": text,
            "outcome_class": text,
            "outcome": number,
            "total": number,
            "channels": named,
            "turn_rewards": datasets.List(number),
            "scored": yes,
            "trained": yes,
            "no_gradient": text,
            "fate": text,
            "sequences": datasets.List(tokens),
        }
    )


def _row(one: ChosenTrajectory, images: bool) -> dict[str, Any]:
    trajectory = one.trajectory
    return {
        "id": _text(trajectory.id),
        "step": one.step,
        "task": _text(trajectory.task.id),
        "sample": trajectory.sample,
        "messages": [_message(message, images) for message in trajectory.messages],
        **({"images": [_image(image) for one in trajectory.messages for image in one.images]} if images else {}),
        "tools": json.dumps([_tool(tool) for tool in trajectory.tools]),
        "answer": codec.dump_json(trajectory.task.answer, {}),
        "ending": trajectory.ending.kind,
        "reason": _text(trajectory.ending.reason),
        "outcome_class": one.outcome_class,
        "outcome": _number(one.outcome),
        "total": _number(one.total),
        "channels": [{"name": _text(name), "value": _number(value)} for name, value in one.channels.items()],
        "turn_rewards": None if one.turns is None else one.turns.tolist(),
        "scored": one.scored,
        "trained": one.trained,
        "no_gradient": "" if one.no_gradient is None else one.no_gradient.text,
        "fate": one.fate,
        "sequences": list(_sequences(one)),
    }


def _sequences(one: ChosenTrajectory) -> Iterator[dict[str, Any]]:
    """Rows of tokens. An untrained trajectory has no trained token; missing advantages are 0."""
    for place, sequence in enumerate(one.trajectory.sequences):
        trains = sequence.mask & one.trained
        if one.trains is not None:
            trains = trains & one.trains[place]
        advantages = np.zeros(len(sequence)) if one.advantages is None else one.advantages[place]
        rated = {"mask": sequence.mask, "trains": trains, "advantages": advantages}
        yield {name: rated[name] if name in rated else getattr(sequence, name) for name in TOKENS}


def _image(image: Image) -> dict[str, Any]:
    return {"bytes": image.data, "path": None}


def _content(message: Message, images: bool) -> Any:
    if not images:
        return _text(name_images(message.content, message.images))
    parts = split_images(message.content, message.images)
    return [
        {"type": "image", "text": None} if isinstance(part, Image) else {"type": "text", "text": _text(part)}
        for part in parts
    ]


def _message(message: Message, images: bool) -> Mapping[str, Any]:
    calls = [
        {
            "id": _text(call.id),
            "type": "function",
            "function": {"name": _text(call.name), "arguments": codec.dump_json(dict(call.arguments))},
        }
        for call in message.calls
    ]
    return {
        "role": message.role,
        "content": _content(message, images),
        "tool_calls": calls,
        "tool_call_id": _text(message.call_id),
        "name": _text(message.name),
    }


def _tool(tool: ToolSchema) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
