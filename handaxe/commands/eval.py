"""`handaxe eval RUN [--tasks N --samples K]`: evaluate a trained policy, or a chat server, on held-out tasks.

`--benchmark NAME` prints the table of a benchmark instead.
"""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from handaxe import engines
from handaxe.chat.run_facts import RunFacts, run_facts
from handaxe.chat.use import MAX_TOKENS
from handaxe.commands.benchmark_runs import run_benchmark
from handaxe.commands.configure import FLAT, options_dataclass, parse
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Engine
from handaxe.core.records import Sampling, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.benchmarks.lookup import find_benchmark
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.methods.build import build, create_world
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.methods.flags import flag
from handaxe.methods.hardware import THIS_PROCESS, Machines, closing_engine, make_engine
from handaxe.methods.lookup import find, find_tools
from handaxe.methods.run_folder import recorded_run
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import NAMED, Policy, dummy_policy, load
from handaxe.rewards.parts.by_name import reward_by_name
from handaxe.training.record.run_record import RunRecord
from handaxe.view.terminal_tables import evaluation_table
from handaxe.worlds.world import World

__all__ = ["EvalOptions", "main"]

TASKS = 200
RECORD = "the record"
MAX_TURNS = 4
"""Turn limit of a rollout if no method sets it."""


@dataclass(frozen=True)
class EvalOptions:
    """Evaluate the last checkpoint of a run, or a model of a chat server, on held-out tasks.

    The run of a method has a world and tools. Any other policy needs --world for the correctness rule, or --reward to
    score rollouts on the tasks of the run's own record, which are training tasks.

    Args:
        run: folder of the run, or another argument of `handaxe.load`; with --benchmark also a model of a chat server.
        tasks: number of tasks; by default as in training.
        samples: rollouts per task, by default 1 or those of the benchmark; more than one also estimates pass@k and
            pass^k for k samples.
        seed: of the rollouts; by default as in the evaluations of the run, 0 for a run without a method.
        world: name of a world, or MODULE:ATTRIBUTE of your own, instead of the run's world; options are --world.NAME.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; by default the tools of the method or the world.
        reward: name of a reward, or MODULE:ATTRIBUTE of your own, that scores rollouts on the tasks of the record.
        max_turns: turns per rollout; by default as in training, 4 if unknown.
        max_tokens: tokens per turn; by default as in training, 256 if unknown.
        max_pixels: as of training, for a vision-language model that is no run; 0 for the limits of its processor.
        device: cpu, cuda, cuda:1, ...; by default that of the run's method, cpu without one.
        json: write the evaluation to this file.
        server: base address of a chat server, such as http://127.0.0.1:8000/v1, to evaluate instead of the run.
        server_model: name of the model on the server.
        server_key_env: environment variable with the API key of the server.
        machines: processes that compute.
        benchmark: name of a benchmark, such as bfcl or tau2, or MODULE:ATTRIBUTE of your own: print its table. Tasks,
            limits and temperature are fixed, except --tasks (most tasks of a part) and --samples. The policy may also
            be http://HOST/v1#NAME, a model of a chat server.
    """

    run: tyro.conf.Positional[str]
    tasks: int | None = None
    samples: int | None = None
    seed: int | None = None
    world: str = ""
    tools: tuple[str, ...] | None = None
    reward: str = ""
    max_turns: int | None = None
    max_tokens: int | None = None
    max_pixels: int = 0
    device: str | None = None
    json: Path | None = None
    server: str | None = None
    server_model: str | None = None
    server_key_env: str = ""
    machines: Annotated[Machines, FLAT] = THIS_PROCESS
    benchmark: str = ""


@dataclass(frozen=True)
class _WorldName:
    world: str = ""


def main(arguments: list[str]) -> int:
    """Evaluate; returns the exit code."""
    options, world = _parse(arguments)
    check_writable(options.json)
    options.machines.check()
    _check(options)
    if options.benchmark:
        return _benchmark(options)
    facts = run_facts(options.run)
    if world is None and not (facts.method and not options.reward):
        world = _recorded_tasks(facts, options)
    policy = (
        load(str(options.run), max_pixels=options.max_pixels) if options.server is None else dummy_policy(options.run)
    )
    if world is None:
        engine, held_out = _of_method(facts, policy, options)
    else:
        held_out = _of_world(world, facts, policy, options)
        engine = make_engine(
            engines.LocalEngine, policy.model, options.machines, {"max_rows": 64, "device": options.device or "cpu"}
        )
    terminal = console()
    steps = facts.steps
    if options.server is not None:
        steps, engine = 0, _server(options)
        note(terminal, "evaluated", f"{engine!r} on the tasks of {options.run}")
        with closing(engine):
            found = _evaluate(replace(held_out, format=engine.format), engine, options)
    else:
        after = f" after {steps} steps" if steps else ""
        note(terminal, "evaluated", f"{f'{facts.method} in ' if facts.method else ''}{options.run}{after}")
        with closing_engine(engine):
            found = _evaluate(held_out, engine, options)
    what = "tasks of the record" if held_out.world.name == RECORD else "held-out tasks"
    title = f"{len(found.tasks)} {what}, {options.samples or 1} rollouts each"
    table = evaluation_table(found.metrics, endings=found.endings, breakdown=found.breakdown, title=title)
    terminal.print(table)
    if excluded := sum(found.excluded.values()):
        terminal.print(f"{excluded} rollouts failed through no fault of the policy and were not scored", style="red")
    write_json(options.json, {"method": facts.method, "steps": steps, **json.loads(found.to_json())})
    return 0


