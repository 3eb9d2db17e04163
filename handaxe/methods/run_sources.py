"""Sources of a run outside its folder: files that its world read, and modules of the user. Kept in recipe.json.

    "sources": {"folder":  working folder at the start of the run,
                "files":   world option -> path, bytes, sha256 and copy in the run's folder ("" above the size limit),
                           and count, bytes and sha256 of the images that the file names
                "modules": module -> file, folder for sys.path, and sha256}

    RUN/inputs/DIGEST/NAME      copy of a file; images that the file names lie beside it, as beside the original

A module is found by its kept path, from any working folder; its code is never read from the folder of a run.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.imported_files import imported_files
from handaxe.core.user_code import is_user_file
from handaxe.models.saved_policy import file_manifest

__all__ = ["LARGEST_COPY", "find_files", "find_modules", "present_path", "record_sources", "source_digests"]

LARGEST_COPY = 100_000_000
"""Size limit of a copied file, folder or pattern in bytes."""
LONGEST_PATH = 1000
"""Size limit of a text of the arguments that may be a path, in characters."""
CHANGED_BY_READERS = ("record.sqlite", "writer.lock")
"""Beginnings of names of files in the folder of a run."""
NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*")
"""MODULE:ATTRIBUTE."""
WORD = re.compile(r"[^\s\"'=]+")
"""A word of the options of a part, as in methods.named_mixture."""


class _Contents(NamedTuple):
    """Size and digest of a file, or of all files in a folder or of a pattern."""

    bytes: int
    sha256: str


def record_sources(
    arguments: Mapping[str, Any],
    files: Mapping[str, Path],
    out: Path,
    *,
    images: Mapping[str, Sequence[str]] | None = None,
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Copy the files of a world into the folder of a run, and describe all sources.

    Args:
        arguments: name of the method under "method", and the arguments of the run.
        files: `World.files`; a pattern of files is copied to a folder, which replaces the pattern.
        out: folder of the run.
        images: `World.images`. Above the size limit neither the file nor its images are copied, and a sentence on
            stderr says so.
        earlier: sources of the run before a resume; its files and folder stay.

    Raises:
        InputError: the folder cannot be written.
    """
    before = {} if earlier is None else earlier
    kept = dict(before.get("files", {}))
    beside = {} if images is None else images
    kept |= {
        option: _record_file(path, out, beside.get(option, ())) for option, path in files.items() if option not in kept
    }
    modules = {name: found for name in _module_names(arguments) if (found := _record_module(name)) is not None}
    return {"folder": before.get("folder", os.getcwd()), "files": kept, "modules": modules}


def find_files(sources: Mapping[str, Any], run: Path) -> dict[str, str]:
    """Return the present path of each file that the world of a run read: the copy in the run, else the original.

    Raises:
        InputError: a file is missing, or its content has changed.
    """
    return {option: str(_find_file(one, run)) for option, one in sources.get("files", {}).items()}


def find_modules(sources: Mapping[str, Any], arguments: Mapping[str, Any], run: Path) -> None:
    """Make the modules of a run importable by their kept path. A changed module is reported on stderr.

    Args:
        sources: of the run.
        arguments: as for `record_sources`; other modules of the run are not needed.
        run: folder of the run, for messages.

    Raises:
        InputError: a module is missing, lies in the folder of the run, or is imported from another file.
    """
    kept = sources.get("modules", {})
    for name in _module_names(arguments):
        if name in kept:
            _find_module(name, kept[name], run)


