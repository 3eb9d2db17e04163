"""`handaxe show RUN`: print the metrics of a run, and a rollout token by token."""

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
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.models.huggingface import load_tokenizer
from handaxe.models.load import TINY, load_format
from handaxe.models.saved_policy import find_saved_policy
from handaxe.training.record.groups import RecordedGroup, group_fate
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape import escaped_text
from handaxe.view.tables import metrics_table
from handaxe.view.trajectory import Decode, token_table, trajectory_panel

__all__ = ["RolloutChoice", "ShowOptions", "main", "make_decoder", "print_rollout"]

COLUMNS = ("reward", "reward/all", "calls", "tokens", "loss", "grad_norm", "eval/pass@1", "eval/calls")


@dataclass(frozen=True)
class ShowOptions:
    """Print the metrics of a run, and a rollout token by token.

    Args:
        run: folder of the run.
        step: step of the rollout; by default the last step.
        task: task id of the rollout; by default the task of the step with the largest spread of scores.
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
    """Step, task and sample of the rollout to show; None chooses the default of `ShowOptions`."""

    step: int | None = None
    task: str | None = None
    sample: int | None = None
    tokens: bool = False
    max_chars: int = 2000


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
        terminal.print(
            escaped_text(f"{event.kind} after {event.step} steps {event.text}".rstrip(), style="bright_black")
        )
    terminal.print(metrics_table(rows, columns=options.metrics, title=escape(str(options.run))))
    if rows:
        choice = RolloutChoice(options.step, options.task, options.sample, options.tokens, options.max_chars)
        print_rollout(options.run, choice, terminal)
    body = {"metrics": rows, "evaluations": found, "events": [event._asdict() for event in events]}
    write_json(options.json, body)
    return 0


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
        step = choice.step if choice.step is not None else max(steps, default=-1)
        groups = record.groups(step=step)
    if not groups:
        known = f"it has steps {steps[0]} to {steps[-1]}" if steps else "it has no step yet"
        raise InputError(f"there is no step {step} in {folder}; {known}")
    group, index = _choose(groups, choice)
    trajectory, found = group.played.group[index], group.place(index)
    place = found or 0
    advantages = None if found is None or group.advantages is None else group.advantages.tokens[place]
    scores = None if found is None else group.scores
    decode = make_decoder(folder)
    note(terminal, "rollout", f"step {step}, group {escape(group_fate(group))}, {len(group.played.group)} siblings")
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


def _choose(groups: list[RecordedGroup], choice: RolloutChoice) -> tuple[RecordedGroup, int]:
    """The chosen group and sibling; by default the group with the largest spread of scores, and the best of it."""
    named = [one for one in groups if choice.task is None or one.group.task.id == choice.task]
    if not named:
        tasks = ", ".join(dict.fromkeys(escape(one.group.task.id) for one in groups))
        raise InputError(f"there is no task {choice.task!r} in this step; it has {tasks}")
    group = max(named, key=lambda one: 0.0 if one.scores is None else float(one.scores.outcome.std()))
    if choice.sample is None:
        return group, int(_outcomes(group, -np.inf).argmax())
    found = [(one, i) for one in named for i, t in enumerate(one.played.group) if t.sample == choice.sample]
    if not found:
        samples = ", ".join(map(str, sorted({t.sample for one in named for t in one.played.group})))
        scope = "in this step" if choice.task is None else "of this task"
        raise InputError(f"there is no sample {choice.sample} {scope}; there are {samples}")
    return found[0]


def make_decoder(folder: Path) -> Decode:
    """The function that decodes token ids of a run: of the saved chat format, or the closest match for an older run.

    Builds no model.
    """
    with suppress(HandaxeError):
        return load_format(folder).decode
    with RunRecord.open(folder) as record:
        roles = record.about().get("arguments", {})
    if roles.get("format") == f"{Compact.__module__}.{Compact.__qualname__}":
        return Compact().decode
    with suppress(HandaxeError):
        saved = find_saved_policy(folder, verify=False)
        if saved is not None:
            return SafeEncoder(load_tokenizer(saved.model)).decode
    with suppress(HandaxeError):
        if recorded_method(folder) is not None:
            return load_format(recorded_run(folder).spec.settings.model.replace(START, TINY)).decode
    return _ids


def _ids(ids: object) -> str:
    return "".join(f"<{int(token)}>" for token in np.asarray(ids).ravel())


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
    return f"{trajectory.sample}: {shown}"
