"""`handaxe start WORLD [--tools NAME ...] --out FOLDER`: train a cold-start checkpoint on demonstrations."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import tyro

from handaxe import engines
from handaxe.commands.configure import options_dataclass, parse
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.commands.part_words import part_words
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Sampling, Trajectory
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.methods.build import create_world, missing_tools
from handaxe.methods.evaluator import HeldOutEvaluator
from handaxe.methods.flags import flag
from handaxe.methods.lookup import find, find_tools, list_names
from handaxe.methods.method import RunSettings
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.load import Policy, check_options, load
from handaxe.training.sft.cold_start import extend_to_start_context, start_policy
from handaxe.view.terminal_tables import evaluation_table
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_faults import demonstration_faults
from handaxe.worlds.world import DemonstrationNoise, Start, World

__all__ = ["StartOptions", "main"]

HELP = ("-h", "--help")
METHOD = "grpo"
"""Method of the printed command."""
FULL = 0.98
"""Held-out pass@1 from which nothing is left to learn."""
STEPS = "100"
"""Noisy steps of printed commands."""
EXACT = DemonstrationNoise()
LEAST = {"held_out": 0, "max_turns": 1, "max_tokens": 1, "lora": 0}
"""Minimum of options."""
TURNS, TOKENS = 4, 64
"""Minimum of the limits that demonstrations set."""


@dataclass(frozen=True)
class StartOptions:
    """Train the cold-start checkpoint of a world on demonstrations of the world's expert.

    Args:
        out: folder of the policy, for `handaxe train METHOD --model FOLDER`. A copy goes to the cache (HANDAXE_CACHE,
            or ~/.cache/handaxe).
        tools: names of tools, or MODULE:ATTRIBUTE of your own; by default the tools of the world.
        model: model to train: tiny, tiny_vision, small, smollm2, a folder, a file or a hub name; by default that of the
            world, tiny_vision for worlds with images and tiny for others.
        lora: rank of a LoRA adapter that trains instead of the model's weights, 0 for none.
        call_rate: share of the expert's calls in the demonstrations; 1 for all calls. The default of this and the next
            six options is that of the world.
        spurious_rate: share of tasks without a needed call that start with a call.
        corrupt_rate: share of corrupted calls.
        skill: supervised steps on exact demonstrations.
        steps: supervised steps on noisy demonstrations.
        batch_size: conversations per step.
        learning_rate: initial learning rate; decays to a tenth.
        context: context length of a tiny policy, in tokens; by default that of the world, mostly 512.
        held_out: held-out tasks of the evaluations before and after, 0 for none.
        max_turns: turns per rollout of the evaluations; by default those of the longest of 64 demonstrations, and 4 or
            more.
        max_tokens: tokens per turn of the evaluations; by default those of the expert's longest turn, and 64 or more.
        seed: of the demonstrations.
        device: cpu, cuda, cuda:1, ...
        json: write both evaluations to this file.
        quiet: show no progress.
    """

    out: Path
    tools: tuple[str, ...] | None = None
    model: str | None = None
    lora: int = 0
    call_rate: float | None = None
    spurious_rate: float | None = None
    corrupt_rate: float | None = None
    skill: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    context: int | None = None
    held_out: int = 100
    max_turns: int | None = None
    max_tokens: int | None = None
    seed: int = 0
    device: str = "cpu"
    json: Path | None = None
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Train the checkpoint; returns the exit code."""
    if not arguments or arguments[0].startswith("-"):
        return _help(requested=bool(set(HELP) & set(arguments)))
    made = NamedFactory(arguments[0], find("worlds", arguments[0]))
    kinds: dict[str, tuple[Any, Any]] = {"start": (tyro.conf.OmitArgPrefixes[StartOptions], None)}
    if made.options():
        kinds["world"] = (options_dataclass(made), None)
    found = parse(kinds, arguments[1:], prog=f"handaxe start {made.name}", description=StartOptions.__doc__ or "")
    options: StartOptions = found["start"]
    check_new_folder(options.out)
    check_writable(options.json)
    for name, least in LEAST.items():
        if (value := getattr(options, name)) is not None and value < least:
            raise InputError(f"{flag(name)} is {value}; give {least} or more")
    given = vars(found["world"]) if "world" in found else {}
    world = create_world(made, given)
    if world.start is None:
        own = any(one.name == "expert" for one in made.options())
        needs = "it needs an expert, such as --world.expert MODULE:ATTRIBUTE" if own else "it has no expert to imitate"
        raise InputError(f"world {world.name} has no cold start: {needs}")
    world = _with_start(world, world.start, options, arguments)
    options = replace(options, model=options.model or world.start_model)
    check_options(str(options.model), lora=options.lora)
    hints = _Hints(tuple(arguments), ("--world", made.name, *part_words(made, given, prefix="world")))
    return _make(world, options, hints)


