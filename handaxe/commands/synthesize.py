"""`handaxe synthesize PIPELINE --proposer SOURCE --count N --out DIR`: make tasks; `synthesize show DIR`: funnel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console

from handaxe import engines
from handaxe.asking.desk import AskDesk
from handaxe.asking.store import AnswerStore
from handaxe.commands.configure import FLAT, options_dataclass, parse
from handaxe.commands.output import check_folder, command_line, console, note
from handaxe.commands.part_words import part_words
from handaxe.core.errors import InputError
from handaxe.core.escape import escape
from handaxe.methods.build import create_world
from handaxe.methods.judge_source import RULE, check_judge_source, make_other_answerer
from handaxe.methods.lookup import find, find_tools, list_names
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.load import load
from handaxe.synthesis.context import MeasuredPolicy, PipelineContext
from handaxe.synthesis.draft import digest_of
from handaxe.synthesis.files import TASKS, read_card
from handaxe.synthesis.pipeline import SynthesisReport, SynthesisState
from handaxe.training.loop.progress import Bar
from handaxe.view.fitted_table import FittedTable
from handaxe.worlds.jsonl import jsonl
from handaxe.worlds.world import World

__all__ = ["ShowSynthesisOptions", "SynthesizeOptions", "WorldNames", "main"]

USAGE = (
    "usage: handaxe synthesize PIPELINE --out FOLDER [--world NAME] [--proposer SOURCE] [--count N] [OPTIONS]\n"
    "       handaxe synthesize show FOLDER"
)
HELP = ("-h", "--help")
ANSWERS = "answers.sqlite"
OWN = ("self", "self@start", "trained")
OPTION = "--proposer"


@dataclass(frozen=True)
class WorldNames:
    """World and tools of the tasks.

    Args:
        world: name of a world, or MODULE:ATTRIBUTE of your own; options are --world.NAME.
    """

    world: str = "arithmetic"


@dataclass(frozen=True)
class SynthesizeOptions:
    """Make tasks by a pipeline. The same command continues a stopped run, and computes nothing twice.

    Args:
        out: folder of the files tasks.jsonl, provenance.jsonl and card.json.
        proposer: rule, a model (tiny, smollm2, FOLDER), http://HOST/v1#NAME, or MODULE:ATTRIBUTE of your own answerer.
        count: tasks; fewer if the proposals or rounds are exhausted.
        rounds: most rounds of proposals.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; by default the tools of the world.
        tests: held-out tasks of the world that no task may repeat, 1 or more.
        against: further file of test tasks, in the form of the world jsonl.
        policy: model whose pass rate is measured: tiny, a folder, or another argument of `handaxe.load`; none by
            default.
        budget: most tokens that the proposer may read and write; 0 for no limit.
        seed: of the run.
        workers: threads of executions.
        quiet: show no progress.
    """

    out: Path
    proposer: str = RULE
    count: int = 1000
    rounds: int = 1000
    tools: tuple[str, ...] | None = None
    tests: int = 1000
    against: Path | None = None
    policy: str | None = None
    budget: int = 0
    seed: int = 0
    workers: int = 4
    quiet: bool = False


@dataclass(frozen=True)
class ShowSynthesisOptions:
    """Print the funnel of a synthesis, its cost, and the first tasks.

    Args:
        folder: of the run.
        most: limit of printed tasks.
    """

    folder: tyro.conf.Positional[Path]
    most: int = 3


def main(arguments: list[str]) -> int:
    """Make tasks, or show a run; returns the exit code."""
    word, *words = arguments or [""]
    if word == "show":
        options = tyro.cli(ShowSynthesisOptions, args=words, prog="handaxe synthesize show")
        _show(console(), options.folder, read_card(options.folder), options.most)
        return 0
    if word in HELP or not word or word.startswith("-"):
        names = ", ".join(list_names("pipelines"))
        if word not in HELP:
            raise InputError(f"the pipeline is missing; there are {names}.\n{USAGE}")
        console().print(f"{USAGE}\n\npipelines: {names}", markup=False)
        return 0
    return _synthesize(word, words)


def _synthesize(name: str, words: list[str]) -> int:
    pipeline = NamedFactory(name, find("pipelines", name))
    plain = [word for word in words if word not in HELP]
    names, _ = tyro.cli(WorldNames, args=plain, prog="handaxe", return_unknown_args=True, add_help=False)
    made = NamedFactory(names.world, find("worlds", names.world))
    kinds: dict[str, tuple[Any, Any]] = {"synthesize": (Annotated[SynthesizeOptions, FLAT], None)}
    kinds |= {"names": (Annotated[WorldNames, FLAT], names)}
    kinds |= {"own": (Annotated[options_dataclass(pipeline), FLAT], None)}
    if made.options():
        kinds["world"] = (options_dataclass(made), None)
    found = parse(kinds, words, prog=f"handaxe synthesize {name}", description=SynthesizeOptions.__doc__ or "")
    options: SynthesizeOptions = found["synthesize"]
    _check(options)
    given = vars(found["world"]) if "world" in found else {}
    world = create_world(made, given)
    tools = world.tools if options.tools is None else find_tools(options.tools)
    shown = " ".join(part_words(made, given, prefix="world"))
    at = PipelineContext(world, shown, world.env(tools), _tests(world, options))
    options.out.mkdir(parents=True, exist_ok=True)
    at = at._replace(desk=_desk(options), policy=_policy(options))
    terminal = console()
    with Bar(options.count, title="task", enabled=not options.quiet) as bar:

        def tell(state: SynthesisState) -> None:
            notes = [f"round {state.round + 1}", f"{state.step} {state.drafts}"]
            bar.reach(min(state.kept, options.count), notes)

        report = pipeline.make(at, **vars(found["own"])).run(
            out=options.out,
            count=options.count,
            seed=options.seed,
            workers=options.workers,
            most_rounds=options.rounds,
            progress=tell,
        )
        bar.reach(len(report.drafts))
    _tell(terminal, options, report, options.tools or [one.schema.name for one in world.tools])
    return 0


def _check(options: SynthesizeOptions) -> None:
    check_folder(options.out)
    if min(options.count, options.rounds, options.tests, options.workers) < 1 or options.budget < 0:
        raise InputError(
            f"give --count, --rounds, --tests and --workers from 1 and --budget from 0, not {options.count}, "
            f"{options.rounds}, {options.tests}, {options.workers} and {options.budget}"
        )
    if options.proposer in OWN or options.proposer.startswith("head:"):
        raise InputError(f"{OPTION} {options.proposer} needs a run in training; give rule, a model or a server")
    check_judge_source(options.proposer, option=OPTION)


def _tests(world: World, options: SynthesizeOptions) -> list[Any]:
    """Held-out tasks of the world, and all tasks of the file."""
    found = world.tasks("test", options.tests, 0)
    if options.against is not None:
        more = jsonl(file=str(options.against))
        found = [*found, *more.tasks("train", 1 << 30, 0), *more.tasks("test", 1 << 30, 0)]
    return found


def _desk(options: SynthesizeOptions) -> AskDesk | None:
    if options.proposer == RULE:
        return None
    answerer = make_other_answerer(options.proposer, option=OPTION)
    return AskDesk(answerer, store=AnswerStore(options.out / ANSWERS), budget=options.budget)


def _policy(options: SynthesizeOptions) -> MeasuredPolicy | None:
    if options.policy is None:
        return None
    policy = load(options.policy)
    engine = engines.LocalEngine(policy.model, max_rows=64)
    return MeasuredPolicy(engine, policy.format, f"{options.policy} {digest_of(engine.start_digest())[:12]}")


def _tell(terminal: Console, options: SynthesizeOptions, report: SynthesisReport, tools: Sequence[str]) -> None:
    """Print the result, and the command that trains on the tasks if their tools have names on the command line."""
    _show(terminal, options.out, report.card, 1)
    if len(report.drafts) < options.count:
        note(terminal, "caution", f"{len(report.drafts)} of {options.count} tasks: proposals or rounds are exhausted")
    note(terminal, "outcomes", f"{report.computed} computed, {report.known} known from {options.out}")
    plain = all(one.payload.get("tools") == [] for one in report.drafts)  # such as judging tasks
    if plain or (tools and set(list_names("tools")).issuperset(tools)):
        words = ["--world", "jsonl", "--world.file", str(options.out / TASKS)]
        words += [] if plain else ["--tools", *tools]
        note(terminal, "train", command_line(["train", "grpo", *words]))


def _show(terminal: Console, folder: Path, card: Mapping[str, Any], most: int) -> None:
    about = f"{card['pipeline']}, seed {card['seed']}, {card['rounds']} rounds, handaxe {card['handaxe']}"
    note(terminal, "pipeline", about)
    table = FittedTable(box=SIMPLE_HEAD)
    for name in ("step", "version", "in", "out", "dropped"):
        table.add_column(name)
    for step in card["steps"]:
        reasons = ", ".join(f"{count} {escape(reason)}" for reason, count in step["reasons"].items())
        table.add_row(step["name"], str(step["version"]), str(step["in"]), str(step["out"]), reasons)
    terminal.print(table)
    for role, spent in card["cost"].items():
        cost = f"{spent['asks']} questions, {spent['read']} tokens read, {spent['written']} written"
        note(terminal, role, f"{cost}, {spent['failures']} without an answer, cost {spent['cost']:g}")
    splits = card["splits"]
    note(terminal, "tasks", f"{card['tasks']} in {folder / TASKS}: {splits['train']} train, {splits['test']} test")
    try:
        with (folder / TASKS).open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in islice(file, max(0, most))]
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / TASKS} cannot be read: {error}") from error
    for row in rows:
        asked = row.get("question") or row["messages"][-1]["content"]
        note(terminal, "task", escape(f"{asked} -> {row['answer']}"))
