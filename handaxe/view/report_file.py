"""Writes the pages of runs with data as one HTML file for offline use."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.images import JPEG, PNG
from handaxe.ops.codec import dump_text
from handaxe.view.api import ViewApi, full_step, to_json
from handaxe.view.assets import MODULES, library_file, page_file
from handaxe.view.curves import AXES, bands, settings_digest
from handaxe.view.record_search import Where, search
from handaxe.view.rows import table_row
from handaxe.view.runs import ViewedRun
from handaxe.view.trajectory import Decode

__all__ = ["ReportContents", "bisection_order", "bundle", "write_report"]

IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./(\w+\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)
LIBRARY_EXPORT = re.compile(r"export\s*\{([^{}]*)\}\s*;?")
MIN_STEPS = 2
LISTED = 20
"""Limit of listed steps."""


class ReportContents(NamedTuple):
    """Steps (from 0) and rollouts of a run that a report has in full; the description counts steps from 1."""

    steps: tuple[int, ...]
    all_steps: int
    rollouts: int
    all_rollouts: int

    def __str__(self) -> str:
        """Description for users."""
        if len(self.steps) == self.all_steps:
            return "every rollout in full"
        listed = [str(step + 1) for step in sorted(self.steps)]
        if len(listed) > LISTED:
            listed = [*listed[:3], "...", *listed[-3:]]
        share = f"{len(self.steps)} of {self.all_steps} steps, {self.rollouts:,} rollouts"
        return f"steps {', '.join(listed)} in full: {share}"


def write_report(
    folder: Path,
    file: Path,
    decoder: Callable[[Path], Decode],
    *,
    megabytes: float = 20.0,
    image_megabytes: float = 8.0,
) -> dict[str, ReportContents]:
    """Write the report of a run, or of a folder of runs.

    A report has all metrics and the table of all rollouts of every run. Rollouts are stored in full by step: the last
    step, the first step, and further steps spread evenly up to the size limit, at least two steps per run.

    Args:
        folder: argument of `handaxe view`.
        file: created or replaced.
        decoder: folder of a run -> decoder of token ids.
        megabytes: size limit of rollouts in full, compressed, over all runs; the rest of the file is extra.
        image_megabytes: size limit of the images of these rollouts, over all runs, smallest first; other images are
            grey boxes.

    Returns:
        Name of a run -> contents of the report.

    Raises:
        InputError: there is no run, a package is missing, or the file cannot be written.
    """
    answers = ViewApi(folder, decoder)
    try:
        runs = answers.runs.all()
        if not runs:
            raise InputError(f"there is no run in {folder}")
        held: dict[str, ReportContents] = {}
        data = dict(_data(answers, runs, megabytes * 1e6, image_megabytes * 1e6, held))
    finally:
        answers.close()
    text = _page(Path(folder).resolve().name, data)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error}") from error
    return held


def bisection_order(steps: list[int]) -> Iterator[int]:
    """Order steps by priority: last, first, then repeated halving of the gaps.

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


def bundle(*, stored: bool = True) -> str:
    """Bundle the modules of handaxe into one script, each as a function that returns the exports."""
    parts = ["const modules = {};"]
    for name in MODULES:
        source = page_file(name, stored=stored)
        exported = EXPORT.findall(source)
        source = IMPORT.sub(r'const \1 = modules["\2"];', EXPORT.sub("", source))
        parts.append(f'modules["{name}"] = (() => {{\n{source}\nreturn {{ {", ".join(exported)} }};\n}})();')
    return "\n".join(parts)


