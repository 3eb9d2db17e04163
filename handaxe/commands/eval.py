"""`handaxe eval RUN [--tasks N --samples K]`: evaluate the last checkpoint of a run on held-out tasks."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.started import started
from handaxe.errors import InputError
from handaxe.evaluation.result import Evaluation
from handaxe.recipes.parts import HeldOut
from handaxe.training.checkpoint import Checkpoints
from handaxe.view.tables import evaluation_table

__all__ = ["EvalOptions", "main"]

SAVED = ("tasks", "env", "rollout", "reward", "credit", "select", "loss", "learning_rate")
"""The roles whose state a checkpoint of `train` holds."""


@dataclass(frozen=True)
class EvalOptions:
    """Evaluate the last checkpoint of a run on held-out tasks.

    Args:
        run: folder of the run.
        tasks: how many held-out tasks; as many as in training unless told otherwise.
        samples: attempts at each task; with more than one, pass@k and pass^k are estimated for that k too.
        seed: of the attempts. The run's own evaluations use 0.
        json: write the evaluation to this file.
    """

    run: tyro.conf.Positional[Path]
    tasks: int | None = None
    samples: int = 1
    seed: int = 0
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Evaluate; returns the exit code."""
    options = tyro.cli(EvalOptions, args=arguments, prog="handaxe eval")
    check_writable(options.json)
    run = started(options.run)
    chosen = dict(run.arguments)
    if options.tasks is not None:
        if "held_out" not in chosen:
            raise InputError(f"recipe {run.recipe.name} has a fixed set of held-out tasks; leave --tasks out")
        chosen["held_out"] = options.tasks
    kwargs = run.recipe.build(**chosen)
    steps = _load(options.run, kwargs)
    found = _evaluate(kwargs, options)
    terminal = console()
    note(terminal, "evaluated", f"{run.recipe.name} in {options.run} after {steps} steps")
    title = f"{len(found.tasks)} held-out tasks, {options.samples} attempts each"
    table = evaluation_table(found.metrics, endings=found.endings, breakdown=found.breakdown, title=title)
    terminal.print(table)
    if excluded := sum(found.excluded.values()):
        terminal.print(f"{excluded} attempts failed for no fault of the policy and were not scored", style="red")
    write_json(options.json, {"recipe": run.recipe.name, "steps": steps, **json.loads(found.to_json())})
    return 0


def _load(folder: Path, kwargs: dict[str, Any]) -> int:
    """Put the weights of the last checkpoint into the engine; the number of steps they were trained for."""
    checkpoints = Checkpoints(folder / "checkpoints")
    if not checkpoints.found():
        raise InputError(f"there is no checkpoint in {folder} yet; `handaxe resume {folder}` goes on with the run")
    return checkpoints.load(kwargs["engine"], {name: kwargs[name] for name in SAVED if name in kwargs})


def _evaluate(kwargs: dict[str, Any], options: EvalOptions) -> Evaluation:
    held_out = kwargs.get("evaluate")
    if not isinstance(held_out, HeldOut):
        raise InputError("this recipe's `evaluate` is not a HeldOut, so there are no tasks and samples to choose")
    return held_out._replace(samples=options.samples, seed=options.seed).evaluation(kwargs["engine"])
