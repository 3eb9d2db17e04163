"""`handaxe doctor METHOD [options of train]`: check a run within a minute or two before training."""

import importlib.util
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
from handaxe.doctor.findings_table import findings_table, summary
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.hardware import closing_engine
from handaxe.methods.run_folder import spec_in_file
from handaxe.methods.run_spec import RunSpec

__all__ = ["DoctorOptions", "check_spec", "main"]

FAILED = 1


@dataclass(frozen=True)
class DoctorOptions(RunOptions):
    """Options of the check, with --out and --log of `train`; nothing is written there.

    Args:
        out: folder of the run; checked for an existing run and for disk space.
        log: service that metrics would be logged to.
        json: write the findings to this file.
        quiet: show no progress.
        seconds: time limit of the trial steps; slower steps are tried with fewer groups.
        svg: also write the output as a picture to this file.
    """

    seconds: float = 60.0
    svg: Path | None = None


def main(arguments: list[str]) -> int:
    """Check; returns the exit code, 1 for an error."""
    if not arguments or arguments[0].startswith("-"):
        return _help(requested="-h" in arguments or "--help" in arguments)
    name, command = arguments[0], command_line(["doctor", *arguments])
    if name.endswith(".json"):
        config = (tyro.conf.FlagCreatePairsOff,)
        options = tyro.cli(DoctorOptions, args=arguments[1:], prog="handaxe doctor FILE", config=config)
        return _show(spec_in_file(Path(name)), options, command)
    spec, more = parse_train(name, arguments[1:], prog=f"handaxe doctor {name}", also={"doctor": DoctorOptions})
    return _show(spec, more["doctor"], command)


def check_spec(spec: RunSpec, options: DoctorOptions, terminal: Console) -> list[Finding]:
    """Build the arguments of `train` for a spec, and check them.

    Args:
        spec: method and all options.
        options: of the check.
        terminal: shows the current activity.
    """
    method = make_method(spec, make_world(spec))
    with terminal.status("loading") as status:
        if options.quiet:
            status.stop()
        made = build(spec, method=method, machines=options.machines)
        with closing_engine(made["engine"]):
            return examine(
                {**made, "run": replace(made["run"], out=options.out)},
                stages=len(method.stages) + len(method.shared),
                seconds=options.seconds,
                report=status.update,
            )


def _show(spec: RunSpec, options: DoctorOptions, command: str) -> int:
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
    found = check_spec(spec, options, Console(stderr=True))
    seconds = time.monotonic() - begun
    with picture(console(), options.svg, title=command) as terminal:
        title = f"{spec.name} in {spec.template.world.name}, policy {spec.settings.model}"
        terminal.print(findings_table(found, title=title))
        note(terminal, "doctor", f"{summary(found)}, in {seconds:.0f} s")
    write_json(options.json, _body(found, spec, command, seconds))
    return FAILED if any(one.level == "error" for one in found) else 0


def _body(found: Sequence[Finding], spec: RunSpec, command: str, seconds: float) -> dict[str, object]:
    return {
        "method": spec.name,
        "command": command,
        "arguments": spec.arguments(),
        "handaxe": handaxe.__version__,
        "seconds": round(seconds, 1),
        "errors": sum(one.level == "error" for one in found),
        "findings": [asdict(one) for one in found],
    }


def _help(*, requested: bool) -> int:
    text = (
        "usage: handaxe doctor METHOD [options of `handaxe train METHOD`] [--seconds 60] [--json FILE]\n"
        "       handaxe doctor RUN/recipe.json checks the run of this file\n"
        "Exit code 1 for an error, 0 for warnings only."
    )
    if not requested:
        raise MethodError(f"the method is missing; `handaxe methods` lists them.\n{text}")
    console().print(text, markup=False)
    return 0
