"""`handaxe eval RUN [--tasks N --samples K]`: evaluate the last checkpoint of a run, or a server, on held-out tasks."""

import json
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.engines.openai_compatible import OpenAICompatible
from handaxe.errors import InputError
from handaxe.evaluation.result import Evaluation
from handaxe.methods.build import build
from handaxe.methods.held_out import HeldOut
from handaxe.methods.started import started
from handaxe.models.transcript import Transcript
from handaxe.slots import Engine
from handaxe.training.checkpoint import Checkpoints
from handaxe.view.tables import evaluation_table

__all__ = ["EvalOptions", "main"]


@dataclass(frozen=True)
class EvalOptions:
    """Evaluate the last checkpoint of a run on held-out tasks, or a model behind a chat server on the same ones.

    Args:
        run: folder of the run.
        tasks: how many held-out tasks; as many as in training unless told otherwise.
        samples: attempts at each task; with more than one, pass@k and pass^k are estimated for that k too.
        seed: of the attempts. The run's own evaluations use 0.
        json: write the evaluation to this file.
        server: base address of a chat server, such as http://127.0.0.1:8000/v1, to evaluate in the run's place.
        server_model: the server's name of the model.
        server_key_env: name of the environment variable that holds the server's API key.
    """

    run: tyro.conf.Positional[Path]
    tasks: int | None = None
    samples: int = 1
    seed: int = 0
    json: Path | None = None
    server: str | None = None
    server_model: str | None = None
    server_key_env: str = ""


def main(arguments: list[str]) -> int:
    """Evaluate; returns the exit code."""
    options = tyro.cli(EvalOptions, args=arguments, prog="handaxe eval")
    check_writable(options.json)
    chosen = started(options.run, changes={} if options.tasks is None else {"held_out": options.tasks}).chosen
    kwargs = build(chosen)
    terminal = console()
    if options.server is not None:
        steps, engine = 0, _server(options)
        note(terminal, "evaluated", f"{engine!r} on the tasks of {options.run}")
        with closing(engine):
            found = _evaluate(replace(kwargs["evaluate"], format=engine.format), engine, options)
    else:
        steps = _load(options.run, kwargs["engine"])
        note(terminal, "evaluated", f"{chosen.name} in {options.run} after {steps} steps")
        found = _evaluate(kwargs["evaluate"], kwargs["engine"], options)
    title = f"{len(found.tasks)} held-out tasks, {options.samples} attempts each"
    table = evaluation_table(found.metrics, endings=found.endings, breakdown=found.breakdown, title=title)
    terminal.print(table)
    if excluded := sum(found.excluded.values()):
        terminal.print(f"{excluded} attempts failed for no fault of the policy and were not scored", style="red")
    write_json(options.json, {"recipe": chosen.name, "steps": steps, **json.loads(found.to_json())})
    return 0


def _load(folder: Path, engine: Engine) -> int:
    """Put the weights of the last checkpoint into the engine; the number of steps they were trained for."""
    checkpoints = Checkpoints(folder / "checkpoints")
    if not checkpoints.found():
        raise InputError(f"there is no checkpoint in {folder} yet; `handaxe resume {folder}` goes on with the run")
    return checkpoints.load(engine)


def _server(options: EvalOptions) -> OpenAICompatible:
    """The engine that asks a chat server."""
    if not options.server or not options.server_model:
        raise InputError("--server needs --server-model, the server's name of the model")
    key = options.server_key_env
    return OpenAICompatible(options.server, model=options.server_model, format=Transcript(), key_env=key)


def _evaluate(held_out: HeldOut, engine: Engine, options: EvalOptions) -> Evaluation:
    return replace(held_out, samples=options.samples, seed=options.seed).evaluation(engine)
