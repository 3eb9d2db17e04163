"""The page of a paper: `paper.toml` in the folder of the method, read into a validated record.

    title = "OTC: Optimal Tool Calls via Reinforcement Learning"
    arxiv = "2504.14870"
    base = "dapo --rounds 1"                  a method and its options, as on the command line
    world = "hops --lengths 2 3"              a world and its options, as on the command line
    settings = { model = "start" }            run settings that differ from their defaults

    [[claims]]                                of the method named as the folder
    text = "Fewer calls than GRPO at equal accuracy."
    metric = "calls"
    direction = "down"

    [[acts]]                                  figures that show the mechanism at work
    figure = "training/loss/clip_fraction"
    at_least = 0.001

    [[contributions]]                         of the abstract, with the files and the figure that shows it at work
    text = "Correct rollouts score lower for each call beyond the fewest of the question."
    files = ["handaxe/papers/otc/optimal_calls.py"]
    figure = "calls"

    [[methods]]                               a further method of the folder, in the file of its name
    name = "codedance_turns"
    base = "grpo_no_kl"

    [[studies]]                               figures of a command, without a run of a method
    name = "calm_judge"

The fields are those of `Paper`, `Contribution`, `MethodPage`, `StudyPage`, `Claim`, `ActFigure` and `Bound`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal

import pydantic

from handaxe.core.errors import InputError, MethodError
from handaxe.evaluation.acts import ActFigure
from handaxe.evaluation.claims import Claim

__all__ = ["Bound", "Contribution", "MethodPage", "PAGE", "Paper", "StudyPage", "read_method_page", "read_paper"]

PAGE = "paper.toml"
ROOT_METHOD = "grpo_no_kl"
STRICT = pydantic.ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Decision of a study: holds if least <= figure <= most.

    Args:
        text: one sentence.
        metric: name of the figure.
        least, most: bounds of the figure, inclusive.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    text: str
    metric: str
    least: float = -inf
    most: float = inf

    def holds(self, figures: Mapping[str, float]) -> bool:
        """Return True if the figure lies between the bounds. NaN never does."""
        return self.least <= figures[self.metric] <= self.most

    @property
    def condition(self) -> str:
        """The bounds in words, such as "angle at most 1"."""
        sides = [("at least", self.least), ("at most", self.most)]
        bounds = " and ".join(f"{word} {value:g}" for word, value in sides if value not in (-inf, inf))
        return f"{self.metric} {bounds or 'is computed'}"


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """A contribution of a paper's abstract.

    Args:
        text: one sentence.
        files: that realise it, relative to the root of the project; () for a missing one.
        figure: metric or bound of the folder that shows it at work, "" without one.
        waits: reason why it is not here, "" if it is.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    text: str
    files: tuple[str, ...] = ()
    figure: str = ""
    waits: str = ""


@dataclass(frozen=True, kw_only=True)
class MethodPage:
    """The page of a method.

    Args:
        name: of the function.
        short: name in tables, such as "OTC"; the method's name by default.
        base: base method and baseline of the claims, with options, in the grammar of the command line; "" only for the
            root of all methods.
        world: the default world, with options, in the same grammar.
        settings: run settings that differ from the defaults of `RunSettings`.
        claims: required outcomes of paired runs; the first is the main claim.
        acts: figures that show the mechanism at work, with least values. Below one, no claim is testable.
        judge: who answers for the judge in the runs of the claims: oracle, noise, twin or served, see docs/judges.md;
            "" for a method that asks none.
        differs: departures from the paper, a sentence each.
        unconfirmed: formulas that could not be checked against the paper, a sentence each.
        notes: further facts about the method or its settings.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    name: str = ""
    short: str = ""
    base: str = ROOT_METHOD
    world: str = "gym"
    settings: dict[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    acts: tuple[ActFigure, ...] = ()
    judge: Literal["", "oracle", "noise", "twin", "served"] = ""
    differs: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StudyPage:
    """The page of a study: a function of the study's name returns `seed -> figures by name`.

    Args:
        name: of the function.
        short: name in tables.
        bounds: decisions of the study.
        differs, unconfirmed: as in `MethodPage`.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    name: str
    short: str = ""
    bounds: tuple[Bound, ...] = ()
    differs: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Paper(MethodPage):
    """The page of a paper. The fields of `MethodPage` describe the method named as the folder.

    Args:
        title: of the paper, "" without a paper.
        arxiv: id such as "2504.14870", "" without one.
        number: in the project's list of papers; None for a base algorithm.
        about: summary of the paper in some four sentences.
        contributions: of the abstract, in its order; () without a list.
        missing: contributions of the abstract that are not here, a sentence each; () for a complete paper.
        methods: further methods of the folder.
        studies: of the folder. A folder with a study named as the folder has no method of that name.
        worlds: world -> module of the folder, for worlds that no method has as its default.
        pipelines: pipeline of `handaxe synthesize` -> module of the folder.
    """

    title: str = ""
    arxiv: str = ""
    number: int | None = None
    about: str = ""
    contributions: tuple[Contribution, ...] = ()
    missing: tuple[str, ...] = ()
    methods: tuple[MethodPage, ...] = ()
    studies: tuple[StudyPage, ...] = ()
    worlds: dict[str, str] = field(default_factory=dict)
    pipelines: dict[str, str] = field(default_factory=dict)

    @property
    def all_methods(self) -> tuple[MethodPage, ...]:
        """Every method of the folder; the method named as the folder is first."""
        own = () if any(study.name == self.name for study in self.studies) else (self,)
        return (*own, *self.methods)


def read_paper(folder: Path) -> Paper:
    """Read the page of a folder; an empty page if the folder has no paper.toml.

    Raises:
        MethodError: the file is not TOML, or a field is unknown or has a wrong value. The message names file and field.
            Or a claim without margin about a figure without a default margin.
    """
    file = folder / PAGE
    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
    except UnicodeDecodeError as error:
        raise MethodError(f"{file}: {error}") from error
    return _parse(file, text)


@cache
def _parse(file: Path, text: str) -> Paper:
    """Parse a page. A listing of all methods parses a hundred, and a command makes several listings."""
    try:
        body = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MethodError(f"{file}: {error}") from error
    name = file.parent.name
    if "name" in body:
        raise MethodError(f"{file}: name: the method is named as its folder, {name!r}; remove this line")
    try:
        found = _page_reader().validate_python(body)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the page"
        raise MethodError(f"{file}: {where}: {first['msg']} (found {first['input']!r:.60})") from error
    found = replace(found, name=name, short=found.short or name)
    for page in found.all_methods:
        for claim in page.claims:
            try:
                claim.margin_for([1.0])
            except InputError as error:
                raise MethodError(f"{file}: claim {claim.text!r} of {page.name}: {error}") from error
    return found


@cache
def _page_reader() -> pydantic.TypeAdapter[Paper]:
    """Reader of pages, whose construction takes longer than a page."""
    return pydantic.TypeAdapter(Paper)


def read_method_page(folder: Path, name: str) -> MethodPage:
    """The page of a method of a folder; an empty page if paper.toml lacks the method."""
    return next(
        (page for page in read_paper(folder).all_methods if page.name == name), MethodPage(name=name, short=name)
    )
