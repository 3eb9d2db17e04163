"""`handaxe judge eval`: measure judges on benches with a known order, beside controls by length and position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.read import expected
from handaxe.commands.configure import FLAT, options_dataclass, parse
from handaxe.commands.judge_tables import judge_tables
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.evaluation.agreement_stats import Figure
from handaxe.evaluation.bench_items import BenchItem, control_chances, labels_of
from handaxe.evaluation.bench_report import bench_report
from handaxe.evaluation.judge_benches import BENCHES, JudgeBench, Make, find_bench
from handaxe.methods.build import create_world
from handaxe.methods.flags import flag
from handaxe.methods.judge_source import RULE, check_judge_source
from handaxe.methods.lookup import find
from handaxe.methods.run_spec import NamedFactory
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import NAMED
from handaxe.worlds.world import Split, World

if TYPE_CHECKING:
    import handaxe.methods.bench_answerer as answerers
    import handaxe.methods.bench_rollouts as policies
else:
    answerers = DeferredModule("handaxe.methods.bench_answerer")
    policies = DeferredModule("handaxe.methods.bench_rollouts")

__all__ = ["JudgeEvalOptions", "evaluate_judges"]

PROG = "handaxe judge eval"
OWN = ("self", "self@start", "trained")
"""Sources that need a policy."""
LEARNING = ("trained", "head:")
PLAYED = ("answers", "rollouts")
"""Benches with a world."""
BATCH = 64
"""Questions at a time, after each of which the budget is looked at."""
LEAST = {"tasks": 1, "judge_labels": 4, "judge_budget": 0, "best_of": 0, "seed": 0}
"""Minimum of options."""
ROLLOUTS = "rollouts"
CANDIDATES = 8
"""Rollouts of a task in the bench rollouts, without --best-of."""


@dataclass(frozen=True)
class JudgeEvalOptions:
    """Ask judges questions with known answers, and print accuracy, ranks, calibration and cost of each judge, beside
    controls by length and position. Give --judge SOURCE once for each judge.

    Args:
        bench: steps, answers, bfcl_pairs, ties, rollouts or jsonl:PATH of a file with lines {"prompt": TEXT or
            messages, "chosen": TEXT, "rejected": TEXT or [TEXT, ...]}.
        tasks: held-out tasks, at most; of a file: lines.
        world: of the benches answers and rollouts; options are --world.NAME. By default arithmetic.
        pairs: ask which of two answers is right, in both orders, instead of asking about each answer alone.
        best_of: also print the expected truth of the best of 1, 2, ..., N candidates of a task by the judge's score,
            beside an oracle and the mean; at most the candidates of the bench. In the bench rollouts, N rollouts are
            played at each task, 8 without this option.
        model: policy of the judges self, self@start and trained, and of the bench rollouts.
        judge_labels: labelled questions about training tasks, at most, for a head or a trained judge. The two halves of
            a file are by a digest of the prompt, and without such a judge all lines are measured.
        judge_budget: most tokens that each judge may read and write, 0 for no limit.
        judge_min_coverage: least mean probability mass on the two answers of a question, 0 for none.
        seed: of the tasks.
        json: write all figures with their intervals to this file.
    """

    bench: str = ""
    tasks: int = 100
    world: str = ""
    pairs: bool = False
    best_of: int = 0
    model: str = ""
    judge_labels: int = 512
    judge_budget: int = 0
    judge_min_coverage: float = 0.2
    seed: int = 0
    json: Path | None = None


@dataclass(frozen=True)
class _WorldName:
    bench: str = ""
    world: str = ""


def evaluate_judges(judges: Sequence[str], words: list[str]) -> int:
    """Measure judges; returns the exit code.

    Args:
        judges: sources, see `methods.judge_source`.
        words: the other words of the command line.

    Raises:
        InputError: no judge, an unknown bench, or an option out of range.
    """
    options, world = _parsed(words)
    bench = _checked(judges, options, world)
    terminal = console()
    learns = any(one.startswith(LEARNING) for one in judges)
    items = bench.make("test" if learns else None, options.tasks, options.seed)
    if not items:
        raise InputError(f"bench {bench.name} has no line left to measure, as half of them teaches: give more")
    if (least := min(len(one.questions) for one in items)) < options.best_of:
        raise InputError(f"--best-of is {options.best_of}, and a task of bench {bench.name} has {least} candidates")
    note(terminal, "bench", f"{bench.name}: {len(items)} tasks, {sum(len(one.questions) for one in items)} questions")
    found = dict[str, Any]()
    for source in judges:
        with terminal.status(f"asking {source}", spinner="line"):
            by_rule = source == RULE
            found[source] = _of_rule(bench, items, options) if by_rule else _measured(source, bench, items, options)
    controls = {
        name: bench_report(bench.form, own, items, best_of=options.best_of)
        for name, own in control_chances(items).items()
    }
    for table in judge_tables(found, controls):
        terminal.print(table)
    _note_leaks(controls, terminal)
    write_json(options.json, {"bench": bench.name, "tasks": len(items), "judges": found, "controls": controls})
    return 0


# --- options ---------------------------------------------------------------------------------------------------------


def _parsed(words: list[str]) -> tuple[JudgeEvalOptions, World | None]:
    """The options, and the world of the bench answers."""
    plain = [word for word in words if word not in ("-h", "--help")]
    named = tyro.cli(_WorldName, args=plain, prog=PROG, return_unknown_args=True, add_help=False)[0]
    name = named.world or ("arithmetic" if named.bench in PLAYED else "")
    kinds: dict[str, tuple[Any, Any]] = {"eval": (Annotated[JudgeEvalOptions, FLAT], None)}
    made = NamedFactory(name, find("worlds", name)) if name else None
    if made is not None and made.options():
        kinds["world"] = (options_dataclass(made), None)
    about = (JudgeEvalOptions.__doc__ or "").partition("\n\n")[0]
    found = parse(kinds, words, prog=PROG, description=about)
    return found["eval"], create_world(made, vars(found["world"]) if "world" in found else {}) if made else None


def _checked(judges: Sequence[str], options: JudgeEvalOptions, world: World | None) -> JudgeBench:
    """Check the options without a model; returns the bench."""
    for name, least in LEAST.items():
        if getattr(options, name) < least:
            raise InputError(f"{flag(name)} is {getattr(options, name)}; give {least} or more")
    if not 0 <= options.judge_min_coverage < 1:
        raise InputError(f"--judge-min-coverage is {options.judge_min_coverage}; give 0 or more and less than 1")
    check_writable(options.json)
    if not options.bench:
        raise InputError(f"name a bench, --bench NAME: {', '.join(BENCHES)}")
    if not judges:
        raise InputError("name judges to measure, --judge SOURCE, once for each; see docs/judges.md")
    for source in judges:
        check_judge_source(source)
        if source in OWN and not options.model:
            raise InputError(f"--judge {source} is the policy of a run, and here is none: name one, --model NAME")
    if options.model:
        check_model_name(options.model, NAMED)
    if world is not None and options.bench not in PLAYED:
        raise InputError(f"--world is for bench {' and '.join(PLAYED)}: leave it out with --bench {options.bench}")
    bench = find_bench(options.bench, world=world, pairs=options.pairs, rollouts=_rollouts(options, world))
    if options.best_of and not bench.has_candidates:
        raise InputError(f"--best-of chooses among answers that are judged alone: leave it out with {_asked(options)}")
    if RULE in judges and not bench.by_rule:
        raise InputError(f"--judge {RULE}: the labels of {bench.name} are given, and no rule answers its questions")
    return bench


def _rollouts(options: JudgeEvalOptions, world: World | None) -> Make | None:
    """Maker of the bench rollouts, which loads the policy when it is called."""
    if options.bench != ROLLOUTS or world is None or not options.model:
        return None

    def make(split: Split | None, count: int, seed: int) -> list[BenchItem]:
        size = options.best_of or CANDIDATES
        if not loaded:
            loaded.append(policies.bench_rollouts(model=options.model, world=world, size=size))
        return loaded[0](split, count, seed)

    loaded = list[Make]()
    return make


def _asked(options: JudgeEvalOptions) -> str:
    return "--pairs" if options.pairs else f"--bench {options.bench}"


# --- figures ---------------------------------------------------------------------------------------------------------


def _measured(source: str, bench: JudgeBench, items: Sequence[BenchItem], options: JudgeEvalOptions) -> dict[str, Any]:
    """Figures of one judge, after its teaching."""
    desk = AskDesk(
        answerers.bench_answerer(source, bench, model=options.model, labels=options.judge_labels, seed=options.seed),
        budget=options.judge_budget,
        min_coverage=options.judge_min_coverage,
    )
    asks = [one.ask(desk) for item in items for one in item.questions]
    values = [value for k in range(0, len(asks), BATCH) for value in _answers(desk, asks[k : k + BATCH])]
    cuts = np.cumsum([len(item.questions) for item in items])[:-1]
    chances = np.split(np.array(values, np.float64), cuts)
    spent = [one.answer.spent for one in desk.take_calls()]
    answered = max(int(np.isfinite(values).sum()), 1)
    return {
        **bench_report(bench.form, chances, items, best_of=options.best_of),
        "tokens": sum(one.read + one.written for one in spent) / answered,
        "seconds": sum(one.seconds for one in spent) / answered,
        "cost": sum(one.cost for one in spent) / answered,
    }


def _answers(desk: AskDesk, asks: Sequence[Any]) -> list[float]:
    """Probabilities of the first label; NaN for a question without an answer."""
    found = desk.ask(asks, expected(asks[0].prompt.weights))
    return [np.nan if isinstance(one, NoAnswer) else float(one) for one in found]


def _of_rule(bench: JudgeBench, items: Sequence[BenchItem], options: JudgeEvalOptions) -> dict[str, Any]:
    exact = [labels_of(item).astype(np.float64) for item in items]
    report = bench_report(bench.form, exact, items, best_of=options.best_of)
    return {**report, "tokens": 0.0, "seconds": 0.0, "cost": 0.0}


def _note_leaks(controls: Mapping[str, Any], terminal: Any) -> None:
    """Name controls above chance."""
    for name, own in controls.items():
        pair = Figure(**own["pair"])
        if pair.low > 0.5:
            note(terminal, "leak", f"({name}) has pair accuracy {pair.value:.2f}, and sees no text: compare with it")