def _parse(arguments: list[str]) -> tuple[EvalOptions, World | None]:
    """The options, and the named world with its options, None for no --world."""
    words = [word for word in arguments if word not in ("-h", "--help")]
    name = tyro.cli(_WorldName, args=words, prog="handaxe eval", return_unknown_args=True, add_help=False)[0].world
    kinds: dict[str, tuple[Any, Any]] = {"eval": (Annotated[EvalOptions, FLAT], None)}
    made = NamedFactory(name, find("worlds", name)) if name else None
    if made is not None and made.options():
        kinds["world"] = (options_dataclass(made), None)
    about = (EvalOptions.__doc__ or "").partition("\n\n")[0]
    found = parse(kinds, arguments, prog="handaxe eval", description=about)
    if made is None:
        return found["eval"], None
    return found["eval"], create_world(made, vars(found["world"]) if "world" in found else {})


def _check(options: EvalOptions) -> None:
    """Raise InputError for the faults that need no model and no torch."""
    if options.server is not None and options.machines:
        raise InputError("--server evaluates a remote model: leave --trainers and --servers out")
    if options.server is not None and not (options.server and options.server_model):
        raise InputError("--server needs --server-model, the name of the model on the server")
    if options.server is not None and options.max_pixels:
        raise InputError("--server evaluates a remote model, which has its own image processor: leave --max-pixels out")
    if options.max_pixels < 0:
        raise InputError(f"--max-pixels is {options.max_pixels}; give 1 or more, or 0 for the limits of the processor")
    for name in ("tasks", "samples", "max_turns", "max_tokens"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise InputError(f"{flag(name)} is {value}; give 1 or more")
    find_tools(options.tools or ())


FIXED = ("world", "tools", "reward", "max_turns", "max_tokens", "max_pixels")
"""Options that are part of the definition of a benchmark."""


def _benchmark(options: EvalOptions) -> int:
    """Play a benchmark and print its table."""
    benchmark = find_benchmark(options.benchmark)
    if given := [flag(name) for name in FIXED if getattr(options, name) not in (None, "", 0)]:
        raise InputError(f"--benchmark {options.benchmark} fixes its tasks and limits: leave {', '.join(given)} out")
    return run_benchmark(
        benchmark,
        options.run,
        server=options.server or "",
        server_model=options.server_model or "",
        server_key_env=options.server_key_env,
        tasks=options.tasks,
        trials=options.samples,
        seed=options.seed or 0,
        device=options.device or "cpu",
        machines=options.machines,
        json=options.json,
    )


def _of_method(facts: RunFacts, policy: Policy, options: EvalOptions) -> tuple[Engine, HeldOutEvaluator]:
    """Engine and held-out tasks of the run's method."""
    changes: dict[str, Any] = {"held_out": options.tasks, "tools": options.tools}
    changes |= {"max_turns": options.max_turns, "max_tokens": options.max_tokens, "engine.device": options.device}
    given = {name: value for name, value in changes.items() if value is not None}
    spec = recorded_run(facts.need_folder(), changes=given).spec
    kwargs = build(spec, policy=policy, machines=options.machines)
    return kwargs["engine"], kwargs["run"].evaluation.evaluate


def _of_world(world: World, facts: RunFacts, policy: Policy, options: EvalOptions) -> HeldOutEvaluator:
    """Held-out tasks of a world, with the token limit of the run."""
    tools: Sequence[Any] = world.tools if options.tools is None else find_tools(options.tools)
    if options.tools is None and not tools and not _offers(world):
        missing = f"{world.name} has no tools{facts.trained_with}"
        raise InputError(f"{missing}: name them, --tools MODULE:ATTRIBUTE, or --tools none")
    length = options.max_tokens if options.max_tokens is not None else facts.max_tokens or MAX_TOKENS
    return HeldOutEvaluator(
        world=world,
        tasks=world.tasks("test", TASKS if options.tasks is None else options.tasks, 0),
        env=world.env(tools),
        format=policy.format,
        rollout=world.make_rollout(MAX_TURNS if options.max_turns is None else options.max_turns),
        sampling=Sampling(max_tokens=length),
    )


def _offers(world: World) -> bool:
    """Return True if environments of the world have built-in tools."""
    env = world.env(())(world.tasks("test", 1, 0)[0])
    try:
        return bool(env.start()[1])
    finally:
        env.close()


def _recorded_tasks(facts: RunFacts, options: EvalOptions) -> World:
    """World of the tasks in the record of a run."""
    if facts.folder is None and str(options.run) not in NAMED:
        RunRecord.open(Path(options.run)).close()  # raises InputError with the missing file
    if not options.reward:
        raise InputError(
            f"no method made {options.run}, so its correctness rule is unknown: name a world, --world NAME, or "
            "--reward NAME to score it on the tasks of its own record"
        )
    with RunRecord.open(facts.need_folder()) as record:
        tasks = record.tasks()
    if not tasks:
        raise TaskError(f"the record of {options.run} has no task yet: name a world, --world NAME")

    def first(split: str, count: int, seed: int) -> list[Task]:
        del split, seed
        return tasks[:count]

    return World(name=RECORD, tasks=first, env=tool_chat, correct=reward_by_name(options.reward))


def _server(options: EvalOptions) -> "engines.OpenAICompatible":
    """The engine of a chat server."""
    assert options.server and options.server_model
    key = options.server_key_env
    return engines.OpenAICompatible(options.server, model=options.server_model, format=Transcript(), key_env=key)


def _evaluate(held_out: HeldOutEvaluator, engine: Engine, options: EvalOptions) -> Evaluation:
    seed = held_out.seed if options.seed is None else options.seed
    return replace(held_out, samples=options.samples or 1, seed=seed).evaluation_with_bar(engine)
