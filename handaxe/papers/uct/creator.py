"""Agent that solves tasks by tools of a library, and opens a ticket for a tool that is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handaxe.papers.uct.consolidate import consolidate
from handaxe.tools.build_tool import ToolUse, build_tool, find_use, list_schema
from handaxe.tools.library import Ticket, ToolCase, ToolLibrary
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts.rule_tasks import RuleTask

__all__ = ["Creator", "Solution", "split_cases"]


class Solution(NamedTuple):
    """Solution of a task. value: None without one. reused: by a tool of an earlier task. created: a tool was admitted.
    tried: programs that the maker evaluated."""

    value: Any
    reused: bool
    created: bool
    tried: int


@dataclass
class Creator:
    """Agent over a stream of tasks; training-free, and its state is the library.

    A task is solved by a tool of the library that fits the worked examples. Without one, the agent opens a ticket: the
    maker reads the first third of the examples, and the checker keeps the others. A tool that fails at the query is
    recorded as failed.

    Args:
        makers: of tools, by the generator of a task.
        library: receives tools.
        checks: the checker has hidden cases; else a draft or a tool needs to fit the maker's examples alone.
        keeps: the library lasts from task to task.
        period: tasks between two consolidations; 0 for none.

    Example:
        two tasks of one rule: the first creates a tool, the second uses it

    Paper: arXiv:2602.01983 (UCT), online task loop, build loop and offline consolidation.
    Differs: the agent follows rules; the maker enumerates programs. General tools are promoted by the order of look-up
    alone, that of uses.
    """

    makers: Mapping[str, ProgramMaker]
    library: ToolLibrary
    checks: bool = True
    keeps: bool = True
    period: int = 20
    solved: int = 0
    probes: list[Any] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Programs that the makers evaluated so far."""
        return sum(maker.tried for maker in self.makers.values())

    def solve(self, one: RuleTask) -> Solution:
        """Solve the next task of the stream."""
        before, found = self.tried, None
        shown, hidden = split_cases(one.examples)
        use = find_use(self.library, one.examples if self.checks else shown)
        reused = use is not None
        if use is None:
            use = self._create(one, shown, hidden if self.checks else ())
        if use is not None:
            result = self.library.call(use.name, one.query)
            found = None if result.error else result.value
            self.library.record(use.name, failed=bool(result.error))
        self.probes.append(one.query)
        self.solved += 1
        self._end_task()
        return Solution(found, reused, use is not None and not reused, self.tried - before)

    def _create(self, one: RuleTask, shown: Sequence[ToolCase], hidden: Sequence[ToolCase]) -> ToolUse | None:
        maker = self.makers[one.task.metadata["generator"]]
        ticket = Ticket(list_schema(f"tool_{self.solved}"), tuple(shown), (one.query,))
        return build_tool(maker, self.library, ticket, hidden).use

    def _end_task(self) -> None:
        if not self.keeps:
            self.library.drop(list(self.library.entries))
        elif self.period and self.solved % self.period == 0:
            consolidate(self.library, self.probes[-self.period :])


def split_cases(cases: Sequence[ToolCase]) -> tuple[Sequence[ToolCase], Sequence[ToolCase]]:
    """Cases of the maker, a third, and hidden cases of the checker.

    Example:
        three cases -> one and two; four cases -> two and two
    """
    shown = (len(cases) + 2) // 3
    return cases[:shown], cases[shown:]
