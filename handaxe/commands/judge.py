"""`handaxe judge`: compare judges with the rule, attack and measure them, and print the questions of a run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.box import SIMPLE_HEAD

from handaxe.asking.desk import NoAnswer, metrics_of
from handaxe.asking.read import expected
from handaxe.asking.store import StoredCall, read_calls
from handaxe.commands.configure import parse_train
from handaxe.commands.judge_eval import evaluate_judges
from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.records import RatedGroup
from handaxe.curricula.task_pool import task_pool
from handaxe.evaluation.agreement_stats import agreement_stats
from handaxe.methods.judge_role import STORE, JudgeRole
from handaxe.methods.judge_source import RULE
from handaxe.methods.method import Method
from handaxe.methods.run_spec import RunSpec
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable
from handaxe.view.lab_tables import attack_table

if TYPE_CHECKING:
    import handaxe.evaluation.attack_trials as attack_trials
    import handaxe.methods.build as building
    import handaxe.training.stages.context as context
    import handaxe.training.stages.sources as sources
else:
    attack_trials = DeferredModule("handaxe.evaluation.attack_trials")
    building = DeferredModule("handaxe.methods.build")
    context = DeferredModule("handaxe.training.stages.context")
    sources = DeferredModule("handaxe.training.stages.sources")

__all__ = ["AgreeOptions", "AttackOptions", "ShowQuestionsOptions", "main"]

USAGE = (
    "usage: handaxe judge agree METHOD --judge SOURCE ... [OPTIONS of handaxe train]\n"
    "       handaxe judge attack METHOD --judge SOURCE ... [OPTIONS of handaxe train]\n"
    "       handaxe judge eval --judge SOURCE ... --bench NAME [OPTIONS]\n"
    "       handaxe judge show RUN [OPTIONS]"
)
SHOWN = ("accuracy", "precision", "recall", "f1", "constant_f1", "auroc", "kappa")


@dataclass(frozen=True)
class AgreeOptions:
    """Ask several judges the questions of a method about rollouts of the policy at held-out tasks, and compare the
    answers with the rule of the world. Nothing is trained but the judges that learn from labels.

    Args:
        tasks: held-out tasks.
        rollouts: rollouts of each.
        json: write all figures to this file.
    """

    tasks: int = 24
    rollouts: int = 4
    json: Path | None = None


@dataclass(frozen=True)
class AttackOptions:
    """Score attacks of `handaxe lab` by the reward of a method with each judge: texts that say how right they are,
    copies of the question, repeated calls, and others. Nothing is trained but the judges that learn from labels.

    Args:
        scenes: tasks at which the attacks are played.
        json: write all results to this file.
    """

    scenes: int = 3
    json: Path | None = None


@dataclass(frozen=True)
class ShowQuestionsOptions:
    """Print the questions that a run asked its judge, with answers, probabilities, values and cost.

    Args:
        run: folder of the run.
        step: of training, from 1.
        trajectory: id of a rollout, such as 3/chain_sum-17/0.
        turn: of the rollout, from 1.
        most: limit of printed questions.
    """

    run: tyro.conf.Positional[Path]
    step: int | None = None
    trajectory: str | None = None
    turn: int | None = None
    most: int = 3


def main(arguments: list[str]) -> int:
    """Compare, attack, measure or print; returns the exit code."""
    word, *words = [*arguments, ""]
    words = words[:-1] if arguments else []
    if word == "agree":
        return _agree(words)
    if word == "attack":
        return _attack(words)
    if word == "eval":
        return evaluate_judges(*_judges(words))
    if word == "show":
        return _show(tyro.cli(ShowQuestionsOptions, args=words, prog="handaxe judge show"))
    if word in ("-h", "--help"):
        console().print(USAGE, markup=False)
        return 0
    raise InputError(f"say what to do: judge agree, judge attack, judge eval or judge show.\n{USAGE}")


# --- agree -----------------------------------------------------------------------------------------------------------


def _agree(words: list[str]) -> int:
    specs, options = _parsed(words, "agree", AgreeOptions)
    if min(options.tasks, options.rollouts) < 1:
        raise InputError(f"--tasks is {options.tasks} and --rollouts {options.rollouts}; give 1 or more")
    terminal = console()
    first = next(iter(specs.values()))
    made = building.build(first, progress=terminal.is_terminal)
    groups = _played(made, first, options)
    count = sum(len(one.group) for one in groups)
    note(terminal, "rollouts", f"{count} at {options.tasks} held-out tasks of world {first.template.world.name}")
    table = FittedTable(box=SIMPLE_HEAD)
    for name in ("judge", "questions", "unanswered", *SHOWN, "tokens", "seconds"):
        table.add_column(name)
    found = {}
    for source, spec in specs.items():
        with terminal.status(f"asking {source}", spinner="line"):
            found[source] = _measure(_ready(spec, made).judge, spec, groups)
        figures = found[source]
        cells = [f"{figures[name]['value']:.3f}" for name in SHOWN]
        counts = [f"{figures[name]:.0f}" for name in ("questions", "unanswered")]
        table.add_row(source, *counts, *cells, f"{figures['tokens']:.0f}", f"{figures['seconds']:.1f}")
    terminal.print(table)
    write_json(options.json, {"method": first.name, "tasks": options.tasks, "judges": found})
    return 0


def _parsed(words: list[str], name: str, kind: type) -> tuple[dict[str, RunSpec], Any]:
    """Spec of the run with each judge, and the options of the command."""
    judges, rest = _judges(words)
    if not rest or rest[0].startswith("-"):
        raise InputError(f"the method is missing.\n{USAGE}")
    spec, also = parse_train(rest[0], rest[1:], prog=f"handaxe judge {name}", also={name: kind})
    check_writable(also[name].json)
    if not judges or (RULE in judges and name == "agree"):
        raise InputError("name judges to compare with the rule, --judge SOURCE, once for each; see docs/judges.md")
    return {one: replace(spec, settings=replace(spec.settings, judge=one)) for one in judges}, also[name]


def _judges(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sources after each --judge, and the other words."""
    judges, rest = list[str](), list[str]()
    follows = False
    for word in words:
        if follows or word.startswith("--judge="):
            judges.append(word.removeprefix("--judge="))
            follows = False
        elif word == "--judge":
            follows = True
        else:
            rest.append(word)
    return judges, rest


