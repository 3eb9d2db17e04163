"""Summary of a training run: tables for the terminal, and the JSON of `--json`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import handaxe
from handaxe.commands.output import command_line, note
from handaxe.evaluation.comparison import Comparison, compare
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.evaluation.figures import evaluations
from handaxe.methods.run_spec import RunSpec
from handaxe.ops.stats import mean_interval, ratio, ratio_interval
from handaxe.training.record.run_record import RunRecord
from handaxe.view.escape_markup import escaped_text
from handaxe.view.terminal_plot import terminal_plot
from handaxe.view.terminal_tables import comparison_table, evaluation_table
from handaxe.view.verdicts import claim_with_baseline

__all__ = ["Outcome", "SHOWN", "print_claims", "print_outcome", "read_outcome", "result_body"]

PHASES = ("sampling", "reward", "credit", "update")
RATES = {"tokens_per_second": "tokens/sampled", "trained_tokens_per_second": "tokens/trained"}
"""Rate -> metric that is summed over steps."""
WITHOUT_SIGNAL = {
    "loss/adjusted_fraction",
    "loss/approx_kl",
    "loss/clip_fraction",
    "loss/entropy",
    "loss/kl",
    "loss/loss",
    "loss/policy_loss",
    "loss/ratio_max",
    "loss/ratio_mean",
}
"""Metrics of losses that learn from advantages alone."""
NARROW = 80
"""Terminal width below which the table omits the intervals of both evaluations."""
SHOWN = ("pass@1", "calls", "tokens", "tool_productivity")
"""Metrics of the table after a run; --json has all metrics."""


class Outcome(NamedTuple):
    """Results of a run, from the record. `before` and `after` are None without evaluations."""

    folder: Path
    metrics: list[dict[str, float]]
    before: Evaluation | None
    after: Evaluation | None
    comparison: Comparison | None
    evaluated: dict[int, Evaluation]
    stopped: str


def read_outcome(folder: Path, *, stopped: str = "") -> Outcome:
    """Read the results of a run."""
    with RunRecord.open(folder) as record:
        metrics, evaluated = record.metrics(), evaluations(record)
    steps = sorted(evaluated)
    before = evaluated[steps[0]] if steps and steps[0] == 0 else None
    after = evaluated[steps[-1]] if len(steps) > 1 else None
    both = compare(before, after) if before is not None and after is not None else None
    return Outcome(folder, metrics, before, after, both, evaluated, stopped)


def print_outcome(found: Outcome, console: Console) -> None:
    """Print the evaluations before and after, the curve, the folder of the run, and further commands."""
    curves = {"reward (training)": [(row["step"] + 1, row["reward"]) for row in found.metrics if "reward" in row]}
    if earned := [(row["step"] + 1, row["reward/all"]) for row in found.metrics if "reward/all" in row]:
        curves["reward with turn rewards (training)"] = earned
    points = [(float(s), one.metrics["pass@1"].value) for s, one in found.evaluated.items() if "pass@1" in one.metrics]
    curves["pass@1 (held out)"] = points
    if max(map(len, curves.values())) > 1:
        console.print()
        console.print(terminal_plot(curves, width=min(console.width, 90)))
    if found.before is not None and found.after is not None and found.comparison is not None:
        tasks = len(found.after.tasks)
        title = (
            f"{tasks} held-out tasks, before training and after {max(found.evaluated)} steps, 95 % intervals over tasks"
        )
        changes = found.comparison.differences
        sides, narrow = (found.before.metrics, found.after.metrics), console.width < NARROW
        console.print(comparison_table(*sides, changes, shown=SHOWN, title=title, narrow=narrow))
        excluded = sum(found.before.excluded.values()) + sum(found.after.excluded.values())
        if excluded:
            console.print(
                escaped_text(
                    f"{excluded} rollouts failed through no fault of the policy and were not scored", style="red"
                )
            )
    elif found.before is not None:
        console.print(evaluation_table(found.before.metrics, shown=SHOWN, title="before training, 95 % intervals"))
    if idle := _nothing_learned(found.metrics):
        line = escaped_text("caution    ", style="bright_black")
        console.print(line.append(idle, style="not bright_black"))
    run = str(found.folder)
    note(console, "run", run)
    if found.stopped:
        done = len(found.metrics)
        note(console, "stopped", f"after {done} steps; continue with: {command_line(['resume', run])}")
    else:
        note(console, "show", command_line(["show", run]))
        note(console, "chat", command_line(["chat", run]))
        note(console, "evaluate", command_line(["eval", run, "--samples", "4"]))
        note(console, "extend", command_line(["resume", run, "--steps", str(2 * max(len(found.metrics), 1))]))


def _nothing_learned(metrics: Sequence[Mapping[str, float]]) -> str:
    """A sentence for a run without an advantage: in each group all were 0, or it was left out; else ""."""
    trained = [row for row in metrics if row.get("groups")]
    losses = {name for row in trained for name in row if name.startswith("loss/")}
    updates = losses or any(row.get("nothing_to_train") for row in trained)  # neither, if stages alone train
    if not updates or not losses <= WITHOUT_SIGNAL or not all(map(_is_idle, trained)):
        return ""
    mean = float(np.mean([row.get("reward", 0.0) for row in trained]))
    return (
        f"nothing was learned: in all {len(trained)} steps the rollouts of each task earned the same or were left out "
        f"(mean reward {mean:.3g}). `handaxe doctor` with the same options names the cause; `handaxe start` shows a "
        "policy demonstrations"
    )


def _is_idle(row: Mapping[str, float]) -> bool:
    return row.get("groups/zero_advantage", 0.0) >= row["groups"] or not row.get("groups/trained", row["groups"])


def print_claims(spec: RunSpec, console: Console) -> None:
    """Print the claims of a method with metric and baseline, and the command that decides them by paired runs."""
    claims, base = spec.template.page.claims, "" if spec.template.base is None else spec.template.base.name
    for claim in claims:
        line = escaped_text("claim      ", style="bright_black")
        console.print(line.append(f"{claim.text} ({claim_with_baseline(claim, base)})", style="not bright_black"))
    if claims:
        note(console, "decide", command_line(["replicate", spec.name]))


def result_body(
    found: Outcome, *, method: str, arguments: Mapping[str, Any], command: str, seconds: float
) -> dict[str, Any]:
    """Content of the `--json` file of a run."""
    before, after = (
        {} if one is None else {name: estimate._asdict() for name, estimate in one.metrics.items()}
        for one in (found.before, found.after)
    )
    changes = {} if found.comparison is None else found.comparison.differences
    return {
        "method": method,
        "command": command,
        "arguments": dict(arguments),
        "handaxe": handaxe.__version__,
        "steps": len(found.metrics),
        "stopped": found.stopped,
        "seconds": round(seconds, 1),
        "before": before,
        "after": after,
        "difference": {name: change._asdict() for name, change in changes.items()},
        "training": {} if len(found.metrics) < 2 else _over_steps(found.metrics),
        "reward": [row.get("reward") for row in found.metrics],
    }


def _over_steps(metrics: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean seconds of a step, and tokens of the run over seconds of the run, with intervals over steps.

    Rates divide totals: a step may train groups that earlier steps sampled, so rates of single steps mean nothing.
    """
    seconds = np.array([sum(row.get(f"seconds/{phase}", 0.0) for phase in PHASES) for row in metrics])
    found = {"step_seconds": {"value": float(seconds.mean()), **mean_interval(seconds)._asdict()}}
    for name, counted in RATES.items():
        if all(counted in row for row in metrics):
            tokens = np.array([row[counted] for row in metrics])
            found[name] = {"value": ratio(tokens, seconds), **ratio_interval(tokens, seconds)._asdict()}
    return found