class _Longest(NamedTuple):
    """Tokens of the longest turn of the expert, and turns of the longest demonstration. Less would truncate both."""

    tokens: int
    turns: int

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory]) -> "_Longest":
        """Of demonstrations."""
        tokens = max(turn.stop - turn.start for one in demonstrations for turn in one.turns)
        return cls(tokens, max(len(one.turns) for one in demonstrations))

    def within(self, options: StartOptions) -> "_Longest":
        """Limits of the evaluations: those of the options, else of the demonstrations."""
        return _Longest(options.max_tokens or max(self.tokens, TOKENS), options.max_turns or max(self.turns, TURNS))


@dataclass(frozen=True)
class _Hints:
    """Commands to print. `arguments`: the words of this command; `world`: words of the world for `handaxe train`."""

    arguments: tuple[str, ...]
    world: tuple[str, ...]

    def train(self, options: StartOptions, longest: _Longest) -> str:
        """The command that trains the checkpoint in the same world with the same tools."""
        tools = () if options.tools is None else ("--tools", *options.tools)
        turns = ("--max-turns", str(longest.turns)) if longest.turns > RunSettings().max_turns else ()
        tokens = ("--max-tokens", str(longest.tokens))
        return command_line(["train", METHOD, *self.world, *tools, "--model", str(options.out), *tokens, *turns])

    def again(self, changes: Mapping[str, str]) -> str:
        """The same command with other options."""
        words, gone = list[str](), {f"--{name.replace('_', '-')}" for name in (*changes, "json")}
        skip = False
        for word in self.arguments:
            name, equals, _ = word.partition("=")
            if not skip and name.replace("_", "-") not in gone:
                words.append(word)
            skip = not skip and name.replace("_", "-") in gone and not equals
        return command_line(["start", *words, *(part for name, text in changes.items() for part in (flag(name), text))])


