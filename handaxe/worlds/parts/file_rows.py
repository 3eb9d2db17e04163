"""Rows of a user's file: JSON lines, CSV, or a saved Hugging Face data set (`datasets`)."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError, TaskError
from handaxe.models.chat_formats.tool_call_parsing import read_json

__all__ = ["FileRow", "present_cells", "raise_faults", "read_rows"]

COLUMNS = ("tools", "calls", "messages")
"""Columns of a CSV file with JSON in non-empty cells."""
LISTED = 20
"""Number of bad rows that an error lists."""


class FileRow(NamedTuple):
    """An object of a file, and its place in the file, such as "my.jsonl, line 3".

    `fault` is a sentence with the place for a row that cannot be read, "" for other rows.
    """

    place: str
    cells: Mapping[str, Any]
    fault: str = ""


def read_rows(file: str | Path) -> list[FileRow]:
    """Read every row of a file. A row that cannot be read has a fault and no cells.

    Args:
        file: ends in .jsonl, .ndjson or .json (an object per line), .csv or .tsv (names in the first line), .arrow or
            .parquet, or is a folder of `datasets.save_to_disk` (all splits are read). The last three need the extra
            [data].

    Raises:
        TaskError: a missing file, another ending, a file that cannot be read, or no row.
        InputError: the extra is missing.
    """
    path = Path(file)
    if not path.exists():
        raise TaskError(f"there is no file {str(file)!r} to read questions from; give the path of one")
    readers = {".jsonl": _json_lines, ".ndjson": _json_lines, ".json": _json_lines, ".csv": _csv, ".tsv": _csv}
    readers |= {".arrow": _saved, ".parquet": _saved}
    reader = _saved if path.is_dir() else readers.get(path.suffix.lower())
    if reader is None:
        raise TaskError(f"{path} ends in {path.suffix!r}; questions are read from {', '.join(readers)}, or a folder")
    try:
        rows = list(reader(path))
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    if not rows:
        raise TaskError(f"{path} is empty: give one question or more, better hundreds")
    return rows


def raise_faults(source: str, faults: Sequence[str]) -> None:
    """Raise TaskError if there are faults: the sentence of a single fault, or a count and the first 20 sentences.

    Args:
        source: name of the file, for the message.
        faults: a sentence with a place for each bad row.
    """
    if len(faults) == 1:
        raise TaskError(faults[0])
    if faults:
        more = [f"and {len(faults) - LISTED:,} more"] if len(faults) > LISTED else []
        lines = "\n  ".join([*faults[:LISTED], *more])
        raise TaskError(f"{source} has {len(faults):,} bad rows:\n  {lines}")


def _json_lines(path: Path) -> Iterator[FileRow]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{path.name}, line {number}"
            try:
                cells = read_json(line)
            except ValueError as error:
                yield FileRow(place, {}, f"{place} is not JSON: {error}; write one object a line")
                continue
            if isinstance(cells, dict):
                yield FileRow(place, cells)
            else:
                yield FileRow(place, {}, f"{place} holds a {type(cells).__name__}; write one object a line")


def _csv(path: Path) -> Iterator[FileRow]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
        try:
            _check_delimiter(path, reader.fieldnames or ())
            for cells in reader:
                yield _csv_row(f"{path.name}, line {reader.line_num}", cells)
        except csv.Error as error:
            place = f"{path.name}, line {reader.line_num}"
            yield FileRow(place, {}, f"{place} cannot be read: {error}; later lines were not read")


def _check_delimiter(path: Path, names: Sequence[str]) -> None:
    """Raise TaskError for a name in the first line that holds another delimiter."""
    found = [one for one in ";\t|" if any(one in name for name in names)]
    if found:
        wanted = "a tab" if path.suffix.lower() == ".tsv" else "a comma"
        raise TaskError(f"{path.name} separates cells with {found[0]!r}: write {wanted} between cells")


def _csv_row(place: str, cells: dict[Any, Any]) -> FileRow:
    if None in cells or None in cells.values():
        return FileRow(
            place, {}, f"{place} has more or fewer cells than the first line has names; quote cells with commas"
        )
    try:
        made = {key: read_json(cell) if key in COLUMNS and cell else cell for key, cell in cells.items()}
    except ValueError as error:
        return FileRow(place, {}, f"{place}: the cells of {', '.join(COLUMNS)} hold JSON or nothing: {error}")
    return FileRow(place, {key: cell for key, cell in made.items() if key not in COLUMNS or cell != ""})


def _saved(path: Path) -> Iterator[FileRow]:
    """Rows of a file or folder of `datasets` or pyarrow, read by pyarrow without network access."""
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise InputError(f'{path} is read with pyarrow: pip install "handaxe[data]"') from error
    for file in _files(path):
        try:
            if file.suffix.lower() == ".parquet":
                table = pyarrow.parquet.read_table(file)
            else:
                with pyarrow.memory_map(str(file)) as raw:
                    table = _opened(pyarrow, raw).read_all()
            cells = table.to_pylist()
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise TaskError(f"{file} cannot be read: {error}") from error
        name = path.name if file == path else f"{path.name}/{file.relative_to(path)}"
        yield from (FileRow(f"{name}, row {number}", present_cells(one)) for number, one in enumerate(cells))


def _files(path: Path) -> list[Path]:
    """The file, or the files of a folder of `datasets`, in the order of its state.json."""
    if path.is_file():
        return [path]
    states = sorted(path.rglob("state.json"))
    try:
        listed = [(state, json.loads(state.read_text())["_data_files"]) for state in states]
        found = [state.parent / one["filename"] for state, files in listed for one in files]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{path} is no folder of datasets that can be read: {error!r}") from error
    if not states:
        raise TaskError(f"{path} holds no state.json: give a folder that save_to_disk of `datasets` wrote")
    return found


def _opened(pyarrow: Any, raw: Any) -> Any:
    """Reader of an arrow file in stream format (the format of `datasets`) or file format."""
    try:
        return pyarrow.ipc.open_stream(raw)
    except pyarrow.ArrowInvalid:
        raw.seek(0)
        return pyarrow.ipc.open_file(raw)


def present_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells without None, which a table uses for columns of other rows."""
    return {key: cell for key, cell in cells.items() if cell is not None}