def source_digests(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the path of each source that arguments name -> its digest.

    Sources are modules of the user, with the modules that they import from the same folder; files, patterns of files,
    and folders, of which sizes and times of change count. Modules must be imported.
    """
    found = dict[str, str]()
    for name in _module_names(arguments):
        if (kept := _record_module(name)) is not None:
            files = imported_files(Path(kept["file"]), Path(kept["folder"]))
            found |= {str(file): _contents(file).sha256 for file in files}
    for text in {text for text in _texts(arguments) if 0 < len(text) < LONGEST_PATH}:
        path = Path(text)
        if path.is_dir():
            found[text] = _digest({name: (0, stamp) for name, stamp in _stamps(path).items()}).sha256
        elif path.is_file() or (_is_pattern(path) and _matched(path)):
            found[text] = _contents(path).sha256
    return found


def present_path(path: str, sources: Mapping[str, Any]) -> str:
    """Return a relative path of a run's arguments for the present working folder; the path itself if nothing is there.

    Example:
        present_path("begun", {"folder": "/home/me/shop"}) -> "/home/me/shop/begun", from another folder
    """
    start = sources.get("folder")
    if not start or not path or Path(path).is_absolute() or start == os.getcwd():
        return path
    found = Path(start) / path
    return str(found) if found.exists() else path


def _module_names(value: Any) -> Iterator[str]:
    """Modules of every MODULE:ATTRIBUTE in nested arguments, also as a word of a text, each once."""
    seen = set[str]()
    for text in _texts(value):
        for word in WORD.findall(text):
            match = NAME.fullmatch(word)
            if match and match[1] not in seen:
                seen.add(match[1])
                yield match[1]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _record_module(name: str) -> dict[str, str] | None:
    """Description of an imported module of the user; None for other modules."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not is_user_file(file):
        return None
    path = Path(str(file)).resolve()
    parts = name.count(".") + (path.name == "__init__.py")
    return {"file": str(path), "folder": str(path.parents[parts]), "sha256": _contents(path).sha256}


def _find_module(name: str, kept: Mapping[str, str], run: Path) -> None:
    file = Path(kept["file"])
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if file.resolve().is_relative_to(run.resolve()):
        raise InputError(f"module {name!r} lies in the folder of the run, {run}: move {file.name} out of it")
    if loaded is not None and file.is_file() and not os.path.samefile(loaded, file):
        raise InputError(
            f"the run in {run} needs module {name!r} of {file}, and this process has imported {loaded} under this "
            "name: start another process, or rename one of them"
        )
    if loaded is None and file.is_file():
        for folder in (os.getcwd(), kept["folder"]):  # the kept folder comes first
            if folder in sys.path and folder == kept["folder"]:
                sys.path.remove(folder)
            if folder not in sys.path:
                sys.path.insert(0, folder)
    if not file.is_file():
        here = Path.cwd().joinpath(*name.split(".")).with_suffix(".py")
        if loaded is None and not here.is_file():
            raise InputError(
                f"the run in {run} needs module {name!r}, and {file} is gone: put the file back, start in a folder "
                f"with {file.name}, or name other tools with --tools (tools= in Python)"
            )
        file = here if loaded is None else Path(loaded)
    if _contents(file).sha256 != kept["sha256"]:
        print(
            f"warning: {file} has changed since the run in {run}: its tools may differ from training", file=sys.stderr
        )


def _stamps(folder: Path) -> dict[str, str]:
    """Size and time of change of each file in a folder, without files that a reader of a run changes."""
    read = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(CHANGED_BY_READERS)]
    files = {path.relative_to(folder).as_posix(): path.stat() for path in read}
    return {name: f"{one.st_size} {one.st_mtime_ns}" for name, one in files.items()}


def _record_file(path: Path, out: Path, images: Sequence[str]) -> dict[str, Any]:
    path = path.resolve()
    found = _contents(path)
    if images:
        return {"path": str(path), **found._asdict(), **_record_images(path, found, out, images)}
    copy = ""
    if found.bytes <= LARGEST_COPY:
        copy = f"inputs/{found.sha256[:16]}/{'shards' if _is_pattern(path) else path.name}"
        _copy(path, out / copy)
    return {"path": str(path), **found._asdict(), "copy": copy}


def _record_images(path: Path, file: _Contents, out: Path, images: Sequence[str]) -> dict[str, Any]:
    """Copy a file and the images that it names into one folder, or neither."""
    found = _digest({name: (one.bytes, one.sha256) for name in images for one in [_contents(path.parent / name)]})
    about = {"count": len(images), **found._asdict()}
    if file.bytes + found.bytes > LARGEST_COPY:
        print(
            f"note: {path.name} and its {len(images):,} images are not copied into the run: "
            f"{(file.bytes + found.bytes) / 1e6:,.0f} MB are above the limit of {LARGEST_COPY / 1e6:,.0f} MB. resume, "
            f"eval and chat read them in {path.parent}",
            file=sys.stderr,
        )
        return {"copy": "", "images": about}
    folder = f"inputs/{hashlib.sha256((file.sha256 + found.sha256).encode()).hexdigest()[:16]}"
    _copy(path, out / folder / path.name, images)
    return {"copy": f"{folder}/{path.name}", "images": about}


