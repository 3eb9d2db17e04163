"""`handaxe replay RUN`: play recorded attempts again without a model, and say what comes out otherwise."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import Rollout
from handaxe.core.records import Group, Sampling
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.build import START, build
from handaxe.methods.lookup import tools_named
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.models.load import TINY, stand_in
from handaxe.rollouts.budget import SPEAKER
from handaxe.rollouts.driver.others import voices
from handaxe.rollouts.linear import linear
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import Replayed, replay
from handaxe.training.replay.discrepancies import KINDS, Discrepancy, What
from handaxe.training.replay.recorded import openings
from handaxe.view.escape import plain

__all__ = ["ReplayOptions", "main"]

DIFFERENT = 1


@dataclass(frozen=True)
class ReplayOptions:
    """Play the recorded attempts of a run again: what the policy said and what tools replied come from the record, the
    rollout, chat format and environment are the recipe's; of a run that a script made, the chat format is the one it
    keeps, and the rollout the plain one unless told otherwise. Of its model only the tokenizer and the length of the
    context are read, no weights. Exit code 0 when everything is equal, 1 when not.

    Args:
        run: folder of the run.
        step: only those of this step.
        trajectory: only the attempt of the trajectory of this id, such as 3/chain_sum-17/0.
        tools: let the tools reply, for real, and compare their replies and what they report at the end: those of the
            recipe, or those whose names follow, or MODULE:ATTRIBUTE of your own.
        rollout: MODULE:ATTRIBUTE of the rollout strategy that a script made the run with, where that was not linear.
        show: most differences to list.
        room: longest text of a difference, in characters.
        json: write the result to this file.
    """

    run: tyro.conf.Positional[Path]
    step: int | None = None
    trajectory: str | None = None
    tools: tuple[str, ...] | None = None
    rollout: str = ""
    show: int = 10
    room: int = 200
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Replay; returns the exit code."""
    options = tyro.cli(ReplayOptions, args=arguments, prog="handaxe replay")
    check_writable(options.json)
    groups = _groups(options)
    setup = _of_recipe(options) if recorded_method(options.run) is not None else _of_script(options, groups)
    terminal = console()
    replayed = [one for group in groups for one in replay(group, setup(group), only=options.trajectory)]
    differences = [difference for one in replayed for difference in one.differences]
    real = options.tools is not None
    source = "real tools" if real else "replies from the record"
    note(terminal, "replay", f"{len(replayed)} trajectories of {options.run}, {source}")
    terminal.print(_table(replayed, tools=real))
    _print_differences(differences, options)
    write_json(options.json, _body(replayed, differences, tools=real))
    return DIFFERENT if differences else 0


def _of_recipe(options: ReplayOptions) -> Callable[[Group], Setup]:
    """What the attempts of a recipe's run are played with."""
    given = {"tools": options.tools} if options.tools else {}
    chosen = recorded_run(options.run, changes=given).spec
    kwargs = build(chosen, policy=stand_in(chosen.settings.model.replace(START, TINY)))
    rollout, sampling = _rollout(options) or kwargs["rollout"], kwargs["sampling"]
    context, real = kwargs["engine"].max_length, options.tools is not None
    setup = Setup(rollout, kwargs["format"], kwargs["env"], sampling, context, real, voices(kwargs["others"]))
    return lambda group: setup


def _of_script(options: ReplayOptions, groups: Sequence[Group]) -> Callable[[Group], Setup]:
    """What the attempts of a script's run are played with: what its folder keeps, and what was named."""
    if options.tools == ():
        raise InputError(
            f"the run in {options.run} was made by a script, which does not keep its tools: name them, such as --tools "
            "MODULE:ATTRIBUTE, or leave --tools out for the replies of the record"
        )
    rollout = _rollout(options) or _linear(options, groups)
    policy = stand_in(options.run)
    env = tool_chat(tools_named(options.tools)) if options.tools else None
    parts, context = (rollout, policy.format), policy.model.max_length
    return lambda group: Setup(*parts, env or openings(group), Sampling(), context, tools=env is not None)


