"""`handaxe index DOCUMENTS --out INDEX`: make an index of documents, for the tool `search`."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import tyro

from handaxe.commands.output import console, note
from handaxe.core.errors import InputError
from handaxe.tools.index.build import build_index
from handaxe.tools.index.manifest import read_manifest
from handaxe.tools.index.reader import Way
from handaxe.training.loop.progress import Bar

__all__ = ["IndexOptions", "main"]

STOPPED = 130


@dataclass(frozen=True)
class IndexOptions:
    """Make an index of documents on disk, for the tool `search`. One that is there already is left alone.

    Args:
        documents: a folder with .txt, .md and .rst files, or a JSONL file with an object {"id", "title", "text"} on
            each line.
        out: folder of the index: a new or an empty one, or that of an index, which is replaced when the documents or
            these options have changed.
        way: how it will be searched: by words (bm25), by meaning (dense) or both (hybrid). The words are always
            indexed; the meaning takes about a second of one core for 10 passages.
        passage_chars: most characters of a passage, the unit that is found and shown.
        k1: of bm25: how slowly repetition saturates.
        b: of bm25: how much long passages are marked down.
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
    """Make the index; returns the exit code."""
    options = tyro.cli(IndexOptions, args=arguments, prog="handaxe index")
    try:
        with ExitStack() as shown:
            _build(options, shown)
    except OSError as error:
        raise InputError(f"the index cannot be made: {error}") from error
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; {options.out} is as it was\n")
        return STOPPED
    found, terminal = read_manifest(options.out), console()
    meaning = " and by meaning" if found.settings["model"] else ""
    note(terminal, "index", str(options.out))
    note(terminal, "holds", f"{found.documents} documents in {found.passages} passages, by words{meaning}")
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
