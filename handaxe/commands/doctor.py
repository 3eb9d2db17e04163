"""`handaxe doctor RECIPE [options of train]`: check what `train` would run, in a minute or two, before it runs."""

import importlib.util
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro
from rich.console import Console

import handaxe
from handaxe.commands.configure import parse_train
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.commands.picture import picture
from handaxe.commands.train import RunOptions
from handaxe.core.errors import InputError, MethodError
from handaxe.doctor.examine import examine
from handaxe.doctor.finding import Finding
from handaxe.doctor.shown import findings_table, summary
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.hardware import closing_engine
from handaxe.methods.run_folder import spec_in_file
from handaxe.methods.run_spec import RunSpec
from handaxe.training.loop.config import RunConfig

__all__ = ["DoctorOptions", "check_chosen", "main"]

WRONG = 1


@dataclass(frozen=True)
class DoctorOptions(RunOptions):
    """What is looked at before a run. --out and --log are taken as `train` takes them, and nothing is written there.

    Args:
        out: folder that the run would go to: is it free, and is there room for its checkpoints.
        log: where metrics would be logged, too.
        json: write the findings to this file.
        quiet: show no progress.
        seconds: that the steps which are tried may take; what is slower is tried with fewer groups.
        svg: write what is shown as a picture to this file, too.
    """

    seconds: float = 60.0
    svg: Path | None = None


def main(arguments: list[str]) -> int:
    """Check; returns the exit code, 1 when something is wrong."""
    if not arguments or arguments[0].startswith("-"):
        return _help(asked="-h" in arguments or "--help" in arguments)
    name, command = arguments[0], command_line(["doctor", *arguments])
    if name.endswith(".json"):
        config = (tyro.conf.FlagCreatePairsOff,)
        options = tyro.cli(DoctorOptions, args=arguments[1:], prog="handaxe doctor FILE", config=config)
        return _show(spec_in_file(Path(name)), options, command)
    chosen, more = parse_train(name, arguments[1:], prog=f"handaxe doctor {name}", also={"doctor": DoctorOptions})
    return _show(chosen, more["doctor"], command)


def check_chosen(chosen: RunSpec, options: DoctorOptions, terminal: Console) -> list[Finding]:
    """Build what was chosen as `train` does, and look at it.

    Args:
        chosen: recipe and all its options.
        options: how; `terminal` shows what is being done.
    """
    method = make_method(chosen, make_world(chosen))
    with terminal.status("loading") as status:
        if options.quiet:
            status.stop()
        made = build(chosen, method=method, machines=options.machines)
        with closing_engine(made["engine"]):
            return examine(
                {**made, "keep": RunConfig(out=options.out)},
                stages=len(method.stages) + len(method.shared),
                seconds=options.seconds,
                tell=status.update,
            )


def _show(chosen: RunSpec, options: DoctorOptions, command: str) -> int:
    if options.out is not None:
        check_new_folder(options.out)
    if not options.seconds > 0:
        raise InputError(f"--seconds is {options.seconds:g}; give more than 0")
    if options.log is not None and importlib.util.find_spec(options.log) is None:
        raise InputError(f"--log {options.log} needs a package: pip install 'handaxe[{options.log}]'")
    options.machines.check()
    for file in (options.json, options.svg):
        check_writable(file)
    begun = time.monotonic()
    found = check_chosen(chosen, options, Console(stderr=True))
    seconds = time.monotonic() - begun
    with picture(console(), options.svg, title=command) as terminal:
        terminal.print(
            findings_table(
                found, title=f"{chosen.name} in {chosen.template.world.name}, policy {chosen.settings.model}"
            )
        )
        note(terminal, "doctor", f"{summary(found)}, in {seconds:.0f} s")
    write_json(options.json, _body(found, chosen, command, seconds))
    return WRONG if any(one.level == "wrong" for one in found) else 0


def _body(found: Sequence[Finding], chosen: RunSpec, command: str, seconds: float) -> dict[str, object]:
    return {
        "recipe": chosen.name,
        "command": command,
        "arguments": chosen.arguments(),
        "handaxe": handaxe.__version__,
        "seconds": round(seconds, 1),
        "wrong": sum(one.level == "wrong" for one in found),
        "findings": [asdict(one) for one in found],
    }


def _help(*, asked: bool) -> int:
    text = (
        "usage: handaxe doctor RECIPE [everything that `handaxe train RECIPE` takes] [--seconds 60] [--json FILE]\n"
        "       handaxe doctor RUN/recipe.json checks what that run was started with\n"
        "Exit code 1 when something is wrong; what is only to be looked at leaves it 0."
    )
    if not asked:
        raise MethodError(f"which recipe? `handaxe recipes` lists them.\n{text}")
    console().print(text, markup=False)
    return 0