def _rollout(options: ReplayOptions) -> Rollout | None:
    """The strategy that was named."""
    if not options.rollout:
        return None
    found: Rollout = attribute(options.rollout, noun="rollout", example="my_file:my_rollout")
    return found


def _linear(options: ReplayOptions, groups: Sequence[Group]) -> Rollout:
    """The plain strategy, as far as the record shows that it was that one, with the most turns that fit the record."""
    with RunRecord.open(options.run) as record:
        told = record.about().get("arguments", {}).get("rollout")
    attempts = [attempt for group in groups for attempt in group]
    bounded = any(
        one.ending.reason == "budget" or any(m.name == SPEAKER and m.role == "user" for m in one.messages)
        for one in attempts
    )
    if told != f"{linear.__module__}.linear.<locals>.rollout" or bounded:
        what = "a budget" if bounded else str(told)
        raise InputError(
            f"the run in {options.run} was played with {what}, which its record does not hold: name what the "
            "script made it with, --rollout MODULE:ATTRIBUTE"
        )
    ended = [len(one.turns) for one in attempts if one.ending.reason == "turns"]
    return linear(max_turns=max(ended) if ended else 1 + max((len(one.turns) for one in attempts), default=0))


def _groups(options: ReplayOptions) -> list[Group]:
    """The groups asked for."""
    with RunRecord.open(options.run) as record:
        steps = record.steps()
        groups = [one.group for one in record.groups(step=options.step)]
    if not groups:
        there = f"it has steps {steps[0]} to {steps[-1]}" if steps else "it has none yet"
        what = "no attempt" if options.step is None else f"no step {options.step}"
        raise InputError(f"there is {what} in {options.run}; {there}")
    if options.trajectory is None:
        return groups
    if holding := [group for group in groups if any(one.id == options.trajectory for one in group)]:
        return holding
    close = difflib.get_close_matches(options.trajectory, [one.id for group in groups for one in group], n=3, cutoff=0)
    names = ", ".join(map(repr, close))
    raise InputError(f"there is no trajectory {options.trajectory!r} in {options.run}; there are {names} and others")


def _counts(replayed: Sequence[Replayed], *, tools: bool) -> dict[What, int]:
    """How many are equal, by kind. Only real tools leave a state to compare."""
    kinds = [kind for kind in KINDS if tools or kind != "state"]
    return {kind: sum(all(d.what != kind for d in one.differences) for one in replayed) for kind in kinds}


def _table(replayed: Sequence[Replayed], *, tools: bool) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for name in ("", "equal", "of"):
        table.add_column(name, justify="left" if not name else "right")
    for kind, equal in _counts(replayed, tools=tools).items():
        table.add_row(kind, str(equal), str(len(replayed)), style="red" if equal < len(replayed) else "")
    equal = sum(not one.differences for one in replayed)
    table.add_row("trajectories", str(equal), str(len(replayed)), style="bold")
    return table


def _print_differences(differences: Sequence[Discrepancy], options: ReplayOptions) -> None:
    terminal = console()
    for one in differences[: options.show]:
        terminal.print(plain(f"{one.what} of {one.trajectory}, {one.place}".rstrip(" ,"), style="red"), soft_wrap=True)
        for label, text in (("recorded", one.recorded), ("replayed", one.replayed)):
            if text:
                terminal.print(plain(f"  {label}  {text}", room=options.room), soft_wrap=True)
    if len(differences) > options.show:
        terminal.print(f"and {len(differences) - options.show} more; --show lists as many as you like")


def _body(replayed: Sequence[Replayed], differences: Sequence[Discrepancy], *, tools: bool) -> dict[str, Any]:
    return {
        "trajectories": len(replayed),
        "equal": sum(not one.differences for one in replayed),
        "tools": tools,
        "kinds": _counts(replayed, tools=tools),
        "differences": [one._asdict() for one in differences],
    }