def _data(
    answers: ViewApi, runs: list[ViewedRun], limit: float, image_limit: float, held: dict[str, ReportContents]
) -> Iterator[tuple[str, str]]:
    """Answers to the queries of the pages, by query."""
    yield "runs", _packed(answers.answer("runs", {}))
    yield "results", _packed(answers.answer("results", {}))
    yield "bands", _packed(_all_bands(answers, runs))
    for run in runs:
        query = {"run": run.name}
        found = [table_row(one) for one in search(run.record, Where(), most=-1)]
        first = run.rows.page(Where(), length=0)
        yield f"rows/{run.name}", _packed({"columns": first["columns"], "rows": found})
        yield f"curves/{run.name}", _packed(answers.answer("curves", query))
        digests = set[str]()
        full = list(_steps(run, limit / len(runs), digests))
        yield from _images(run, digests, image_limit / len(runs))
        yield from ((f"step/{run.name}/{step}", text) for step, _, text in full)
        steps = tuple(step for step, _, _ in full)
        held[run.name] = ReportContents(steps, len(run.record.steps()), sum(count for _, count, _ in full), len(found))
        about = answers.answer("run", query)
        whole = len(steps) == held[run.name].all_steps
        yield f"run/{run.name}", _packed(about | {"held": None if whole else str(held[run.name])})


def _images(run: ViewedRun, digests: Iterable[str], limit: float) -> Iterator[tuple[str, str]]:
    """Images as data: URLs, smallest first, up to the size limit."""
    wanted, used = set(digests), 0
    sizes = run.record.query("SELECT digest FROM images ORDER BY length(data), digest") if wanted else []
    for (digest,) in sizes:
        stored = run.record.image(digest) if digest in wanted else None
        if stored is None:
            continue
        media_type, data = stored
        text = f"data:{media_type};base64,{b64encode(data).decode()}"
        used += len(text)
        if used > limit:
            return
        if media_type in (PNG, JPEG):
            yield f"image/{run.name}/{digest}", text


def _steps(run: ViewedRun, limit: float, digests: set[str]) -> Iterator[tuple[int, int, str]]:
    """(step, number of rollouts, packed data) of the steps in full, up to the size limit. Collects the digests of
    images.
    """
    used = 0
    for place, step in enumerate(bisection_order(run.record.steps())):
        found = full_step(run, step)
        text = _packed(found)
        used += len(text)
        if used > limit and place >= MIN_STEPS:
            return
        digests.update(digest for one in found["rollouts"].values() for digest in one["images"])
        yield step, len(found["rollouts"]), text


def _all_bands(answers: ViewApi, runs: list[ViewedRun]) -> dict[str, Any]:
    by: dict[str, list[ViewedRun]] = {}
    for run in runs:
        if setting := settings_digest(run):
            by.setdefault(setting, []).append(run)
    found = {}
    for setting, same in by.items():
        curves = [answers.curves(run) for run in same] if len(same) > 1 else []
        for metric in sorted({name for one in curves for name in one["metrics"]}):
            for axis in AXES:
                if (band := bands(curves, metric, axis)) is not None:
                    key = f"{setting} {metric} {axis}"
                    found[key] = {"runs": [run.name for run in same], "band": to_json(band)}
    return found


def _packed(value: Any) -> str:
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):  # a value unknown to JSON; converting every value is slow
        text = json.dumps(to_json(value), allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _page(name: str, data: dict[str, str]) -> str:
    scripts = [
        ("text/javascript", library_file("plotly.min.js")),
        ("module", _tables()),
        ("module", bundle()),
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
    # str.replace and not re.sub, which would interpret backslashes of the scripts.
    page = page.replace("<title>handaxe</title>", title).replace("</head>", head)
    return page.replace("</body>", f"{held}\n{tail}\n</body>")


def _inline(text: str) -> str:
    """Escape a script for a page; the result has exactly the characters that a browser reads and digests."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\0").replace("</script", "<\\/script")


def _tables() -> str:
    """The table library as a script that assigns its default export to a global name."""
    source = library_file("dt_bundle.js")
    found = list(LIBRARY_EXPORT.finditer(source))
    name = re.search(r"([\w$]+) as default", found[-1][1]) if found else None
    if name is None:
        raise InputError("this version of itables is not supported: install itables>=2.5,<3")
    return f"{source[: found[-1].start()]}globalThis.HandaxeTables={name[1]};{source[found[-1].end() :]}"


def _printable(name: str) -> str:
    """Printable name of a file, also with bytes that are no text."""
    text = dump_text(name)
    return name if isinstance(text, str) else text.decode(errors="replace")