def _played(made: dict[str, Any], spec: RunSpec, options: AgreeOptions) -> list[RatedGroup]:
    """Groups of the policy at held-out tasks."""
    world = building.make_world(spec)
    pool = task_pool(world.tasks("test", options.tasks, 0), shuffle=False)
    site = context.make_site(
        **{name: made[name] for name in ("engine", "format", "env", "rollout", "seed")},
        tasks=pool,
        reward=world.correct,
        sampling=made["run"].evaluation.evaluate.sampling,
    )
    play = sources.played(groups=options.tasks, group_size=options.rollouts)
    return list(play(site))


def _ready(spec: RunSpec, made: dict[str, Any]) -> Method:
    """The method of a run with a judge that is bound to the policy, and taught."""
    method = building.make_method(spec, building.make_world(spec))
    if not method.judge.asked:
        raise InputError(f"method {spec.name} asks no judge")
    method.judge.bind(made["engine"], made["format"])
    roles = {name: made[name] for name in ("engine", "format", "env", "rollout", "reward", "seed")}
    tasks = copy.deepcopy(made["tasks"])  # the same for each judge
    site = context.make_site(**roles, tasks=tasks, sampling=made["run"].evaluation.evaluate.sampling)
    for stage in method.judge.stages:
        stage(site)
    return method


