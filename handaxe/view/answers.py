"""What the pages ask, and the answers: one function a question, over the runs under a folder. All of it is JSON."""

from __future__ import annotations

import ast
import importlib.util
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np

import handaxe
from handaxe.core.errors import InputError
from handaxe.evaluation.figures import TRAINING
from handaxe.training.record.groups import Fate, GroupRecord
from handaxe.view.curves import AXES, bands, run_curves, setting_of
from handaxe.view.results import find_results
from handaxe.view.runs import Runs, ViewedRun
from handaxe.view.search import Where
from handaxe.view.trajectory import Decode
from handaxe.view.whole import attempt_as_json, place_among_scored, told_channels
from handaxe.view.why import OUTCOMES, StepFacts, facts_of, outcome_classes, totals, why

__all__ = ["Answers", "attempt", "explained", "finite", "step_as_json", "where_of", "whole_step"]

Asked = Mapping[str, str]
OURS = re.compile(r"(handaxe\.rewards(?:\.\w+)+?)\.(\w+)(?:\.<locals>.*)?")
SHOWN = ("reward", "calls", "tokens")


class Answers:
    """Answers what the pages ask. One thread at a time.

    Args:
        folder: a run, or a folder of runs and results.
        decoder: the folder of a run -> what turns its ids into text.
    """

    def __init__(self, folder: Path, decoder: Callable[[Path], Decode]):
        self.runs = Runs(folder, decoder)
        self._curves: dict[str, tuple[list[float], dict[str, Any]]] = {}
        self._questions: dict[str, Callable[[Asked], Any]] = {
            "runs": self._all,
            "pulse": self._pulse,
            "results": lambda asked: find_results(self.runs.folder),
            "run": lambda asked: _about(self._run(asked)),
            "curves": lambda asked: self.curves(self._run(asked)),
            "bands": self._bands,
            "rows": self._rows,
            "step": lambda asked: step_as_json(self._run(asked), _whole(asked, "step")),
            "attempt": lambda asked: attempt(self._run(asked), _whole(asked, "id")),
        }

    def answer(self, question: str, asked: Asked) -> Any:
        """The answer, with None for numbers that are not finite.

        Raises:
            InputError: there is no such question, or not what it asks for.
        """
        if question not in self._questions:
            raise InputError(f"there is no question {question!r}; there are {', '.join(self._questions)}")
        return finite(self._questions[question](asked))

    def close(self) -> None:
        """Release the records."""
        self.runs.close()

    def curves(self, run: ViewedRun) -> dict[str, Any]:
        """Every figure of a run, see `curves.run_curves`; kept until the run writes something."""
        pulse = run.pulse()
        there = self._curves.get(run.name)
        if there is None or there[0] != pulse:
            there = self._curves[run.name] = (pulse, run_curves(run.figures()))
        return there[1]

    def _run(self, asked: Asked) -> ViewedRun:
        return self.runs[asked.get("run", "")]

    def _all(self, asked: Asked) -> dict[str, Any]:
        del asked
        rows = [_summary(run, self.curves(run)) for run in self.runs.all()]
        name = self.runs.folder.resolve().name
        return {"folder": name, "version": handaxe.__version__, "axes": AXES, "runs": rows}

    def _pulse(self, asked: Asked) -> Any:
        return self._run(asked).pulse() if "run" in asked else {run.name: run.pulse() for run in self.runs.all()}

    def _bands(self, asked: Asked) -> Any:
        runs = [run for run in self.runs.all() if setting_of(run) == asked.get("setting", "") != ""]
        found = bands([self.curves(run) for run in runs], asked.get("metric", ""), asked.get("axis", "steps"))
        return {"runs": [run.name for run in runs], "band": found}

    def _rows(self, asked: Asked) -> dict[str, Any]:
        start, length = _whole(asked, "start", 0), _whole(asked, "length", 100)
        order, falling = asked.get("sort") or "step", asked.get("falling") == "1"
        return self._run(asked).rows.page(where_of(asked), order=order, descending=falling, start=start, length=length)


