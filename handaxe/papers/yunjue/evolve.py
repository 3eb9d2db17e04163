"""Evolution of a tool library over batches of tasks: private libraries, then absorption into the public one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handaxe.papers.yunjue.merge_programs import merge_programs
from handaxe.tools.build_tool import ToolUse, build_tool, find_use, list_schema
from handaxe.tools.draft_runner import run_draft
from handaxe.tools.library import Ticket, ToolCase, ToolDraft, ToolLibrary
from handaxe.tools.program_search import Program, ProgramMaker
from handaxe.worlds.parts.rule_tasks import RuleTask

__all__ = ["Absorb", "BatchResult", "Evolution", "MadeTool", "keep_all", "keep_none", "keep_one", "merge_universal"]


class MadeTool(NamedTuple):
    """Tool with the program behind it, and the worked examples that its gate had: tests and hidden cases."""

    draft: ToolDraft
    hidden: tuple[ToolCase, ...]
    program: Program


class BatchResult(NamedTuple):
    """Results of a task: value, None without one; reused: by a public tool; created: a private tool was admitted."""

    value: Any
    reused: bool
    created: bool


Absorb = Callable[["Evolution", Sequence[MadeTool]], int]
"""Takes the tools of a batch into the public library; returns how many tools are new there."""


@dataclass
class Evolution:
    """Public library that evolves over batches.

    The tasks of a batch see the public library as it was before the batch, and put new tools into private libraries.
    After the batch, `absorb` merges the private tools into the public library, through its gate.

    Args:
        makers: of tools, by the generator of a task.
        absorb: `merge_universal`, `keep_one` or `keep_all`.
        values: that the further parameters of a universal tool are tried with.

    Paper: arXiv:2601.18226 (Yunjue Agent), parallel batch evolution: tool developer and worker a task, absorption.
    Differs: a rule decides which tool is needed; tasks of a batch run one after another, and cannot see each other.
    """

    makers: Mapping[str, ProgramMaker]
    absorb: Absorb
    values: Sequence[int] = (1, 2, 3, 4, 5)
    public: ToolLibrary = field(default_factory=ToolLibrary)
    made: dict[str, MadeTool] = field(default_factory=dict)
    """Tools of the public library, by name."""
    counted: int = 0

    def play(self, batch: Sequence[RuleTask]) -> tuple[list[BatchResult], int]:
        """Solve a batch, and absorb its tools; returns the results, and the number of new public tools."""
        results, found = list[BatchResult](), list[MadeTool]()
        uses = list[str]()
        for one in batch:
            private = ToolLibrary()
            use = find_use(self.public, one.examples, values=self.values)
            reused = use is not None
            if use is None:
                use, made = self._develop(one, private)
                found += [made] if made is not None else []
            else:
                uses.append(use.name)
            library = self.public if reused else private
            results.append(BatchResult(_work(library, use, one), reused, use is not None and not reused))
        for name in uses:
            self.public.record(name, failed=False)
        return results, self.absorb(self, found)

    def admit(self, tool: MadeTool) -> bool:
        """Admit a tool into the public library, with its tests and hidden cases."""
        if self.public.admit(tool.draft, tool.hidden).verdict != "verified":
            return False
        self.made[tool.draft.schema.name] = tool
        return True

    def drop(self, name: str) -> None:
        """Remove a public tool."""
        self.public.drop([name])
        self.made.pop(name)

    def _develop(self, one: RuleTask, private: ToolLibrary) -> tuple[ToolUse | None, MadeTool | None]:
        shown = (len(one.examples) + 2) // 3
        cases, hidden = one.examples[:shown], one.examples[shown:]
        self.counted += 1
        ticket = Ticket(list_schema(f"tool_{self.counted}"), cases, (one.query,))
        maker = self.makers[one.task.metadata["generator"]]
        use = build_tool(maker, private, ticket, hidden).use
        if use is None:
            return None, None
        draft = private.entries[use.name].draft
        return use, MadeTool(draft, tuple(hidden), maker.programs[draft.source])


def keep_all(evolution: Evolution, tools: Sequence[MadeTool]) -> int:
    """Publish every tool of a batch."""
    return sum(evolution.admit(tool) for tool in tools)


def keep_none(evolution: Evolution, tools: Sequence[MadeTool]) -> int:
    """Publish no tool."""
    del evolution, tools
    return 0


def keep_one(evolution: Evolution, tools: Sequence[MadeTool]) -> int:
    """Publish one tool of each cluster of equal behaviour: tools with equal values for the arguments of all tests.

    Paper: arXiv:2601.18226 (Yunjue Agent), the naive policy of absorption.
    """
    new = 0
    for tool in tools:
        known = [one for one in evolution.made.values() if _behaves_alike(one, tool)]
        new += not known and evolution.admit(tool)
    return new


def merge_universal(evolution: Evolution, tools: Sequence[MadeTool]) -> int:
    """Publish one tool of each cluster of equal behaviour, and merge tools that differ in constants.

    A universal tool replaces the public tool that it covers, if its tests and hidden cases, those of both tools, pass.

    Returns:
        Change of the number of public tools, at least 0: a merge into a public tool adds none.

    Paper: arXiv:2601.18226 (Yunjue Agent), clusters of equal function, each merged into one universal tool.
    """
    before = len(evolution.made)
    for tool in tools:
        if any(_behaves_alike(one, tool) for one in evolution.made.values()):
            continue
        for one in list(evolution.made.values()):
            merged = _universal(one, tool, f"tool_{evolution.counted + 1}")
            if merged is not None and evolution.admit(merged):
                evolution.counted += 1
                evolution.drop(one.draft.schema.name)
                break
        else:
            evolution.admit(tool)
    return max(len(evolution.made) - before, 0)


def _universal(one: MadeTool, other: MadeTool, name: str) -> MadeTool | None:
    """Tool of the merged programs, with the tests of both at the values of the new parameters."""
    merged = merge_programs(one.program, other.program)
    if merged is None:
        return None
    program, first, second = merged
    schema = list_schema(name, extra=[key for key in program.parameters if key != "xs"])
    tests = (*_rebound(one.draft.tests, first), *_rebound(other.draft.tests, second))
    hidden = (*_rebound(one.hidden, first), *_rebound(other.hidden, second))
    return MadeTool(ToolDraft(schema, program.source(name), tests), hidden, program)


def _rebound(cases: Sequence[ToolCase], values: Mapping[str, int | str]) -> tuple[ToolCase, ...]:
    """Cases with values for the parameters of a merged tool; a name is the value of an earlier parameter."""
    return tuple(
        ToolCase(
            {
                "xs": case.arguments["xs"],
                **{key: case.arguments[one] if isinstance(one, str) else one for key, one in values.items()},
            },
            case.expected,
        )
        for case in cases
    )


def _behaves_alike(one: MadeTool, other: MadeTool) -> bool:
    """Return True if both have equal parameters and equal values for the arguments of all their cases."""
    if one.program.parameters.keys() != other.program.parameters.keys():
        return False
    cases = [*one.draft.tests, *one.hidden, *other.draft.tests, *other.hidden]
    return _values(one, cases) == _values(other, cases)


def _values(tool: MadeTool, cases: Sequence[ToolCase]) -> str:
    return repr(run_draft(tool.draft.source, tool.draft.schema.name, [case.arguments for case in cases]))


def _work(library: ToolLibrary, use: ToolUse | None, one: RuleTask) -> Any:
    """Value of a tool at the query of a task."""
    if use is None:
        return None
    result = library.call(use.name, {**one.query, **use.bound})
    return None if result.error else result.value
