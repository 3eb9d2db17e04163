"""`handaxe replay RUN`: replay recorded rollouts without a model, and list differences from the record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.commands.output import check_writable, console, note, write_json
from handaxe.commands.selection import find_id, find_step
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.core.protocols import Rollout
from handaxe.core.records import Group, Sampling
from handaxe.envs.tool_chat import tool_chat
from handaxe.methods.lookup import find_tools
from handaxe.methods.run_folder import recorded_method, recorded_run
from handaxe.rollouts.budget import SPEAKER
from handaxe.rollouts.driver.aux_engines import aux_chats
from handaxe.rollouts.linear import linear
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import Replayed, replay
from handaxe.training.replay.discrepancies import KINDS, Discrepancy, What
from handaxe.training.replay.recorded import openings
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable

if TYPE_CHECKING:
    import handaxe.methods.build as building
    import handaxe.models.load as loading
else:
    building = DeferredModule("handaxe.methods.build")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["ReplayOptions", "main"]

DIFFERENT = 1


@dataclass(frozen=True)
class ReplayOptions:
    """Replay recorded rollouts of a run: turns of the policy and replies of tools come from the record.

    Rollout strategy, chat format and environment are those of the method. For the run of a script, the chat format
    comes from the run's folder, and the rollout strategy is linear by default. Reads tokenizer and context length of
    the model, no weights. Exit code 0 if everything is equal, 1 otherwise.

    Args:
        run: folder of the run.
        step: replay only this step, counted from 1.
        trajectory: replay only the trajectory of this id, such as 3/chain_sum-17/0, or of its start.
        tools: execute the tools, and compare replies and final reports: the tools of the method, or the named tools, or
            MODULE:ATTRIBUTE of your own.
        rollout: MODULE:ATTRIBUTE of the rollout strategy of a script's run, if it was not linear.
        show: limit of listed differences.
        max_chars: limit of characters of a difference.
        json: write the result to this file.
    """

    run: tyro.conf.Positional[Path]
    step: int | None = None
    trajectory: str | None = None
    tools: tuple[str, ...] | None = None
    rollout: str = ""
    show: int = 10
    max_chars: int = 200
    json: Path | None = None


def main(arguments: list[str]) -> int:
    """Replay; returns the exit code."""
    options = tyro.cli(ReplayOptions, args=arguments, prog="handaxe replay")
    check_writable(options.json)
    groups, only = _groups(options)
    setup = _of_method(options) if recorded_method(options.run) is not None else _of_script(options, groups)
    terminal = console()
    replayed = [one for group in groups for one in replay(group, setup(group), only=only)]
    differences = [difference for one in replayed for difference in one.differences]
    real = options.tools is not None
    source = "real tools" if real else "replies from the record"
    note(terminal, "replay", f"{len(replayed)} trajectories of {options.run}, {source}")
    terminal.print(_table(replayed, tools=real))
    _print_differences(differences, options)
    write_json(options.json, _body(replayed, differences, tools=real))
    return DIFFERENT if differences else 0


def _of_method(options: ReplayOptions) -> Callable[[Group], Setup]:
    """Setup of the replay for the run of a method."""
    given = {"tools": options.tools} if options.tools else {}
    spec = recorded_run(options.run, changes=given).spec
    model = spec.settings.model
    if model == building.START:
        model = building.make_world(spec).start_model
    policy = loading.dummy_policy(model)
    kwargs = building.build(spec, policy=policy)
    rollout, sampling = _rollout(options) or kwargs["rollout"], kwargs["sampling"]
    context, real = kwargs["engine"].max_length, options.tools is not None
    setup = Setup(
        rollout, kwargs["format"], kwargs["env"], sampling, context, real, aux_chats(kwargs["run"].aux_policies)
    )
    return lambda group: setup


def _of_script(options: ReplayOptions, groups: Sequence[Group]) -> Callable[[Group], Setup]:
    """Setup of the replay for the run of a script: chat format of the folder, and named tools and rollout."""
    if options.tools == ():
        raise InputError(
            f"a script made the run in {options.run}, so its tools are unknown: name them, such as --tools "
            "MODULE:ATTRIBUTE, or leave --tools out for the replies of the record"
        )
    rollout = _rollout(options) or _linear(options, groups)
    policy = loading.dummy_policy(options.run)
    env = tool_chat(find_tools(options.tools)) if options.tools else None
    parts, context = (rollout, policy.format), policy.model.max_length
    return lambda group: Setup(*parts, env or openings(group), Sampling(), context, tools=env is not None)


def _rollout(options: ReplayOptions) -> Rollout | None:
    """The rollout strategy named by --rollout."""
    if not options.rollout:
        return None
    found: Rollout = attribute(options.rollout, noun="rollout", example="my_file:my_rollout")
    return found


def _linear(options: ReplayOptions, groups: Sequence[Group]) -> Rollout:
    """The linear strategy with a turn limit that fits the record. Raises InputError for a run of another strategy."""
    with RunRecord.open(options.run) as record:
        recorded = record.about().get("arguments", {}).get("rollout")
    rollouts = [one for group in groups for one in group]
    bounded = any(
        one.ending.reason == "budget" or any(m.name == SPEAKER and m.role == "user" for m in one.messages)
        for one in rollouts
    )
    if recorded != f"{linear.__module__}.linear.<locals>.rollout" or bounded:
        strategy = "a budget" if bounded else str(recorded)
        raise InputError(
            f"the run in {options.run} was played with {strategy}, which is not part of the record: name the rollout "
            "of the script, --rollout MODULE:ATTRIBUTE"
        )
    ended = [len(one.turns) for one in rollouts if one.ending.reason == "turns"]
    return linear(max_turns=max(ended) if ended else 1 + max((len(one.turns) for one in rollouts), default=0))


def _groups(options: ReplayOptions) -> tuple[list[Group], str | None]:
    """The groups selected by --step and --trajectory, and the whole id of the trajectory."""
    with RunRecord.open(options.run) as record:
        steps = record.steps()
        step = None if options.step is None else find_step(options.step, steps, options.run)
        groups = [one.group for one in record.groups(step=step)]
    if not groups:
        raise InputError(f"there is no rollout in {options.run}" + ("" if steps else "; it has no step yet"))
    if options.trajectory is None:
        return groups, None
    ids = (one.id for group in groups for one in group)
    whole = find_id(options.trajectory, ids, noun="trajectory", place=f"in {options.run}")
    return [group for group in groups if any(one.id == whole for one in group)], whole


def _counts(replayed: Sequence[Replayed], *, tools: bool) -> dict[What, int]:
    """Number of equal trajectories by kind of difference. Kind "state" exists only with executed tools."""
    kinds = [kind for kind in KINDS if tools or kind != "state"]
    return {kind: sum(all(d.what != kind for d in one.differences) for one in replayed) for kind in kinds}


def _table(replayed: Sequence[Replayed], *, tools: bool) -> Table:
    table = FittedTable(box=SIMPLE_HEAD)
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
        terminal.print(
            escaped_text(f"{one.what} of {one.trajectory}, {one.place}".rstrip(" ,"), style="red"), soft_wrap=True
        )
        for label, text in (("recorded", one.recorded), ("replayed", one.replayed)):
            if text:
                terminal.print(escaped_text(f"  {label}  {text}", max_chars=options.max_chars), soft_wrap=True)
    if len(differences) > options.show:
        terminal.print(f"and {len(differences) - options.show} more; --show N lists N differences")


def _body(replayed: Sequence[Replayed], differences: Sequence[Discrepancy], *, tools: bool) -> dict[str, Any]:
    return {
        "trajectories": len(replayed),
        "equal": sum(not one.differences for one in replayed),
        "tools": tools,
        "kinds": _counts(replayed, tools=tools),
        "differences": [one._asdict() for one in differences],
    }
