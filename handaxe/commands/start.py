"""`handaxe start WORLD [--tools NAME ...] --out FOLDER`: teach a policy a world's tools, before training."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from handaxe.commands.configure import options_of_factory, parse
from handaxe.commands.output import check_new_folder, check_writable, console, note, write_json
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.result import Evaluation
from handaxe.methods.build import made_world
from handaxe.methods.evaluator import HeldOut
from handaxe.methods.lookup import find, names_of, tools_named
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.load import Policy, load
from handaxe.training.sft.cold_start import start_policy
from handaxe.view.tables import evaluation_table
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import World

__all__ = ["StartOptions", "main"]

HELP = ("-h", "--help")


@dataclass(frozen=True)
class StartOptions:
    """Make the policy that training starts from in a world, out of conversations of the world's expert.

    Args:
        out: folder to write the policy to, for `handaxe train RECIPE --model FOLDER`; it is kept in the cache as well
            (HANDAXE_CACHE, or ~/.cache/handaxe).
        tools: names of tools, or MODULE:ATTRIBUTE of your own; those of the world unless told otherwise.
        model: what learns: tiny, smollm2, a folder, a file or a hub name.
        lora: rank of an adapter that learns in the place of the model's own weights, 0 for none.
        needed: share of the calls that the expert makes which the policy learns to make; 1 is all. The world's own
            share unless told otherwise, as for all that follows.
        needless: share of the questions that need no call in which it learns to call.
        clumsy: share of its calls that it learns to make badly.
        skill: supervised steps on the expert's own conversations.
        steps: supervised steps on those with the habit.
        batch_size: conversations a step.
        learning_rate: of the steps, falling to a tenth of it.
        held_out: questions that it is tried on before and after, 0 for none.
        max_turns: turns of an attempt at these.
        max_tokens: tokens of a turn.
        seed: of the conversations.
        json: write both evaluations to this file.
        quiet: show no progress.
    """

    out: Path
    tools: tuple[str, ...] | None = None
    model: str = "tiny"
    lora: int = 0
    needed: float | None = None
    needless: float | None = None
    clumsy: float | None = None
    skill: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    held_out: int = 100
    max_turns: int = 4
    max_tokens: int = 64
    seed: int = 0
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Make a start; returns the exit code."""
    if not arguments or arguments[0].startswith("-"):
        return _help(asked=bool(set(HELP) & set(arguments)))
    made = NamedFactory(arguments[0], find("worlds", arguments[0]))
    kinds: dict[str, tuple[Any, Any]] = {"start": (tyro.conf.OmitArgPrefixes[StartOptions], None)}
    if made.options():
        kinds["world"] = (options_of_factory(made), None)
    found = parse(kinds, arguments[1:], prog=f"handaxe start {made.name}", description=StartOptions.__doc__ or "")
    options: StartOptions = found["start"]
    check_new_folder(options.out)
    check_writable(options.json)
    world = made_world(made, vars(found["world"]) if "world" in found else {})
    return _make(_changed(world, options), options)


def _make(world: World, options: StartOptions) -> int:
    tools = world.tools if options.tools is None else tools_named(options.tools)
    terminal, begun = console(), time.monotonic()
    policy = load(options.model, lora=options.lora)
    before = _evaluation(world, tools, policy, options)
    progress = not options.quiet
    policy = start_policy(world, policy=policy, tools=tools, seed=options.seed, out=options.out, progress=progress)
    after = _evaluation(world, tools, policy, options)
    note(terminal, "start", f"{options.out}, made of {world.name}'s expert in {time.monotonic() - begun:.0f} s")
    for name, one in (("before", before), ("after", after)):
        if one is not None:
            title = f"{name}: {len(one.tasks)} held-out questions"
            terminal.print(evaluation_table(one.metrics, endings=one.endings, breakdown=one.breakdown, title=title))
    longest = _longest_turn(world, tools, policy.format)
    note(
        terminal,
        "use",
        f"handaxe train RECIPE --model {options.out} --max-tokens {longest}  # its longest turn, or more",
    )
    evaluations = {"before": before, "after": after}
    write_json(options.json, {name: one.flat() for name, one in evaluations.items() if one is not None})
    return 0


def _changed(world: World, options: StartOptions) -> World:
    """The world with what was said of its start."""
    if world.start is None:
        raise InputError(
            f"world {world.name} has no start: it needs an expert, such as --world.expert MODULE:ATTRIBUTE"
        )
    shares = {name: getattr(options, name) for name in ("needed", "needless", "clumsy")}
    given = {name: share for name, share in shares.items() if share is not None}
    if wrong := [name for name, share in given.items() if not 0 <= share <= 1]:
        raise InputError(f"--{' and --'.join(wrong)} must be shares from 0 to 1")
    names = ("skill", "steps", "batch_size", "learning_rate")
    counts = {name: count for name in names if (count := getattr(options, name)) is not None}
    if (
        any(count < 0 for count in counts.values())
        or not counts.get("batch_size", 1)
        or not counts.get("learning_rate", 1)
    ):
        raise InputError("give --skill and --steps from 0, --batch-size from 1 and --learning-rate above 0")
    start = world.start._replace(habit=world.start.habit._replace(**given), **counts)
    return replace(world, start=start)


def _evaluation(world: World, tools: Sequence[Any], policy: Policy, options: StartOptions) -> Evaluation | None:
    if not options.held_out:
        return None
    held_out = HeldOut(
        world=world,
        tasks=world.tasks("test", options.held_out, 0),
        env=world.env(tools),
        format=policy.format,
        rollout=world.plays(options.max_turns),
        sampling=Sampling(max_tokens=options.max_tokens),
    )
    return held_out.shown(LocalEngine(policy.model, max_rows=64), enabled=not options.quiet)


def _longest_turn(world: World, tools: Sequence[Any], format: ChatFormat) -> int:
    """Tokens of the longest turn of the expert in some questions: with fewer a call is cut off."""
    env = world.env(tools)
    shown = [demonstrate(env, task, world.need("expert"), format=format) for task in world.tasks("train", 64, 0)]
    return max(turn.stop - turn.start for one in shown for turn in one.turns)


def _help(*, asked: bool) -> int:
    text = (
        "usage: handaxe start WORLD [--world.OPTION ...] [--tools NAME ...] --out FOLDER\n"
        "       WORLD and NAME are names, or MODULE:ATTRIBUTE of your own"
    )
    names = ", ".join(names_of("worlds"))
    if not asked:
        raise InputError(f"which world? One of {names}.\n{text}")
    console().print(f"{text}\n\nworlds: {names}\n`handaxe start WORLD --help` lists the options of one.", markup=False)
    return 0
