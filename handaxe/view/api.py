"""Data of the pages: one function per query, over the runs of a folder, with JSON results."""

from __future__ import annotations

import ast
import importlib.util
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np

import handaxe
from handaxe.core.errors import InputError
from handaxe.core.images import JPEG, PNG, Image, name_images
from handaxe.core.records import RatedGroup
from handaxe.evaluation.figures import TRAINING
from handaxe.training.record.groups import Fate, RecordedGroup, group_fate, is_trained
from handaxe.training.record.stored_images import StoredImage
from handaxe.view.curves import AXES, bands, run_curves, settings_digest
from handaxe.view.judged import judge_calls
from handaxe.view.query_parameters import Query, parse_query, whole_number
from handaxe.view.results import find_results
from handaxe.view.runs import Runs, ViewedRun, printable_name
from handaxe.view.trajectory import Decode
from handaxe.view.whole import attempt_as_json, channel_rows
from handaxe.view.why import OUTCOMES, outcome_classes, staleness_bound, totals, why

__all__ = [
    "ViewApi",
    "error_text",
    "full_step",
    "reward_documentation",
    "rollout_as_json",
    "step_as_json",
    "to_json",
]

LIBRARY_REWARD = re.compile(r"(handaxe\.rewards(?:\.\w+)+?)\.(\w+)(?:\.<locals>.*)?")
DIGEST = re.compile("[0-9a-f]{64}")
SHOWN = ("reward", "calls", "tokens")


class ViewApi:
    """Answers queries of the pages. Not thread-safe.

    Args:
        folder: a run, or a folder of runs and results.
        decoder: folder of a run -> decoder of token ids.
    """

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.runs = Runs(folder, decoder)
        self._curves: dict[str, tuple[list[float], dict[str, Any]]] = {}
        self._queries: dict[str, Callable[[Query], Any]] = {
            "runs": self._all,
            "pulse": self._pulse,
            "results": lambda query: find_results(self.runs.folder),
            "run": lambda query: _about(self._run(query)),
            "curves": lambda query: self.curves(self._run(query)),
            "bands": self._bands,
            "rows": self._rows,
            "step": lambda query: step_as_json(self._run(query), whole_number(query, "step")),
            "rollout": lambda query: rollout_as_json(self._run(query), whole_number(query, "id")),
        }

    def answer(self, name: str, query: Query) -> Any:
        """Answer a query, with None for numbers that are not finite.

        Args:
            name: of the query.
            query: its parameters.

        Raises:
            InputError: the query, or an object that it names, does not exist.
        """
        if name not in self._queries:
            raise InputError(f"there is no query {name!r}; there are {', '.join(self._queries)}")
        return to_json(self._queries[name](query))

    def image(self, query: Query, digest: str) -> StoredImage:
        """Media type and bytes of an image of a run.

        Raises:
            InputError: the run does not exist, or its record has no such image, or not as PNG or JPEG.
        """
        found = self._run(query).record.image(digest) if DIGEST.fullmatch(digest) else None
        if found is None or found[0] not in (PNG, JPEG):
            raise InputError("the run has no such image")
        return found

    def close(self) -> None:
        """Close the records."""
        self.runs.close()

    def curves(self, run: ViewedRun) -> dict[str, Any]:
        """All metrics of a run, see `curves.run_curves`; cached until the run writes data."""
        pulse = run.pulse()
        cached = self._curves.get(run.name)
        if cached is None or cached[0] != pulse:
            cached = self._curves[run.name] = (pulse, run_curves(run.figures()))
        return cached[1]

    def _run(self, query: Query) -> ViewedRun:
        return self.runs[query.get("run", "")]

    def _each(self, of: Callable[[ViewedRun], Any]) -> tuple[list[Any], list[dict[str, str]]]:
        """Results of a function for every run, and the error of every run that cannot be read."""
        found, damaged = [], []
        for name in self.runs.names():
            try:
                run = self.runs[name]
                found.append(of(run))
                if run.fault:
                    damaged.append({"name": name, "error": run.fault})
            except Exception as error:  # damage of one run must not hide the others
                damaged.append({"name": name, "error": error_text(error)})
        return found, damaged

    def _all(self, query: Query) -> dict[str, Any]:
        del query
        rows, damaged = self._each(lambda run: _summary(run, self.curves(run)))
        name = printable_name(self.runs.folder.resolve().name)
        return {"folder": name, "version": handaxe.__version__, "axes": AXES, "runs": rows, "damaged": damaged}

    def _pulse(self, query: Query) -> Any:
        if "run" in query:
            return self._run(query).pulse()
        found, damaged = self._each(lambda run: (run.name, run.pulse()))
        return dict.fromkeys((one["name"] for one in damaged), None) | dict(found)

    def _bands(self, query: Query) -> Any:
        setting = query.get("setting", "")
        found, _ = self._each(lambda run: (run.name, self.curves(run)) if settings_digest(run) == setting else None)
        chosen = [one for one in found if one is not None] if setting else []
        band = bands([curves for _, curves in chosen], query.get("metric", ""), query.get("axis", "steps"))
        return {"runs": [name for name, _ in chosen], "band": band}

    def _rows(self, query: Query) -> dict[str, Any]:
        start, length = whole_number(query, "start", 0), whole_number(query, "length", 100)
        order, falling = query.get("sort") or "step", query.get("falling") == "1"
        rows = self._run(query).rows
        return rows.page(parse_query(query), order=order, descending=falling, start=start, length=length)