def where_of(asked: Asked) -> Where:
    """What attempts a page looks for.

    Raises:
        InputError: text where a number belongs, a word that is too long, or an outcome or fate that does not exist.
    """
    return Where(
        text=asked.get("text", ""),
        tool=asked.get("tool", ""),
        outcome=asked.get("outcome", ""),
        fate=asked.get("fate", ""),
        task=asked.get("task", ""),
        step=(_number(asked, "first"), _number(asked, "last")),
        score=(_number(asked, "low"), _number(asked, "high")),
        trained=None if not asked.get("trained") else asked["trained"] == "1",
    )


def step_as_json(run: ViewedRun, step: int) -> dict[str, Any]:
    """The groups of a step, siblings side by side.

    Raises:
        InputError: there is no such step.
    """
    return _step(run, step, _groups(run, step))


def whole_step(run: ViewedRun, step: int) -> dict[str, Any]:
    """A step as a report holds it: "step", what `step_as_json` gives, and "attempts", every one whole, by its id."""
    groups, facts = _groups(run, step), facts_of(run.record, step)
    attempts = dict[int, dict[str, Any]]()
    for number, group, siblings in groups:
        attempts |= _attempts(run, number, group, facts, siblings, range(len(siblings)))
    return {"step": _step(run, step, groups), "attempts": attempts}


def attempt(run: ViewedRun, row: int) -> dict[str, Any]:
    """One attempt whole, with its siblings.

    Raises:
        InputError: the run has no attempt of this id.
    """
    group, place = run.record.group_of(row)
    number, facts = run.rows.group_of(row), facts_of(run.record, group.group.step)
    return _attempts(run, number, group, facts, _siblings(run, number, group, facts), [place])[row]


Siblings = list[dict[str, Any]]
Numbered = tuple[int, GroupRecord, Siblings]


def _groups(run: ViewedRun, step: int) -> list[Numbered]:
    """The groups of a step, each with its row in the record and its siblings."""
    ids = [number for (number,) in run.record.query("SELECT id FROM groups WHERE step = ? ORDER BY id", step)]
    facts = facts_of(run.record, step)
    return [
        (number, group, _siblings(run, number, group, facts))
        for number, group in zip(ids, run.record.groups(step=step))
    ]


def _step(run: ViewedRun, step: int, groups: Sequence[Numbered]) -> dict[str, Any]:
    steps = run.record.steps()
    if step not in steps:
        there = f"it has steps {steps[0]} to {steps[-1]}" if steps else "it has none yet"
        raise InputError(f"there is no step {step} in this run; {there}")
    place = steps.index(step)
    return {
        "step": step,
        "previous": steps[place - 1] if place else None,
        "next": steps[place + 1] if place + 1 < len(steps) else None,
        "first": steps[0],
        "last": steps[-1],
        "groups": [_group(number, group, siblings) for number, group, siblings in groups],
    }


def _attempts(
    run: ViewedRun, number: int, group: GroupRecord, facts: StepFacts, siblings: Siblings, places: Sequence[int]
) -> dict[int, dict[str, Any]]:
    """Some siblings of a group whole, by their ids."""
    silent = set(run.silent())
    out = {}
    for place in places:
        found, mine = attempt_as_json(group, place, run.decode), siblings[place]
        silence = why(group, place, facts)
        for turn, reason in zip(found["turns"], silence.turns):
            turn["why"] = None if reason is None else reason._asdict()
        for sequence, got in zip(found["sequences"], silence.tokens):
            sequence["gradient"] = got.tolist()
        channels = [one | {"silent": one["name"] in silent} for one in found["channels"]]
        own = {name: mine[name] for name in ("id", "class", "why", "score")}
        beside = run.rows.beside(mine["id"])
        out[mine["id"]] = found | own | beside | {"channels": channels, "group": number, "siblings": siblings}
    return out


