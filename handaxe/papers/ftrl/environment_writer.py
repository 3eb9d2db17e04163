"""Writers of scenarios, tool documents and code: the protocol, and rules."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from handaxe.papers.ftrl.local_tools import LocalTool, lookup_code, lookup_rows
from handaxe.papers.ftrl.sub_steps import Scenario, draw_scenario
from handaxe.worlds.hops.knowledge_base import KnowledgeBase

__all__ = ["EnvironmentWriter", "RuleWriter", "SeededId", "ToolCalls", "Written"]


class SeededId(NamedTuple):
    """Id of a draft, its kind of scenario, and a seed."""

    id: str
    kind: str
    seed: int


class ToolCalls(NamedTuple):
    """A tool without or with code, and arguments of calls, by index of the answered step."""

    tool: LocalTool
    calls: Mapping[int, Mapping[str, str]]


class Written(NamedTuple):
    """Written part, or the reason of a missing part; and JSON about questions to a model."""

    value: Any
    reason: str = ""
    asked: tuple[Mapping[str, Any], ...] = ()


class EnvironmentWriter(Protocol):
    """Writes the parts of environments; one result each, in order."""

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def scenarios(self, seeds: Sequence[SeededId]) -> list[Written]:
        """Value: a Scenario."""
        ...

    def documents(self, scenarios: Sequence[tuple[str, Scenario]]) -> list[Written]:
        """Value: a list of ToolCalls, a tool without code for each different intent."""
        ...

    def codes(self, tools: Sequence[tuple[str, Scenario, Sequence[ToolCalls]]], seed: int) -> list[Written]:
        """Value: the list of ToolCalls with code."""
        ...


class RuleWriter:
    """Writes by rule over invented facts: a lookup for each relation.

    Args:
        known: facts.
        people: whose facts are asked about.

    Example:
        see `draw_scenario`, `lookup_code`

    Paper: arXiv:2508.08791 (FTRL), its construction of environments.
    Differs: rules write all parts.
    """

    def __init__(self, known: KnowledgeBase, people: Sequence[str]):
        self._known, self._people = known, people

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"by": "rule", "people": len(self._people)}

    def scenarios(self, seeds: Sequence[SeededId]) -> list[Written]:
        return [Written(draw_scenario(self._known, self._people, random.Random(one.seed), one.kind)) for one in seeds]

    def documents(self, scenarios: Sequence[tuple[str, Scenario]]) -> list[Written]:
        return [Written(_lookups(one)) for _, one in scenarios]

    def codes(self, tools: Sequence[tuple[str, Scenario, Sequence[ToolCalls]]], seed: int) -> list[Written]:
        return [Written([self._coded(one, f"{seed} {id}") for one in made]) for id, _, made in tools]

    def _coded(self, one: ToolCalls, seed: str) -> ToolCalls:
        names = [given["name"] for given in one.calls.values()]
        rows = lookup_rows(self._known, one.tool.name, names, random.Random(f"{seed} {one.tool.name}"))
        return one._replace(tool=one.tool._replace(code=lookup_code(one.tool.name, rows)))


def _lookups(one: Scenario) -> list[ToolCalls]:
    """A lookup for each relation of a rule's scenario."""
    found = dict[str, dict[int, Mapping[str, str]]]()
    for k, step in enumerate(one.steps):
        name, relation = step.question.split()
        found.setdefault(relation, {})[k] = {"name": name}
    return [
        ToolCalls(LocalTool(key, f"Look up the {key} of a person.", {"name": "of the person"}, "", key), calls)
        for key, calls in found.items()
    ]