def error_text(error: Exception) -> str:
    """Error for the pages: the message of an InputError, only the type of other errors, which the terminal shows."""
    if isinstance(error, InputError):
        return str(error)
    sys.stderr.write(f"a query failed: {type(error).__name__}: {error!a}\n")
    return f"reading failed: {type(error).__name__}; see the terminal"


def step_as_json(run: ViewedRun, step: int) -> dict[str, Any]:
    """Groups of a step with siblings.

    Raises:
        InputError: the step does not exist.
    """
    return _step(run, step, _groups(run, step))


def full_step(run: ViewedRun, step: int) -> dict[str, Any]:
    """A step for a report: "step" is the result of `step_as_json`, "rollouts" has every rollout in full by id."""
    groups, staleness = _groups(run, step), staleness_bound(run.record)
    rollouts = dict[int, dict[str, Any]]()
    for number, group, siblings in groups:
        rollouts |= _rollouts(run, number, group, staleness, siblings, range(len(siblings)))
    return {"step": _step(run, step, groups), "rollouts": rollouts}


def rollout_as_json(run: ViewedRun, row: int) -> dict[str, Any]:
    """A rollout in full, with siblings.

    Raises:
        InputError: the run has no rollout of this id.
    """
    group, place = run.record.group_of(row)
    number, staleness = run.rows.group_of(row), staleness_bound(run.record)
    return _rollouts(run, number, group, staleness, _siblings(run, number, group, staleness), [place])[row]


Siblings = list[dict[str, Any]]
Numbered = tuple[int, RecordedGroup, Siblings]


def _groups(run: ViewedRun, step: int) -> list[Numbered]:
    """Groups of a step, each with row number and siblings."""
    ids = [number for (number,) in run.record.query("SELECT id FROM groups WHERE step = ? ORDER BY id", step)]
    staleness = staleness_bound(run.record)
    return [
        (number, group, _siblings(run, number, group, staleness))
        for number, group in zip(ids, run.record.groups(step=step))
    ]


def _step(run: ViewedRun, step: int, groups: Sequence[Numbered]) -> dict[str, Any]:
    steps = run.record.steps()
    if step not in steps:
        known = f"it has steps {steps[0] + 1} to {steps[-1] + 1}" if steps else "it has no step yet"
        raise InputError(f"there is no step {step + 1} in this run; {known}")
    place = steps.index(step)
    return {
        "step": step,
        "previous": steps[place - 1] if place else None,
        "next": steps[place + 1] if place + 1 < len(steps) else None,
        "first": steps[0],
        "last": steps[-1],
        "groups": [_group(number, group, siblings) for number, group, siblings in groups],
    }


def _rollouts(
    run: ViewedRun,
    number: int,
    group: RecordedGroup,
    staleness: int | None,
    siblings: Siblings,
    places: Sequence[int],
) -> dict[int, dict[str, Any]]:
    """Siblings of a group in full, by id."""
    silent = set(run.silent())
    out = {}
    for place in places:
        found, entry = attempt_as_json(group, place, run.decode), siblings[place]
        silence = why(group, place, staleness)
        for turn, reason in zip(found["turns"], silence.turns):
            turn["why"] = None if reason is None else reason._asdict()
        for sequence, has_gradient in zip(found["sequences"], silence.tokens):
            sequence["gradient"] = has_gradient.tolist()
        channels = [one | {"silent": one["name"] in silent} for one in found["channels"]]
        own = {name: entry[name] for name in ("id", "class", "why", "score")}
        own["judged"] = judge_calls(run.folder, entry["name"])
        adjacent = run.rows.adjacent(entry["id"])
        out[entry["id"]] = found | own | adjacent | {"channels": channels, "group": number, "siblings": siblings}
    return out


