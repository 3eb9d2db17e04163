"""`handaxe show RUN`: the metrics of a run, and one of its attempts token by token."""

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tyro
from rich.console import Console

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.escape import escape
from handaxe.core.records import Trajectory
from handaxe.evaluation.figures import evaluations
from handaxe.methods.build import START
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.models.compact import Compact
from handaxe.models.huggingface import load_tokenizer
from handaxe.models.load import TINY, load_format
from handaxe.models.saved import find_saved
from handaxe.models.untrusted import SafeEncoder
from handaxe.training.record.groups import GroupRecord
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape import plain
from handaxe.view.tables import metrics_table
from handaxe.view.trajectory import Decode, token_table, trajectory_panel

__all__ = ["ShowOptions", "Wanted", "decoder_of", "main", "print_attempt"]

COLUMNS = ("reward", "reward/all", "calls", "tokens", "loss", "grad_norm", "eval/pass@1", "eval/calls")


@dataclass(frozen=True)
class ShowOptions:
    """Show the metrics of a run, and one of its attempts token by token.

    Args:
        run: folder of the run.
        step: step of the attempt; the last one unless told otherwise.
        task: id of its task; that of the step whose scores differ most unless told otherwise.
        sample: which sibling; the one with the best score unless told otherwise.
        tokens: also list every sampled token with its log-probability and advantage.
        metrics: which metrics the table holds; a few unless told otherwise.
        room: longest text of a tool or user that is shown in full, in characters.
        json: write all metrics, evaluations and events to this file.
    """

    run: tyro.conf.Positional[Path]
    step: int | None = None
    task: str | None = None
    sample: int | None = None
    tokens: bool = False
    metrics: tuple[str, ...] = COLUMNS
    room: int = 2000
    json: Path | None = None


class Wanted(NamedTuple):
    """Which attempt to show and how; None leaves the choice to us."""

    step: int | None = None
    task: str | None = None
    sample: int | None = None
    tokens: bool = False
    room: int = 2000


def main(arguments: list[str]) -> int:
    """Show; returns the exit code."""
    options = tyro.cli(ShowOptions, args=arguments, prog="handaxe show")
    check_writable(options.json)
    terminal = console()
    with RunRecord.open(options.run) as record:
        rows, events = record.metrics(), record.events()
        found = {step: {n: e._asdict() for n, e in one.metrics.items()} for step, one in evaluations(record).items()}
    if rows:
        _check_metrics(options.metrics, rows)
    for event in events:
        terminal.print(plain(f"{event.kind} after {event.step} steps {event.text}".rstrip(), style="bright_black"))
    terminal.print(metrics_table(rows, columns=options.metrics, title=escape(str(options.run))))
    if rows:
        wanted = Wanted(options.step, options.task, options.sample, options.tokens, options.room)
        print_attempt(options.run, wanted, terminal)
    body = {"metrics": rows, "evaluations": found, "events": [event._asdict() for event in events]}
    write_json(options.json, body)
    return 0


def _check_metrics(asked: Sequence[str], rows: Sequence[Mapping[str, float]]) -> None:
    """Raise InputError when a run has no such metric; those that are shown untold need not be there."""
    there = sorted({name for row in rows for name in row} - {"step"})
    for name in asked:
        if name not in (*there, *COLUMNS):
            close = difflib.get_close_matches(name, there, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}? There" if close else "there"
            raise InputError(f"the run has no metric {name!r}; {hint} are {', '.join(there)}")


def print_attempt(folder: Path, wanted: Wanted, terminal: Console) -> None:
    """Show one attempt of a run.

    Raises:
        InputError: there is no such step, task or sample; the message lists what there is.
    """
    with RunRecord.open(folder) as record:
        steps = record.steps()
        step = wanted.step if wanted.step is not None else max(steps, default=-1)
        groups = record.groups(step=step)
    if not groups:
        there = f"it has steps {steps[0]} to {steps[-1]}" if steps else "it has none yet"
        raise InputError(f"there is no step {step} in {folder}; {there}")
    group, index = _choose(groups, wanted)
    trajectory = group.group[index]
    place = int(np.count_nonzero(group.scored[:index]))
    scored = bool(group.scored[index])
    advantages = group.advantages.tokens[place] if scored and group.advantages is not None else None
    scores = group.scores if scored else None
    decode = decoder_of(folder)
    note(terminal, "attempt", f"step {step}, group {escape(group.fate)}, {len(group.group)} siblings")
    panel = trajectory_panel(
        trajectory,
        decode=decode,
        advantages=advantages,
        outcome=None if scores is None else float(scores.outcome[place]),
        channels={} if scores is None else {name: float(values[place]) for name, values in scores.channels.items()},
        room=wanted.room,
    )
    terminal.print(panel)
    if wanted.tokens:
        for number, sequence in enumerate(trajectory.sequences):
            advantage_T = None if advantages is None else advantages[number]
            terminal.print(token_table(sequence, decode=decode, advantages=advantage_T))
    terminal.print(_siblings(group))


def _choose(groups: list[GroupRecord], wanted: Wanted) -> tuple[GroupRecord, int]:
    """The group and sibling asked for, or the most telling: whose scores differ most, the best of it."""
    named = [one for one in groups if wanted.task is None or one.group.task.id == wanted.task]
    if not named:
        there = ", ".join(dict.fromkeys(escape(one.group.task.id) for one in groups))
        raise InputError(f"there is no task {wanted.task!r} in that step; it has {there}")
    group = max(named, key=lambda one: 0.0 if one.scores is None else float(one.scores.outcome.std()))
    if wanted.sample is None:
        best = -np.inf * np.ones(len(group.group))
        if group.scores is not None:
            best[group.scored] = group.scores.outcome
        return group, int(best.argmax())
    found = [(one, i) for one in named for i, t in enumerate(one.group) if t.sample == wanted.sample]
    if not found:
        there = ", ".join(map(str, sorted({t.sample for one in named for t in one.group})))
        whose = "in that step" if wanted.task is None else "of that task"
        raise InputError(f"there is no sample {wanted.sample} {whose}; there are {there}")
    return found[0]


def decoder_of(folder: Path) -> Decode:
    """What turns the run's ids into text: the format that it keeps, or of an older run what comes nearest. No model is
    built."""
    with suppress(HandaxeError):
        return load_format(folder).decode
    with RunRecord.open(folder) as record:
        roles = record.about().get("arguments", {})
    if roles.get("format") == f"{Compact.__module__}.{Compact.__qualname__}":
        return Compact().decode
    with suppress(HandaxeError):
        saved = find_saved(folder, whole=False)
        if saved is not None:
            return SafeEncoder(load_tokenizer(saved.model)).decode
    with suppress(HandaxeError):
        if recorded_method(folder) is not None:
            return load_format(recorded_run(folder).spec.settings.model.replace(START, TINY)).decode
    return _ids


def _ids(ids: object) -> str:
    return "".join(f"<{int(token)}>" for token in np.asarray(ids).ravel())


def _siblings(group: GroupRecord) -> object:
    scores = np.full(len(group.group), np.nan)
    if group.scores is not None:
        scores[group.scored] = group.scores.outcome
    words = [_word(trajectory, float(score)) for trajectory, score in zip(group.group, scores)]
    return plain("siblings   " + "   ".join(words), style="bright_black")


def _word(trajectory: Trajectory, score: float) -> str:
    shown = f"{score:.2f}" if np.isfinite(score) else trajectory.ending.kind
    return f"{trajectory.sample}: {shown}"
