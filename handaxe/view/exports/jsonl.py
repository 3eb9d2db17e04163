"""Exports complete trajectories as JSON lines, and reads the lines back. docs/trajectories.md documents the fields.

A line is ASCII and standard JSON: a number that is not finite is {"__number__": "nan"}, or "inf" or "-inf"; values
unknown to JSON are tagged as in `ops.codec`. Text of models and tools is plain JSON text.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending, Message, Task, TokenSequence, ToolSchema, Trajectory, Turn, Usage
from handaxe.ops import codec
from handaxe.view.exports.chosen import Arrays, ChosenTrajectory
from handaxe.view.why import Reason

__all__ = ["FORMAT", "read_jsonl", "to_line", "write_jsonl"]

FORMAT = "handaxe trajectory 1"
ARRAYS = ("ids", "author", "turn", "logp", "behaviour_logp", "version")
RATED = ("advantages", "returns", "trains", "pushed")
PLAIN = ("sample", "seed", "seconds")
NUMBER = "__number__"


def write_jsonl(chosen: Iterable[ChosenTrajectory], file: Path) -> int:
    """Write a line per trajectory; returns the number of lines.

    Raises:
        InputError: the file cannot be written.
    """
    count = 0
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="ascii") as out:
            for one in chosen:
                out.write(to_line(one) + "\n")
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
                    yield _chosen(_back(json.loads(line)))
                except (ValueError, LookupError, TypeError, AttributeError) as error:
                    raise InputError(f"line {number} of {file} is no {FORMAT!r}: {error}") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def to_line(one: ChosenTrajectory) -> str:
    """Format a trajectory as a line, without newline."""
    trajectory = one.trajectory
    body = {
        "format": FORMAT,
        "id": trajectory.id,
        "step": one.step,
        "task": _record(trajectory.task),
        **{name: getattr(trajectory, name) for name in PLAIN},
        "cost": trajectory.cost,
        "messages": _record(trajectory.messages),
        "tools": _record(trajectory.tools),
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
        "turns": _record(trajectory.turns),
        "sequences": [_sequence(one, place) for place in range(len(trajectory.sequences))],
        "branch_of": None if trajectory.branch_of is None else list(trajectory.branch_of),
        "env": _free(trajectory.env),
        "notes": _free(trajectory.notes),
        "asked": _record(trajectory.aux_turns),
        "spent": None if trajectory.total_usage is None else list(trajectory.total_usage),
    }
    return json.dumps(_finite(body), allow_nan=False)


def _sequence(one: ChosenTrajectory, place: int) -> dict[str, Any]:
    """A sequence with advantages. `dtypes` has the types of the lists."""
    sequence = one.trajectory.sequences[place]
    arrays = {name: getattr(sequence, name) for name in ARRAYS}
    rated: dict[str, Arrays | None] = {name: getattr(one, name) for name in RATED}
    arrays |= {name: own[place] for name, own in rated.items() if own is not None}
    arrays |= {f"features/{name}": values for name, values in sequence.features.items()}
    return {
        "mask": sequence.mask.tolist(),
        **{name: array.tolist() for name, array in arrays.items()},
        "dtypes": {name: array.dtype.str for name, array in arrays.items()},
    }


def _chosen(body: Mapping[str, Any]) -> ChosenTrajectory:
    if body["format"] != FORMAT:
        raise ValueError(f"the format is {body['format']!r}")
    scores, found = body["scores"], [_arrays(one) for one in body["sequences"]]
    per_sequence: dict[str, Any] = {name: _ragged(found, name) for name in RATED}
    reason = body["no_gradient"]
    return ChosenTrajectory(
        trajectory=_trajectory(body, found),
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


def _trajectory(body: Mapping[str, Any], found: list[dict[str, np.ndarray]]) -> Trajectory:
    return Trajectory(
        id=body["id"],
        task=_load(Task, body["task"]),
        **{name: body[name] for name in PLAIN},
        turns=_load(tuple[Turn, ...], body["turns"]),
        sequences=tuple(
            TokenSequence(
                **{name: arrays[name] for name in ARRAYS},
                features={name[9:]: array for name, array in arrays.items() if name.startswith("features/")},
            )
            for arrays in found
        ),
        ending=Ending(**body["ending"]),
        messages=_load(tuple[Message, ...], body["messages"]),
        tools=_load(tuple[ToolSchema, ...], body["tools"]),
        branch_of=None if body["branch_of"] is None else Branch(*body["branch_of"]),
        env=codec.load_json(json.dumps(body["env"])),
        notes=codec.load_json(json.dumps(body["notes"])),
        aux_turns=_load(tuple[Trajectory, ...], body["asked"]),
        total_usage=None if body["spent"] is None else Usage(*body["spent"]),
    )


def _arrays(one: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(one[name], np.dtype(dtype)) for name, dtype in one["dtypes"].items()}


def _ragged(found: list[dict[str, np.ndarray]], name: str) -> Arrays | None:
    there = [arrays[name] for arrays in found if name in arrays]
    return tuple(there) if len(there) == len(found) and found else None


def _record(value: Any) -> Any:
    return json.loads(codec.dump_record(value))


def _load(kind: Any, body: Any) -> Any:
    return codec.load_record(kind, json.dumps(body))


def _free(value: Mapping[str, Any]) -> Any:
    return json.loads(codec.dump_json(dict(value)))


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