def _measure(role: JudgeRole, spec: RunSpec, groups: Sequence[RatedGroup]) -> dict[str, Any]:
    """Figures of one judge."""
    asked = [(one.task.id, *pair) for rated in groups for one in rated.group for pair in role.labelled(one)]
    if not asked:
        raise InputError(f"the rule of {spec.name} answers no question about these rollouts: nothing can be compared")
    values = role.desk.ask([ask for _, ask, _ in asked], expected(asked[0][1].prompt.weights))
    known = [k for k, value in enumerate(values) if not isinstance(value, NoAnswer)]
    stats = agreement_stats(
        [float(values[k]) for k in known],  # type: ignore[arg-type]
        [asked[k][1].prompt.weights[asked[k][2]] > 0.5 for k in known],
        [asked[k][0] for k in known],
    )
    spent = metrics_of(role.desk.take_calls())
    return {
        **{name: one._asdict() for name, one in stats.items()},
        "questions": len(asked),
        "unanswered": len(asked) - len(known),
        "tokens": spent["read"] + spent["written"],
        "seconds": spent["seconds"],
        "cost": spent["cost"],
    }


# --- attack ----------------------------------------------------------------------------------------------------------


def _attack(words: list[str]) -> int:
    specs, options = _parsed(words, "attack", AttackOptions)
    if options.scenes < 1:
        raise InputError(f"--scenes is {options.scenes}; give 1 or more")
    terminal = console()
    first = next(iter(specs.values()))
    made, world = building.build(first, progress=terminal.is_terminal), building.make_world(first)
    bench, trials = attack_trials.AttackBench(count=options.scenes), list[Any]()
    for source, spec in specs.items():
        with terminal.status(f"attacking {source}", spinner="line"):
            reward, tools = _ready(spec, made).reward, building.offered_tools(spec.settings, world)
            trials.append(bench.attack(reward, world, key="world", name=source, tools=tools, seconds=None))
    terminal.print(attack_table(trials))
    found = {one.name: [result._asdict() for result in one.results] for one in trials}
    write_json(options.json, {"method": first.name, "scenes": options.scenes, "judges": found})
    return 0


# --- show ------------------------------------------------------------------------------------------------------------


def _show(options: ShowQuestionsOptions) -> int:
    path = options.run / STORE
    if not path.is_file():
        raise InputError(f"{options.run} has no questions to a judge: {path} is missing. Train with --judge SOURCE")
    found = read_calls(path, trajectory=options.trajectory, step=options.step)
    if options.turn is not None:
        found = [one for one in found if one.about[1] == options.turn - 1]
    terminal = console()
    if not found:
        raise InputError("no question fits: leave out --step, --trajectory or --turn")
    for one in found[: options.most]:
        _print_call(one, terminal)
    note(terminal, "questions", f"{len(found)}, {min(options.most, len(found))} of them printed; --most N prints more")
    return 0


def _print_call(one: StoredCall, terminal: Any) -> None:
    trajectory, turn, criterion = one.about
    where = f"step {one.step}, rollout {trajectory}, turn {turn + 1}{f', criterion {criterion}' if criterion else ''}"
    note(terminal, "about", where)
    note(terminal, "prompt", one.prompt)
    for line in one.question.splitlines():
        terminal.print("  ", escaped_text(line), sep="", soft_wrap=True)
    if one.answer.label_logp:
        note(terminal, "labels", ", ".join(f"{name} {value:.3f}" for name, value in one.answer.label_logp.items()))
    if one.answer.text:
        note(terminal, "text", one.answer.text)
    value = "none" if one.value is None else f"{one.value:.3f}" if isinstance(one.value, float) else str(one.value)
    note(terminal, "value", f"{value}{f' ({one.failure})' if one.failure else ''}")
    spent = one.answer.spent
    cost = f"{spent.read} tokens read, {spent.written} written, {spent.seconds:.3f} s, cost {spent.cost:g}"
    note(terminal, "spent", f"{cost}; {'known before' if one.cached else 'asked here'}")
    terminal.print()
