"""Writes the pages of a run, with all that they show, as one HTML file that opens from a disk without a network."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.codec import dump_text
from handaxe.view.answers import Answers, finite, whole_step
from handaxe.view.assets import MODULES, library_file, page_file
from handaxe.view.curves import AXES, bands, setting_of
from handaxe.view.rows import row_of
from handaxe.view.runs import ViewedRun
from handaxe.view.search import Where, search
from handaxe.view.trajectory import Decode

__all__ = ["Held", "bundled", "spread_out", "write_report"]

IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)
LIBRARY_EXPORT = re.compile(r"export\s*\{([^{}]*)\}\s*;?")
SMALLEST = 2
NAMED = 20
"""Most steps that are listed one by one."""


class Held(NamedTuple):
    """What a report holds of a run in full: steps and attempts, of how many."""

    steps: tuple[int, ...]
    all_steps: int
    attempts: int
    all_attempts: int

    def __str__(self) -> str:
        """As a person reads it."""
        if len(self.steps) == self.all_steps:
            return "every attempt in full"
        named = [str(step) for step in sorted(self.steps)]
        if len(named) > NAMED:
            named = [*named[:3], "...", *named[-3:]]
        of = f"{len(self.steps)} of {self.all_steps}, {self.attempts:,} of its attempts"
        return f"steps {', '.join(named)} in full: {of}"


def write_report(
    folder: Path, file: Path, decoder: Callable[[Path], Decode], *, megabytes: float = 20.0
) -> dict[str, Held]:
    """Write the report of a run, or of a folder of runs.

    Every run's figures and the table of all its attempts are in it. Attempts are held in full by steps: the last, the
    first, and others evenly between, as many as there is room for, two steps of each run at least.

    Args:
        folder: as of `handaxe view`.
        file: is made or replaced.
        decoder: the folder of a run -> what turns its ids into text.
        megabytes: room for attempts in full, compressed, over all runs; the rest of the file comes on top.

    Returns:
        Name of a run -> what is held of it.

    Raises:
        InputError: there is no run, a package is missing, or the file cannot be written.
    """
    answers = Answers(folder, decoder)
    try:
        runs = answers.runs.all()
        if not runs:
            raise InputError(f"there is no run in {folder}")
        held: dict[str, Held] = {}
        data = dict(_data(answers, runs, megabytes * 1e6, held))
    finally:
        answers.close()
    text = _page(Path(folder).resolve().name, data)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error
    return held


def spread_out(steps: list[int]) -> Iterator[int]:
    """The steps in the order in which they are wanted: the last, the first, then halfway between those named.

    Example:
        0 1 2 3 4 -> 4 0 2 1 3
    """
    if not steps:
        return
    yield steps[-1]
    if len(steps) == 1:
        return
    yield steps[0]
    gaps = [(0, len(steps) - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            yield steps[middle]
            gaps += [(low, middle), (middle, high)]


def bundled(*, stored: bool = True) -> str:
    """Our modules as one script: each a function that gives what it exports."""
    parts = ["const modules = {};"]
    for name in MODULES:
        source = page_file(name, stored=stored)
        exported = EXPORT.findall(source)
        source = IMPORT.sub(r'const \1 = modules["\2"];', EXPORT.sub("", source))
        parts.append(f'modules["{name}"] = (() => {{\n{source}\nreturn {{ {", ".join(exported)} }};\n}})();')
    return "\n".join(parts)


def _data(answers: Answers, runs: list[ViewedRun], room: float, held: dict[str, Held]) -> Iterator[tuple[str, str]]:
    """What the pages ask for, under the names by which they do."""
    yield "runs", _packed(answers.answer("runs", {}))
    yield "results", _packed(answers.answer("results", {}))
    yield "bands", _packed(_all_bands(answers, runs))
    for run in runs:
        asked = {"run": run.name}
        found = [row_of(one) for one in search(run.record, Where(), most=-1)]
        first = run.rows.page(Where(), length=0)
        yield f"rows/{run.name}", _packed({"columns": first["columns"], "rows": found})
        yield f"curves/{run.name}", _packed(answers.answer("curves", asked))
        full = list(_steps(run, room / len(runs)))
        yield from ((f"step/{run.name}/{step}", text) for step, _, text in full)
        steps = tuple(step for step, _, _ in full)
        held[run.name] = Held(steps, len(run.record.steps()), sum(count for _, count, _ in full), len(found))
        about = answers.answer("run", asked)
        whole = len(steps) == held[run.name].all_steps
        yield f"run/{run.name}", _packed(about | {"held": None if whole else str(held[run.name])})


def _steps(run: ViewedRun, room: float) -> Iterator[tuple[int, int, str]]:
    """Steps in full, with how many attempts each has, as long as there is room."""
    used = 0
    for place, step in enumerate(spread_out(run.record.steps())):
        found = whole_step(run, step)
        text = _packed(found)
        used += len(text)
        if used > room and place >= SMALLEST:
            return
        yield step, len(found["attempts"]), text


def _all_bands(answers: Answers, runs: list[ViewedRun]) -> dict[str, Any]:
    by: dict[str, list[ViewedRun]] = {}
    for run in runs:
        if setting := setting_of(run):
            by.setdefault(setting, []).append(run)
    found = {}
    for setting, same in by.items():
        curves = [answers.curves(run) for run in same] if len(same) > 1 else []
        for metric in sorted({name for one in curves for name in one["metrics"]}):
            for axis in AXES:
                if (band := bands(curves, metric, axis)) is not None:
                    key = f"{setting} {metric} {axis}"
                    found[key] = {"runs": [run.name for run in same], "band": finite(band)}
    return found


def _packed(value: Any) -> str:
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):  # something that JSON lacks; to look for it in all that is written takes long
        text = json.dumps(finite(value), allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _page(name: str, data: dict[str, str]) -> str:
    scripts = [
        ("text/javascript", library_file("plotly.min.js")),
        ("module", _tables()),
        ("module", bundled()),
    ]
    scripts = [(kind, _inline(text)) for kind, text in scripts]
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for _, text in scripts)
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = page_file("index.html")
    page = re.sub(r'<link rel="stylesheet"[^>]*>\n|<script type="module"[^>]*></script>\n', "", page)
    styles = f"<style>\n{library_file('dt_bundle.css')}\n{page_file('style.css')}\n</style>"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n{styles}\n</head>'
    title = f"<title>{html.escape(_printable(name))} - handaxe</title>"
    held = "\n".join(
        f'<script type="text/plain" id="data:{html.escape(_printable(key))}">{text}</script>'
        for key, text in data.items()
    )
    tail = "\n".join(f'<script type="{kind}">{text}</script>' for kind, text in scripts)
    # Each is put in as it is: a pattern's replacement would read the backslashes of the scripts.
    page = page.replace("<title>handaxe</title>", title).replace("</head>", head)
    return page.replace("</body>", f"{held}\n{tail}\n</body>")


def _inline(text: str) -> str:
    """A script as it can stand in a page, in the very characters that a browser sees, since its digest is of those."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\0").replace("</script", "<\\/script")


def _tables() -> str:
    """The library of tables as a script that keeps its default export where ours look for it."""
    source = library_file("dt_bundle.js")
    found = list(LIBRARY_EXPORT.finditer(source))
    name = re.search(r"([\w$]+) as default", found[-1][1]) if found else None
    if name is None:
        raise InputError("itables holds its tables in another form than handaxe knows: install itables>=2.5,<3")
    return f"{source[: found[-1].start()]}globalThis.HandaxeTables={name[1]};{source[found[-1].end() :]}"


def _printable(name: str) -> str:
    """A file's name, which may hold bytes that are no text."""
    text = dump_text(name)
    return name if isinstance(text, str) else text.decode(errors="replace")
