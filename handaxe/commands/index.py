"""`handaxe index DOCUMENTS --out INDEX`: build an index of documents for the tool `search`."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.output import console, note
from handaxe.core.errors import InputError
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.manifest import read_manifest
from handaxe.tools.index.search_index import Way
from handaxe.training.loop.progress import Bar

__all__ = ["IndexOptions", "main"]

STOPPED = 130


@dataclass(frozen=True)
class IndexOptions:
    """Build an index of documents on disk for the tool `search`. An up-to-date index is kept.

    Args:
        documents: folder with .txt, .md and .rst files, or a JSONL file with an object {"id", "title", "text"} per
            line.
        out: folder of the index: new, empty, or an index, which is replaced if documents or options have changed.
        way: search by words (bm25), by embeddings (dense) or by both (hybrid). Words are always indexed; embeddings
            take about one second of a core for 10 passages.
        passage_chars: limit of characters of a passage, the unit of search results.
        k1: of bm25: slowness of saturation with repeated words.
        b: of bm25: length normalization of passages.
        quiet: show no progress.
    """

    documents: tyro.conf.Positional[Path]
    out: Path
    way: Way = "bm25"
    passage_chars: int = 800
    k1: float = 1.5
    b: float = 0.75
    quiet: bool = False


def main(arguments: list[str]) -> int:
    """Build the index; returns the exit code."""
    options = tyro.cli(IndexOptions, args=arguments, prog="handaxe index")
    try:
        with ExitStack() as shown:
            _build(options, shown)
    except OSError as error:
        raise InputError(f"the index cannot be built: {error}") from error
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; {options.out} is unchanged\n")
        return STOPPED
    found, terminal = read_manifest(options.out), console()
    embeddings = " and embeddings" if found.settings["model"] else ""
    note(terminal, "index", str(options.out))
    note(terminal, "content", f"{found.documents} documents in {found.passages} passages, by words{embeddings}")
    note(terminal, "use", f"handaxe.tools.search.search({str(options.out)!r}, way={options.way!r})")
    return 0


def _build(options: IndexOptions, shown: ExitStack) -> None:
    bars: list[Bar] = []

    def show(done: int, total: int) -> None:
        if done:
            bars[0].step()
        else:
            bars.append(shown.enter_context(Bar(total, enabled=not options.quiet, title="64 passages")))

    build_index(
        options.documents,
        options.out,
        dense=options.way != "bm25",
        passage_chars=options.passage_chars,
        k1=options.k1,
        b=options.b,
        progress=show,
    )
