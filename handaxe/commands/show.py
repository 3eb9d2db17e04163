"""`handaxe show RUN|PAPER`: print the metrics of a run, and a rollout token by token; or a paper of the list."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tyro
from rich.console import Console

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.selection import find_id, find_step
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.core.records import Trajectory
from handaxe.evaluation.figures import evaluations
from handaxe.training.record.groups import RecordedGroup, group_fate
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape_markup import escaped_text
from handaxe.view.terminal_tables import metrics_table
from handaxe.view.trajectory import token_table, trajectory_panel

if TYPE_CHECKING:
    import handaxe.commands.decoder as decoder
    import handaxe.commands.show_paper as show_paper
else:
    show_paper = DeferredModule("handaxe.commands.show_paper")
    decoder = DeferredModule("handaxe.commands.decoder")

__all__ = ["RolloutChoice", "ShowOptions", "main", "print_rollout"]

MOST_ROWS = 12
"""Limit of steps in the table of metrics."""
COLUMNS = ("reward", "reward/all", "calls", "tokens", "loss", "grad_norm", "eval/pass@1", "eval/calls")


@dataclass(frozen=True)
class ShowOptions:
    """Print the metrics of a run, and a rollout token by token; or a paper. Steps and samples count from 1.

    Args:
        run: folder of the run; or a paper of the project's list, by number, name, arXiv id or words of the title.
        step: step of the rollout; by default the last step.
        task: task id of the rollout, or its start; by default the task of the step with the largest spread of scores.
        sample: number of the sibling; by default the sibling with the best score.
        tokens: also list every sampled token with log-prob and advantage.
        metrics: metrics of the table; by default a selection.
        max_chars: limit of characters for text of tools and users.
        json: write all metrics, evaluations and events to this file.
    """

    run: tyro.conf.Positional[Path]
    step: int | None = None
    task: str | None = None
    sample: int | None = None
    tokens: bool = False
    metrics: tuple[str, ...] = COLUMNS
    max_chars: int = 2000
    json: Path | None = None


class RolloutChoice(NamedTuple):
    """Step, task and sample of the rollout to show, as in `ShowOptions`; None for its default."""

    step: int | None = None
    task: str | None = None
    sample: int | None = None
    tokens: bool = False
    max_chars: int = 2000


def main(arguments: list[str]) -> int:
    """Show; returns the exit code."""
    options = tyro.cli(ShowOptions, args=arguments, prog="handaxe show")
    if _names_paper(options.run):
        return show_paper.print_paper(str(options.run))
    check_writable(options.json)
    terminal = console()
    with RunRecord.open(options.run) as record:
        rows, events = record.metrics(), record.events()
        found = {step: {n: e._asdict() for n, e in one.metrics.items()} for step, one in evaluations(record).items()}
    if rows:
        _check_metrics(options.metrics, rows)
    for event in events:
        terminal.print(
            escaped_text(f"{event.kind} after {event.step} steps {event.text}".rstrip(), style="bright_black")
        )
    terminal.print(metrics_table(rows, columns=options.metrics, last=MOST_ROWS, title=escape(str(options.run))))
    if rows:
        _print_omitted(options, rows, terminal)
        choice = RolloutChoice(options.step, options.task, options.sample, options.tokens, options.max_chars)
        print_rollout(options.run, choice, terminal)
    body = {"metrics": rows, "evaluations": found, "events": [event._asdict() for event in events]}
    write_json(options.json, body)
    return 0


def _names_paper(run: Path) -> bool:
    """True for one word, or several with spaces, that is no file or folder."""
    return len(run.parts) == 1 and not run.exists() and str(run) not in (".", "..")


def _print_omitted(options: ShowOptions, rows: Sequence[Mapping[str, float]], terminal: Console) -> None:
    """Print the numbers of steps and metrics that the table leaves out, and the options that show them."""
    known = {name for row in rows for name in row} - {"step"}
    metrics, steps = len(known - set(options.metrics)), max(0, len(rows) - MOST_ROWS)
    parts = [f"{steps} of {len(rows)} steps"] * bool(steps) + [f"{metrics} of {len(known)} metrics"] * bool(metrics)
    if parts:
        note(terminal, "left out", f"{' and '.join(parts)}: --metrics NAME ... chooses metrics, --json FILE has all")


def _check_metrics(names: Sequence[str], rows: Sequence[Mapping[str, float]]) -> None:
    """Raise InputError if the run lacks a metric. Metrics of the default selection may be missing."""
    known = sorted({name for row in rows for name in row} - {"step"})
    for name in names:
        if name not in (*known, *COLUMNS):
            close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(close)}? There" if close else "there"
            raise InputError(f"the run has no metric {name!r}; {hint} are {', '.join(known)}")


def print_rollout(folder: Path, choice: RolloutChoice, terminal: Console) -> None:
    """Print a rollout of a run.

    Raises:
        InputError: the step, task or sample does not exist; the message lists the existing ones.
    """
    with RunRecord.open(folder) as record:
        steps = record.steps()
        step = find_step(max(steps, default=-1) + 1 if choice.step is None else choice.step, steps, folder)
        groups = record.groups(step=step)
    if not groups:
        raise InputError(f"step {step + 1} in {folder} has no rollout")
    group, index = _choose(groups, choice)
    trajectory, found = group.played.group[index], group.place(index)
    place = found or 0
    advantages = None if found is None or group.advantages is None else group.advantages.tokens[place]
    scores = None if found is None else group.scores
    decode = decoder.make_decoder(folder)
    size = len(group.played.group)
    title = f"step {step + 1} of {len(steps)}, group {groups.index(group) + 1} of {len(groups)} "
    note(terminal, "rollout", f"{title}({escape(group_fate(group))}), sample {index + 1} of {size}")
    panel = trajectory_panel(
        trajectory,
        decode=decode,
        advantages=advantages,
        outcome=None if scores is None else float(scores.outcome[place]),
        channels={} if scores is None else {name: float(values[place]) for name, values in scores.channels.items()},
        max_chars=choice.max_chars,
    )
    terminal.print(panel)
    if choice.tokens:
        for number, sequence in enumerate(trajectory.sequences):
            advantage_T = None if advantages is None else advantages[number]
            terminal.print(token_table(sequence, decode=decode, advantages=advantage_T))
    terminal.print(_siblings(group))
    omitted = [f"{len(groups) - 1} of {len(groups)} groups of the step"] * (len(groups) > 1)
    omitted += [f"{size - 1} of {size} siblings"] * (size > 1)
    omitted += [] if choice.tokens else ["log-probs of single tokens"]
    if omitted:
        note(terminal, "left out", f"{', '.join(omitted)}: --task ID, --sample N, --tokens")


def _choose(groups: list[RecordedGroup], choice: RolloutChoice) -> tuple[RecordedGroup, int]:
    """The chosen group and sibling; by default the group with the largest spread of scores, and the best of it."""
    named = groups
    if choice.task is not None:
        task = find_id(choice.task, (one.group.task.id for one in groups), noun="task", place="in this step")
        named = [one for one in groups if one.group.task.id == task]
    group = max(named, key=lambda one: 0.0 if one.scores is None else float(one.scores.outcome.std()))
    if choice.sample is None:
        return group, int(_outcomes(group, -np.inf).argmax())
    found = [(one, i) for one in named for i, t in enumerate(one.played.group) if t.sample == choice.sample - 1]
    if not found:
        samples = ", ".join(map(str, sorted({t.sample + 1 for one in named for t in one.played.group})))
        scope = "in this step" if choice.task is None else "of this task"
        raise InputError(f"there is no sample {choice.sample} {scope}; there are {samples}")
    return found[0]


def _outcomes(group: RecordedGroup, missing: float) -> np.ndarray:
    """[P]: outcome of each rollout, `missing` for a rollout without a score."""
    places = [group.place(index) for index in range(len(group.played.group))]
    scores = group.scores
    return np.array([missing if p is None or scores is None else scores.outcome[p] for p in places], float)


def _siblings(group: RecordedGroup) -> object:
    pairs = zip(group.played.group, _outcomes(group, np.nan))
    words = [_word(trajectory, float(score)) for trajectory, score in pairs]
    return escaped_text("siblings   " + "   ".join(words), style="bright_black")


def _word(trajectory: Trajectory, score: float) -> str:
    shown = f"{score:.2f}" if np.isfinite(score) else trajectory.ending.kind
    return f"{trajectory.sample + 1}: {shown}"