def finite(value: Any) -> Any:
    """The value as JSON: numbers that are not finite, which JSON lacks, as None; what JSON has no form for as text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray | np.generic):
        return finite(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _group(number: int, group: GroupRecord, siblings: Siblings) -> dict[str, Any]:
    task = group.group.task
    asked = next((message.content for message in reversed(task.messages) if message.role == "user"), "")
    return {
        "id": number,
        "task": task.id,
        "asked": asked,
        "answer": task.answer,
        "fate": group.fate,
        "part": group.part,
        "siblings": siblings,
    }


def _siblings(run: ViewedRun, number: int, group: GroupRecord, facts: StepFacts) -> Siblings:
    rows, classes = run.rows.in_group(number), outcome_classes(group)
    names = {one.id: row for one, row in zip(group.group, rows)}
    found = []
    for index, row in enumerate(rows):
        reason = why(group, index, facts).whole
        said = {"class": classes[index], "why": None if reason is None else reason._asdict()}
        found.append(_sibling(group, index, row, names) | said)
    return found


def _sibling(group: GroupRecord, index: int, row: int, names: Mapping[str, int]) -> dict[str, Any]:
    one, place = group.group[index], place_among_scored(group, index)
    said = [] if group.advantages is None or place is None else group.advantages.tokens[place]
    written = np.concatenate([a[s.mask] for a, s in zip(said, one.sequences)]) if len(said) else np.zeros(0)
    branch = one.branch_of
    return {
        "id": row,
        "name": one.id,
        "sample": one.sample,
        "ending": one.ending.kind,
        "reason": one.ending.reason,
        "score": None if place is None else float(totals(group)[place]),
        "channels": told_channels(group, index),
        "scored": bool(group.scored[index]),
        "trained": bool(group.trained[index]),
        "advantage": [float(written.min()), float(written.max())] if len(written) else None,
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
    """A run as a line of the table."""
    ((steps, last),) = run.record.query("SELECT count(*), max(time) FROM steps")
    ((attempts,),) = run.record.query("SELECT count(*) FROM trajectories")
    events = run.record.events()
    settings = run.settings
    names = [TRAINING + name for name in SHOWN] + ["pass@1"]
    figures = {name: curves["metrics"][name][1][-1] for name in names if curves["metrics"].get(name, [[], []])[1]}
    return {
        "name": run.name,
        "recipe": run.recipe,
        "world": settings.get("world"),
        "model": settings.get("model"),
        "seed": settings.get("seed"),
        "setting": setting_of(run),
        "steps": steps,
        "attempts": attempts,
        "state": events[-1].kind if events else "",
        "started": events[0].time if events else None,
        "changed": max([one.time for one in events] + [last or 0.0]),
        "figures": figures,
    }


def _about(run: ViewedRun) -> dict[str, Any]:
    arguments = run.about.get("arguments")
    named = arguments.get("reward") if isinstance(arguments, Mapping) else None
    return {
        "name": run.name,
        "settings": dict(run.settings),
        "command": _command(run),
        "setting": setting_of(run),
        "steps": run.record.steps(),
        "events": [event._asdict() for event in run.record.events()],
        "tools": run.rows.tools(),
        "outcomes": OUTCOMES,
        "fates": get_args(Fate),
        "reward": None if not isinstance(named, str) else {"name": named, "text": explained(named)},
        "silent": run.silent(),
    }


def _command(run: ViewedRun) -> str:
    recipe = run.about.get("recipe")
    return str(recipe.get("command", "")) if isinstance(recipe, Mapping) else ""


def explained(named: str) -> str:
    """What a reward of the library says of itself: the docstring of the factory that a record names; "" for others.

    Example:
        explained("handaxe.rewards.exact_match.exact_match.<locals>.score") -> "Give 1 where ..."
    """
    found = OURS.fullmatch(named)
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


def _whole(asked: Asked, name: str, otherwise: int | None = None) -> int:
    found = _number(asked, name)
    if found is None:
        if otherwise is None:
            raise InputError(f"{name} is missing; give a whole number")
        return otherwise
    if not found.is_integer() or abs(found) >= 2**53:
        raise InputError(f"{name} is {asked[name][:40]!r}; give a whole number")
    return int(found)


def _number(asked: Asked, name: str) -> float | None:
    if not asked.get(name):
        return None
    try:
        found = float(asked[name])
    except ValueError:
        raise InputError(f"{name} is {asked[name][:40]!r}; give a number") from None
    if not math.isfinite(found):
        raise InputError(f"{name} is {asked[name]}; give a finite number")
    return found
