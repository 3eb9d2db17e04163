"""Files of the pages: modules of handaxe, and scripts of two installed packages. Nothing is downloaded."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from handaxe.core.errors import InputError

__all__ = ["MODULES", "PAGES", "library_file", "page_file"]

PAGES = Path(__file__).parent / "pages"
MODULES = (
    "text.js", "source.js", "links.js", "table.js", "chart.js", "images.js", "tokens.js", "page_runs.js",
    "page_step.js", "page_run.js", "page_rollout.js", "page_results.js", "main.js",
)  # fmt: skip
"""Modules of handaxe in import order."""
LIBRARIES = {
    "plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "dt_bundle.js": ("itables", "html/dt_bundle.js"),
    "dt_bundle.css": ("itables", "html/dt_bundle.css"),
}


def page_file(name: str, *, stored: bool = False) -> str:
    """Read a file of handaxe. `source.js` is the data source of pages: a server, or, with `stored`, the report file."""
    if name == "source.js":
        name = "stored.js" if stored else "served.js"
    return (PAGES / name).read_text(encoding="utf-8")


def library_file(name: str) -> str:
    """Read a file of a library.

    Raises:
        InputError: the package is not installed, or lacks the file.
    """
    package, inside = LIBRARIES[name]
    spec = importlib.util.find_spec(package)  # without an import
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    for folder in folders:
        file = Path(folder) / inside
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise InputError(f"the pages need {inside} of the package {package}: install it with pip install 'handaxe[view]'")