def _copy(source: Path, target: Path, images: Sequence[str] = ()) -> None:
    """Copy a file or folder atomically; an existing copy stays, since its folder is named by the digest."""
    if target.exists():
        return
    try:
        target.parent.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent.parent, prefix="writing-") as work:
            made = Path(work) / "copy" / target.name
            made.parent.mkdir()
            _copy_contents(source, made)
            for name in images:
                (made.parent / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source.parent / name, made.parent / name)
            shutil.rmtree(target.parent, ignore_errors=True)
            made.parent.rename(target.parent)
    except OSError as error:
        raise InputError(f"{source} cannot be copied to {target}: {error}. Name another --out folder") from error


def _copy_contents(source: Path, made: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, made)
    elif _is_pattern(source):
        for name, file in _matched(source).items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, made / name)
    else:
        shutil.copyfile(source, made)


def _is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path)) and not path.exists()


def _matched(pattern: Path) -> dict[str, Path]:
    """Files of a pattern, by their path relative to their common folder."""
    files = [file for name in glob.glob(str(pattern), recursive=True) if (file := Path(name)).is_file()]
    root = os.path.commonpath([file.parent for file in files]) if files else ""
    return {file.relative_to(root).as_posix(): file for file in files}


def _find_file(kept: Mapping[str, Any], run: Path) -> Path:
    original, copy = Path(kept["path"]), run / kept["copy"]
    if kept["copy"] and not copy.resolve().is_relative_to(run.resolve()):
        raise InputError(f"recipe.json of {run} is damaged: {kept['copy']} is outside the folder")
    for path in [copy, original] if kept["copy"] else [original]:
        if path.exists() or (_is_pattern(path) and _matched(path)):
            if _contents(path).sha256 == kept["sha256"] and (path != copy or _same_images(copy, kept)):
                return path
            what = f"{path}{' or one of its images' if 'images' in kept else ''}"
            raise InputError(
                f"{what} differs from the file of the run in {run}, sha256 {kept['sha256'][:12]}...: put "
                "it back as it was"
            )
    total = kept["bytes"] + kept.get("images", {}).get("bytes", 0)
    size = "" if kept["copy"] else f" ({total / 1e6:,.0f} MB, above the limit of {LARGEST_COPY / 1e6:,.0f} MB)"
    lost = f"its copy {copy} and {original} are gone" if kept["copy"] else f"{original} is gone, and has no copy{size}"
    raise InputError(f"the run in {run} read {original.name}: {lost}; put the file back")


def _manifest(pattern: Path) -> dict[str, tuple[int, str]]:
    """Size and sha256 of each file of a pattern, as `file_manifest` of a folder."""
    contents = {name: _contents(file) for name, file in _matched(pattern).items()}
    return {name: (one.bytes, one.sha256) for name, one in contents.items()}


def _same_images(copy: Path, kept: Mapping[str, Any]) -> bool:
    """Whether the images beside a copy are those of the start of the run."""
    if "images" not in kept:
        return True
    found = {name: one for name, one in file_manifest(copy.parent).items() if name != copy.name}
    return _digest(found).sha256 == kept["images"]["sha256"]


def _digest(files: Mapping[str, tuple[int, str]]) -> _Contents:
    """Size and digest of files, from the size and the digest of each."""
    text = "\n".join(f"{name}\0{digest}" for name, (_, digest) in sorted(files.items()))
    return _Contents(sum(size for size, _ in files.values()), hashlib.sha256(text.encode()).hexdigest())


def _contents(path: Path) -> _Contents:
    if path.is_dir() or _is_pattern(path):
        return _digest(file_manifest(path) if path.is_dir() else _manifest(path))
    with path.open("rb") as stream:
        return _Contents(path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest())