def _make(world: World, options: StartOptions, hints: _Hints) -> int:
    tools = world.tools if options.tools is None else find_tools(options.tools)
    if missing := missing_tools(options.tools, world):
        print(f"warning: {missing}", file=sys.stderr)
    terminal, begun = console(), time.monotonic()
    policy = extend_to_start_context(load(str(options.model), lora=options.lora), world)
    shown = _demonstrate(world, tools, policy.format)
    for fault in demonstration_faults(world, shown):
        print(f"warning: {fault}", file=sys.stderr)
    longest = _Longest.of(shown)
    limits = longest.within(options)
    before = _evaluation(world, tools, policy, options, limits)
    progress = not options.quiet
    policy = start_policy(
        world, policy=policy, tools=tools, seed=options.seed, out=options.out, device=options.device, progress=progress
    )
    after = _evaluation(world, tools, policy, options, limits)
    seconds = time.monotonic() - begun
    note(terminal, "start", f"{options.out}, trained on demonstrations of world {world.name} in {seconds:.0f} s")
    for name, one in (("before", before), ("after", after)):
        if one is not None:
            title = f"{name}: {len(one.tasks)} held-out tasks"
            terminal.print(evaluation_table(one.metrics, endings=one.endings, breakdown=one.breakdown, title=title))
    right = after.metrics["pass@1"].value if after is not None and "pass@1" in after.metrics else 0.0
    if right >= FULL and world.start is not None:
        note(terminal, "caution", f"pass@1 is {right:.2f}: nothing is left to learn; this start leaves something:")
        noisy = world.start.steps and world.start.noise != EXACT
        changes = {"skill": str(world.start.skill // 2)} if noisy else {"call_rate": "0.5", "steps": STEPS}
        note(terminal, "instead", hints.again({**changes, "out": f"{options.out}-noisy"}))
    note(terminal, "tokens", f"the longest turn of the expert has {longest.tokens}")
    note(terminal, "train", hints.train(options, longest))
    evaluations = {"before": before, "after": after}
    write_json(options.json, {name: one.flat() for name, one in evaluations.items() if one is not None})
    return 0


def _with_start(world: World, start: Start, options: StartOptions, arguments: Sequence[str]) -> World:
    """The world with the options of the cold start."""
    shares = {name: getattr(options, name) for name in ("call_rate", "spurious_rate", "corrupt_rate")}
    given = {name: share for name, share in shares.items() if share is not None}
    if wrong := [name for name, share in given.items() if not 0 <= share <= 1]:
        raise InputError(f"--{' and --'.join(name.replace('_', '-') for name in wrong)} must be shares from 0 to 1")
    if given and not (start.steps if options.steps is None else options.steps):
        more = _Hints(tuple(arguments), ()).again({"steps": STEPS})
        raise InputError(
            f"{' and '.join(map(flag, given))}: no noisy demonstrations with --steps 0; `{more}` trains with them"
        )
    names = ("skill", "steps", "batch_size", "learning_rate")
    counts = {name: count for name in names if (count := getattr(options, name)) is not None}
    if (
        any(count < 0 for count in counts.values())
        or not counts.get("batch_size", 1)
        or not counts.get("learning_rate", 1)
    ):
        raise InputError("give --skill and --steps from 0, --batch-size from 1 and --learning-rate above 0")
    start = start._replace(noise=start.noise._replace(**given), **counts)
    if options.context is not None and options.context < World.start_context:
        raise InputError(f"--context {options.context} is below the {World.start_context} tokens of the tiny policy")
    return replace(world, start=start, start_context=options.context or world.start_context)


def _evaluation(
    world: World, tools: Sequence[Any], policy: Policy, options: StartOptions, limits: _Longest
) -> Evaluation | None:
    if not options.held_out:
        return None
    held_out = HeldOutEvaluator(
        world=world,
        tasks=world.tasks("test", options.held_out, 0),
        env=world.env(tools),
        format=policy.format,
        rollout=world.make_rollout(limits.turns),
        sampling=Sampling(max_tokens=limits.tokens),
    )
    return held_out.evaluation_with_bar(
        engines.LocalEngine(policy.model, device=options.device, max_rows=64), enabled=not options.quiet
    )


def _demonstrate(world: World, tools: Sequence[Any], format: ChatFormat) -> list[Trajectory]:
    """Demonstrations of 64 training tasks."""
    env = world.env(tools)
    expert, rollout = world.need("expert"), world.make_rollout(world.start_turns)
    return [demonstrate(env, task, expert, format=format, rollout=rollout) for task in world.tasks("train", 64, 0)]


def _help(*, requested: bool) -> int:
    text = (
        "usage: handaxe start WORLD [--world.OPTION ...] [--tools NAME ...] --out FOLDER\n"
        "       WORLD and NAME are names, or MODULE:ATTRIBUTE of your own"
    )
    names = ", ".join(list_names("worlds"))
    if not requested:
        raise InputError(f"the world is missing; there are {names}.\n{text}")
    more = "`handaxe start WORLD --help` lists the options of a world."
    console().print(f"{text}\n\nworlds: {names}\n{more}", markup=False)
    return 0
