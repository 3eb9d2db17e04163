"""`handaxe doctor METHOD [options of train]`: check a run within a minute or two before training.

`handaxe doctor --template FOLDER` checks the chat template of a folder with tokenizer files.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.console import Console

import handaxe
from handaxe.commands.configure import Parsed, parse_train
from handaxe.commands.output import check_new_folder, check_writable, command_line, console, note, write_json
from handaxe.commands.picture import picture
from handaxe.commands.train import MODELS, RunOptions, check_services, parse_method
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError, MethodError
from handaxe.doctor.finding import Finding
from handaxe.doctor.findings_table import findings_table, summary
from handaxe.methods.hardware import closing_engine
from handaxe.methods.run_spec import RunSpec
from handaxe.models.check_model_name import check_model_name

if TYPE_CHECKING:
    import handaxe.doctor.examine as examining
    import handaxe.doctor.fits as fitting
    import handaxe.doctor.template_conformance as conforming
    import handaxe.methods.build as building
    import handaxe.models.load as loading
else:
    building = DeferredModule("handaxe.methods.build")
    conforming = DeferredModule("handaxe.doctor.template_conformance")
    examining = DeferredModule("handaxe.doctor.examine")
    fitting = DeferredModule("handaxe.doctor.fits")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["DoctorOptions", "TemplateOptions", "check_spec", "main"]

FAILED = 1


@dataclass(frozen=True)
class DoctorOptions(RunOptions):
    """Options of the check, with --out and --log of `train`; nothing is written there.

    Args:
        out: folder of the run; checked for an existing run and for disk space.
        log: services that metrics would be logged to.
        json: write the findings to this file.
        quiet: show no progress.
        seconds: time limit of the trial steps; slower steps are tried with fewer groups.
        svg: also write the output as a picture to this file.
    """

    seconds: float = 60.0
    svg: Path | None = None


@dataclass(frozen=True)
class TemplateOptions:
    """Check the chat template of a folder with tokenizer files. Reads no weights.

    Args:
        template: folder with tokenizer.json, tokenizer_config.json and the chat template.
        json: write the findings to this file.
        svg: also write the output as a picture to this file.
    """

    template: Path
    json: Path | None = None
    svg: Path | None = None


def main(arguments: list[str]) -> int:
    """Check; returns the exit code, 1 for an error."""
    if any(word.partition("=")[0] == "--template" for word in arguments):
        return _check_template(tyro.cli(TemplateOptions, args=arguments, prog="handaxe doctor"), arguments)
    if arguments == ["--fits"]:
        sys.stdout.write(fitting.fits_table())
        return 0
    if (found := parse_method(arguments)) is None:
        return _help(requested="-h" in arguments or "--help" in arguments)
    name, words = found
    prog = f"handaxe doctor {name}".strip()
    spec, more = parse_train(name, words, prog=prog, also={"doctor": DoctorOptions}, check=_check)
    return _show(spec, more["doctor"], command_line(["doctor", *arguments]))


def _check(parsed: Parsed) -> None:
    """Raise InputError for the faults that need no model and no torch."""
    options: DoctorOptions = parsed.also["doctor"]
    if options.out is not None:
        check_new_folder(options.out)
    if not options.seconds > 0:
        raise InputError(f"--seconds is {options.seconds:g}; give more than 0")
    check_services(options.log)
    options.machines.check()
    check_model_name(parsed.spec.settings.model, MODELS)
    for file in (options.json, options.svg):
        check_writable(file)
    building.check_run(parsed.spec, machines=options.machines)


def check_spec(spec: RunSpec, options: DoctorOptions, terminal: Console) -> list[Finding]:
    """Build the arguments of `train` for a spec, and check them.

    Args:
        spec: method and all options.
        options: of the check.
        terminal: shows the current activity.
    """
    method = building.make_method(spec, building.make_world(spec))
    with terminal.status("loading") as status:
        if options.quiet:
            status.stop()
        made = building.build(spec, method=method, machines=options.machines)
        with closing_engine(made["engine"]):
            return examining.examine(
                {**made, "run": replace(made["run"], out=options.out)},
                stages=len(method.stages) + len(method.shared),
                seconds=options.seconds,
                report=status.update,
            )


def _show(spec: RunSpec, options: DoctorOptions, command: str) -> int:
    begun = time.monotonic()
    found = check_spec(spec, options, Console(stderr=True))
    seconds = time.monotonic() - begun
    with picture(console(), options.svg, title=command) as terminal:
        title = f"{spec.name} in {spec.template.world.name}, policy {spec.settings.model}"
        terminal.print(findings_table(found, title=title))
        note(terminal, "doctor", f"{summary(found)}, in {seconds:.0f} s")
    write_json(options.json, _body(found, spec, command, seconds))
    return FAILED if any(one.level == "error" for one in found) else 0


def _check_template(options: TemplateOptions, arguments: list[str]) -> int:
    for file in (options.json, options.svg):
        check_writable(file)
    found = [one.finding for one in conforming.check_template(loading.load_template(options.template))]
    command = command_line(["doctor", *arguments])
    with picture(console(), options.svg, title=command) as terminal:
        terminal.print(findings_table(found, title=f"chat template of {options.template}"))
        note(terminal, "doctor", summary(found))
    errors = sum(one.level == "error" for one in found)
    body = {"command": command, "handaxe": handaxe.__version__, "errors": errors}
    write_json(options.json, {**body, "findings": [asdict(one) for one in found]})
    return FAILED if errors else 0


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
        "       handaxe doctor --config FILE checks the run of a file: TOML, or RUN/recipe.json\n"
        "       handaxe doctor --template FOLDER checks the chat template of a folder with tokenizer files\n"
        "       handaxe doctor --fits prints the forecast memory of model sizes, precisions and contexts\n"
        "Exit code 1 for an error, 0 for warnings only."
    )
    if not requested:
        raise MethodError(f"the method is missing; `handaxe methods` lists them.\n{text}")
    console().print(text, markup=False)
    return 0