def to_json(value: Any) -> Any:
    """Convert a value for JSON: numbers that are not finite become None, objects unknown to JSON become text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Image):
        return f"[image {value.width}x{value.height} {value.digest}]"
    return [to_json(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _group(number: int, group: RecordedGroup, siblings: Siblings) -> dict[str, Any]:
    task = group.group.task
    asked = (name_images(one.content, one.images) for one in reversed(task.messages) if one.role == "user")
    question = next(asked, "")
    return {
        "id": number,
        "task": task.id,
        "question": question,
        "answer": task.answer,
        "fate": group_fate(group),
        "part": group.part if isinstance(group, RatedGroup) else 0,
        "siblings": siblings,
    }


def _siblings(run: ViewedRun, number: int, group: RecordedGroup, staleness: int | None) -> Siblings:
    rows, classes = run.rows.in_group(number), outcome_classes(group)
    names = {one.id: row for one, row in zip(group.played.group, rows)}
    found = []
    for index, row in enumerate(rows):
        reason = why(group, index, staleness).whole
        facts_of_row = {"class": classes[index], "why": None if reason is None else reason._asdict()}
        found.append(_sibling(group, index, row, names) | facts_of_row)
    return found


def _sibling(group: RecordedGroup, index: int, row: int, names: Mapping[str, int]) -> dict[str, Any]:
    one, place = group.played.group[index], group.place(index)
    advantages = [] if group.advantages is None or place is None else group.advantages.tokens[place]
    values = [a[s.mask] for a, s in zip(advantages, one.sequences)]
    sampled = np.concatenate(values) if values else np.zeros(0)
    branch = one.branch_of
    return {
        "id": row,
        "name": one.id,
        "sample": one.sample,
        "ending": one.ending.kind,
        "reason": one.ending.reason,
        "score": None if place is None else float(totals(group)[place]),
        "channels": channel_rows(group, index),
        "scored": place is not None,
        "trained": is_trained(group, index),
        "advantage": [float(sampled.min()), float(sampled.max())] if len(sampled) else None,
        "turns": len(one.turns),
        "calls": [call.name for call in one.calls],
        "statuses": [reply.status for reply in one.replies],
        "tokens": one.num_tokens,
        "seconds": one.seconds,
        "cost": one.cost,
        "final": one.final_text,
        "folds": len(one.sequences) - 1,
        "branch": None if branch is None else {"of": names.get(branch.trajectory), **branch._asdict()},
    }


def _summary(run: ViewedRun, curves: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a row of the table."""
    ((steps, last),) = run.record.query("SELECT count(*), max(CAST(time AS REAL)) FROM steps")
    ((rollouts,),) = run.record.query("SELECT count(*) FROM trajectories")
    events = run.record.events()
    settings = run.settings
    names = [TRAINING + name for name in SHOWN] + ["pass@1"]
    figures = {name: curves["metrics"][name][1][-1] for name in names if curves["metrics"].get(name, [[], []])[1]}
    return {
        "name": run.name,
        "method": run.method,
        "world": _plain(settings.get("world")),
        "model": _plain(settings.get("model")),
        "seed": _plain(settings.get("seed")),
        "setting": settings_digest(run),
        "steps": steps,
        "rollouts": rollouts,
        "state": events[-1].kind if events else "",
        "started": events[0].time if events else None,
        "changed": max([one.time for one in events] + [last or 0.0]),
        "figures": figures,
    }


def _plain(value: Any) -> Any:
    """A cell of the table: None, text or a number; text for other values of a recipe.json."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _about(run: ViewedRun) -> dict[str, Any]:
    arguments = run.about.get("arguments")
    reward = arguments.get("reward") if isinstance(arguments, Mapping) else None
    return {
        "name": run.name,
        "settings": dict(run.settings),
        "command": _command(run),
        "setting": settings_digest(run),
        "steps": run.record.steps(),
        "events": [event._asdict() for event in run.record.events()],
        "tools": run.rows.tools(),
        "outcomes": OUTCOMES,
        "fates": get_args(Fate),
        "reward": None if not isinstance(reward, str) else {"name": reward, "text": reward_documentation(reward)},
        "silent": run.silent(),
    }


def _command(run: ViewedRun) -> str:
    recipe = run.about.get("recipe")
    return str(recipe.get("command", "")) if isinstance(recipe, Mapping) else ""


def reward_documentation(name: str) -> str:
    """Docstring of a reward of handaxe, by the name in a record; "" for other rewards.

    Example:
        reward_documentation("handaxe.rewards.exact_match.exact_match.<locals>.score") -> "Give 1 where ..."
    """
    found = LIBRARY_REWARD.fullmatch(name)
    if found is None:
        return ""
    with suppress(ImportError, ValueError, OSError, SyntaxError):
        spec = importlib.util.find_spec(found[1])
        if spec is None or spec.origin is None:
            return ""
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == found[2]:
                return ast.get_docstring(node) or ""
    return ""
