"""`handaxe eval RUN [--tasks N --samples K]`: evaluate what was trained, or a server, on held-out tasks."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from handaxe.chat.runs import RunFacts, run_facts
from handaxe.chat.use import MAX_TOKENS
from handaxe.commands.configure import FLAT, options_of_factory, parse
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Engine
from handaxe.core.records import Sampling, Task
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.result import Evaluation
from handaxe.methods.build import build, made_world
from handaxe.methods.evaluator import HeldOut
from handaxe.methods.hardware import HERE, Machines, closing_engine, make_engine
from handaxe.methods.lookup import find, tools_named
from handaxe.methods.run_folder import recorded_run
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.load import NAMED, Policy, load, stand_in
from handaxe.models.transcript import Transcript
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.training.record.run_record import RunRecord
from handaxe.view.tables import evaluation_table
from handaxe.worlds.world import World

__all__ = ["EvalOptions", "main"]

TASKS = 200
RECORD = "the record"
MAX_TURNS = 4
"""Of an attempt, where no recipe says it."""


@dataclass(frozen=True)
class EvalOptions:
    """Evaluate the last checkpoint of a run on held-out tasks, or a model behind a chat server on the same ones. A run
    that a recipe made knows its world and its tools; for any other policy --world says what is right, or --reward on
    the tasks of its own record, which it was trained on.

    Args:
        run: folder of the run, or what else `handaxe.load` takes.
        tasks: how many tasks; as many as in training unless told otherwise.
        samples: attempts at each task; with more than one, pass@k and pass^k are estimated for that k too.
        seed: of the attempts; as in the run's own evaluations unless told otherwise, 0 for what no recipe made.
        world: a world's name, or MODULE:ATTRIBUTE of your own, in the place of the run's; its options are --world.NAME.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; those of the recipe or world unless told otherwise.
        reward: name of a reward, or MODULE:ATTRIBUTE of your own, that judges attempts at the tasks of the record.
        max_turns: turns of an attempt; as in training where that is known, else 4.
        max_tokens: tokens of a turn; as in training where that is known, else 256.
        json: write the evaluation to this file.
        server: base address of a chat server, such as http://127.0.0.1:8000/v1, to evaluate in the run's place.
        server_model: the server's name of the model.
        server_key_env: name of the environment variable that holds the server's API key.
        machines: where it computes.
    """

    run: tyro.conf.Positional[Path]
    tasks: int | None = None
    samples: int = 1
    seed: int | None = None
    world: str = ""
    tools: tuple[str, ...] | None = None
    reward: str = ""
    max_turns: int | None = None
    max_tokens: int | None = None
    json: Path | None = None
    server: str | None = None
    server_model: str | None = None
    server_key_env: str = ""
    machines: Annotated[Machines, FLAT] = HERE


@dataclass(frozen=True)
class _WorldName:
    world: str = ""


def main(arguments: list[str]) -> int:
    """Evaluate; returns the exit code."""
    options, world = _parsed(arguments)
    check_writable(options.json)
    options.machines.check()
    if options.server is not None and options.machines:
        raise InputError("--server evaluates what stands behind it: leave out --trainers, --servers")
    known = run_facts(options.run)
    if world is None and not (known.made and not options.reward):
        world = _recorded(known, options)
    policy = stand_in(options.run) if options.server is not None else load(str(options.run))
    if world is None:
        engine, held_out = _of_recipe(known, policy, options)
    else:
        held_out = _of_world(world, known, policy, options)
        engine = make_engine(LocalEngine, policy.model, options.machines, {"max_rows": 64})
    terminal = console()
    steps = known.steps
    if options.server is not None:
        steps, engine = 0, _server(options)
        note(terminal, "evaluated", f"{engine!r} on the tasks of {options.run}")
        with closing(engine):
            found = _evaluate(replace(held_out, format=engine.format), engine, options)
    else:
        after = f" after {steps} steps" if steps else ""
        note(terminal, "evaluated", f"{f'{known.made} in ' if known.made else ''}{options.run}{after}")
        with closing_engine(engine):
            found = _evaluate(held_out, engine, options)
    what = "tasks of the record" if held_out.world.name == RECORD else "held-out tasks"
    title = f"{len(found.tasks)} {what}, {options.samples} attempts each"
    table = evaluation_table(found.metrics, endings=found.endings, breakdown=found.breakdown, title=title)
    terminal.print(table)
    if excluded := sum(found.excluded.values()):
        terminal.print(f"{excluded} attempts failed for no fault of the policy and were not scored", style="red")
    write_json(options.json, {"recipe": known.made, "steps": steps, **json.loads(found.to_json())})
    return 0


def _parsed(arguments: list[str]) -> tuple[EvalOptions, World | None]:
    """The options, and the world where one was named, with its own."""
    words = [word for word in arguments if word not in ("-h", "--help")]
    name = tyro.cli(_WorldName, args=words, prog="handaxe eval", return_unknown_args=True, add_help=False)[0].world
    kinds: dict[str, tuple[Any, Any]] = {"eval": (Annotated[EvalOptions, FLAT], None)}
    made = NamedFactory(name, find("worlds", name)) if name else None
    if made is not None and made.options():
        kinds["world"] = (options_of_factory(made), None)
    about = (EvalOptions.__doc__ or "").partition("\n\n")[0]
    found = parse(kinds, arguments, prog="handaxe eval", description=about)
    if made is None:
        return found["eval"], None
    return found["eval"], made_world(made, vars(found["world"]) if "world" in found else {})


def _of_recipe(known: RunFacts, policy: Policy, options: EvalOptions) -> tuple[Engine, HeldOut]:
    """Engine and held-out tasks as the recipe has them."""
    changes = {"held_out": options.tasks, "tools": options.tools}
    changes |= {"max_turns": options.max_turns, "max_tokens": options.max_tokens}
    given = {name: value for name, value in changes.items() if value is not None}
    chosen = recorded_run(known.need_folder(), changes=given).spec
    kwargs = build(chosen, policy=policy, machines=options.machines)
    return kwargs["engine"], kwargs["evaluate"]


def _of_world(world: World, known: RunFacts, policy: Policy, options: EvalOptions) -> HeldOut:
    """Held-out tasks of a world, played with what is known of the run."""
    tools: Sequence[Any] = world.tools if options.tools is None else tools_named(options.tools)
    if options.tools is None and not tools and not _offers(world):
        own = f"{world.name} has no tools of its own{known.trained_with}"
        raise InputError(f"{own}: name them, --tools MODULE:ATTRIBUTE, or --tools none")
    length = options.max_tokens if options.max_tokens is not None else known.max_tokens or MAX_TOKENS
    return HeldOut(
        world=world,
        tasks=world.tasks("test", TASKS if options.tasks is None else options.tasks, 0),
        env=world.env(tools),
        format=policy.format,
        rollout=world.plays(MAX_TURNS if options.max_turns is None else options.max_turns),
        sampling=Sampling(max_tokens=length),
    )


def _offers(world: World) -> bool:
    """Whether its environments have tools of their own."""
    env = world.env(())(world.tasks("test", 1, 0)[0])
    try:
        return bool(env.start()[1])
    finally:
        env.close()


def _recorded(known: RunFacts, options: EvalOptions) -> World:
    """The tasks of a run's own record as a world."""
    if known.folder is None and str(options.run) not in NAMED:
        RunRecord.open(options.run).close()  # which says what is missing
    if not options.reward:
        raise InputError(
            f"it is not known what is right for {options.run}, which no recipe made: name a world, --world NAME, or "
            "--reward NAME to judge it on the tasks of its own record"
        )
    with RunRecord.open(known.need_folder()) as record:
        tasks = record.tasks()
    if not tasks:
        raise TaskError(f"there is no task in the record of {options.run} yet: name a world, --world NAME")

    def first(split: str, count: int, seed: int) -> list[Task]:
        del split, seed
        return tasks[:count]

    return World(name=RECORD, tasks=first, env=tool_chat, correct=reward_by_name(options.reward))


def _server(options: EvalOptions) -> OpenAICompatible:
    """The engine that asks a chat server."""
    if not options.server or not options.server_model:
        raise InputError("--server needs --server-model, the server's name of the model")
    key = options.server_key_env
    return OpenAICompatible(options.server, model=options.server_model, format=Transcript(), key_env=key)


def _evaluate(held_out: HeldOut, engine: Engine, options: EvalOptions) -> Evaluation:
    seed = held_out.seed if options.seed is None else options.seed
    return replace(held_out, samples=options.samples, seed=seed).shown(engine)
