"""Library of made tools: drafts are admitted after their tests and the checker's hidden cases pass in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import InputError, Retry
from handaxe.core.records import ToolSchema
from handaxe.tools.definition import NAME, ToolContext
from handaxe.tools.draft_runner import DraftResult, run_draft

if TYPE_CHECKING:
    import handaxe.tools.tool_from_schema as schema_tools
    from handaxe.tools.decorator import Tool
else:
    schema_tools = DeferredModule("handaxe.tools.tool_from_schema")

__all__ = ["DraftVerdict", "LibraryTool", "Ticket", "ToolCase", "ToolDraft", "ToolLibrary", "ToolMaker", "same_value"]

Verdict = Literal["verified", "unverified", "failed"]


class ToolCase(NamedTuple):
    """Keyword arguments of a call, and the expected value, both JSON."""

    arguments: Mapping[str, Any]
    expected: Any


class Ticket(NamedTuple):
    """Request for a tool.

    schema   name, description and parameters of the tool
    cases    worked examples that the maker may read
    probes   arguments without an expected value; a tool must return a value for each
    """

    schema: ToolSchema
    cases: tuple[ToolCase, ...]
    probes: tuple[Mapping[str, Any], ...] = ()


class ToolDraft(NamedTuple):
    """Proposed tool.

    schema   as shown to a policy; its name is that of the function
    source   untrusted Python with the function
    tests    of the maker
    """

    schema: ToolSchema
    source: str
    tests: tuple[ToolCase, ...]


class ToolMaker(Protocol):
    """Makes drafts for a ticket: an enumeration of programs, or a model that writes Python."""

    def make(self, ticket: Ticket) -> Iterator[ToolDraft]:
        """Yield drafts, the best first. The next draft is made when the one before was refused."""
        ...


class DraftVerdict(NamedTuple):
    """Verdict on a draft. reason: of a draft that is not verified; it names no hidden value."""

    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True)
class LibraryTool:
    """Tool of a library.

    draft     schema, source and tests
    verdict   "verified", or "unverified" for tests of its maker alone
    since     version of the library that first had the tool
    uses      recorded uses
    failures  recorded uses that failed
    """

    draft: ToolDraft
    verdict: Verdict
    since: int
    uses: int = 0
    failures: int = 0

    @property
    def name(self) -> str:
        """Name of tool and function."""
        return self.draft.schema.name


@dataclass
class ToolLibrary:
    """Versioned library of made tools, with state for checkpoints.

    Each change of the set of tools raises `version`. `pinned` gives the tools of the present version to a group: later
    changes do not reach them.

    Args:
        accepts: verdicts that admit a draft. With "unverified", a draft needs only its own tests.
        seconds: of a check or a call.

    Example:
        library.admit(draft, hidden) == DraftVerdict("verified"); library.call("double", {"n": 4}).value == 8

    Idea: a maker that writes code and tests can be wrong in both, so that a checker has cases of its own.
    """

    accepts: tuple[Verdict, ...] = ("verified",)
    seconds: float = 30.0
    version: int = 0
    entries: dict[str, LibraryTool] = field(default_factory=dict)

    def check(self, draft: ToolDraft, hidden: Sequence[ToolCase]) -> DraftVerdict:
        """Run tests and hidden cases in the sandbox.

            failed      a test or a hidden case fails, or the draft has no test
            unverified  the draft's tests pass, and no hidden case is left
            verified    the draft's tests and all hidden cases pass

        A hidden case with the arguments of a test is no check, and is left out.

        Args:
            draft: the tool.
            hidden: cases of the checker.

        Example:
            f(n) = 2 with test f(1) = 2: "unverified" without hidden cases, and "failed" with the hidden case f(2) = 4
        """
        if not NAME.fullmatch(draft.schema.name) or not draft.schema.name.isidentifier():
            return DraftVerdict("failed", f"{draft.schema.name[:80]!r} is no name of a function")
        if not draft.tests:
            return DraftVerdict("failed", "the draft has no test")
        known = [_key(case.arguments) for case in draft.tests]
        other = [case for case in hidden if _key(case.arguments) not in known]
        cases = [*draft.tests, *other]
        results = run_draft(draft.source, draft.schema.name, [case.arguments for case in cases], seconds=self.seconds)
        passed = [_passes(case, result) for case, result in zip(cases, results, strict=True)]
        own = passed[: len(draft.tests)]
        if not all(own):
            first = results[own.index(False)]
            why = first.error or "a value differs"
            return DraftVerdict("failed", f"{own.count(False)} of {len(own)} tests fail: {why}")
        if not all(passed):
            return DraftVerdict("failed", f"{passed.count(False)} of {len(other)} hidden cases fail")
        return DraftVerdict("verified") if other else DraftVerdict("unverified", "no hidden case checks the draft")

    def admit(self, draft: ToolDraft, hidden: Sequence[ToolCase]) -> DraftVerdict:
        """Check a draft, and add an accepted one.

        Raises:
            InputError: the library has a tool of this name.
        """
        if draft.schema.name in self.entries:
            raise InputError(f"the library has a tool {draft.schema.name!r}; drop it, or choose another name")
        admission = self.check(draft, hidden)
        if admission.verdict in self.accepts:
            self.version += 1
            self.entries[draft.schema.name] = LibraryTool(draft, admission.verdict, self.version)
        return admission

    def drop(self, names: Iterable[str]) -> None:
        """Remove tools; a change of version if there is any."""
        gone = [name for name in dict.fromkeys(names) if self.entries.pop(name, None) is not None]
        self.version += bool(gone)

    def call(self, name: str, arguments: Mapping[str, Any]) -> DraftResult:
        """Call a tool in the sandbox; nothing is recorded.

        Raises:
            InputError: there is no such tool.
        """
        return self.call_many(name, [arguments])[0]

    def call_many(self, name: str, calls: Sequence[Mapping[str, Any]]) -> tuple[DraftResult, ...]:
        """As `call`, for several calls in one process."""
        if name not in self.entries:
            raise InputError(f"the library has no tool {name!r}; it has {', '.join(self.entries) or 'none'}")
        return run_draft(self.entries[name].draft.source, name, calls, seconds=self.seconds)

    def fits(self, name: str, cases: Sequence[ToolCase]) -> bool:
        """Return True if a tool gives the expected value of every case."""
        results = self.call_many(name, [case.arguments for case in cases])
        return all(_passes(case, result) for case, result in zip(cases, results, strict=True))

    def record(self, name: str, *, failed: bool) -> None:
        """Count a use of a tool."""
        one = self.entries[name]
        self.entries[name] = replace(one, uses=one.uses + 1, failures=one.failures + failed)

    def pinned(self) -> list[Tool]:
        """Tools of the present version for an environment such as `tool_chat`; calls run in the sandbox.

        Raises:
            InputError: jsonschema is missing (extra [mcp]).
        """

        def handler(draft: ToolDraft) -> Any:
            def run(arguments: dict[str, Any], context: ToolContext) -> str:
                del context
                (result,) = run_draft(draft.source, draft.schema.name, [arguments], seconds=self.seconds)
                if result.error:
                    raise Retry(result.error)
                return result.value if isinstance(result.value, str) else json.dumps(result.value)

            return run

        return [schema_tools.tool_from_schema(one.draft.schema, handler(one.draft)) for one in self.entries.values()]

    def state_dict(self) -> dict[str, Any]:
        """JSON of version and tools."""
        return {"version": self.version, "tools": [_listed(one) for one in self.entries.values()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore version and tools."""
        self.version = int(state["version"])
        found = [_read(one) for one in state["tools"]]
        self.entries = {one.name: one for one in found}


def same_value(one: Any, other: Any) -> bool:
    """Compare JSON values; 1, 1.0 and true differ.

    Example:
        same_value([1, {"a": 2}], [1, {"a": 2}]) and not same_value(1, True)
    """
    return _key(one) == _key(other)


def _key(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, sort_keys=True)


def _passes(case: ToolCase, result: DraftResult) -> bool:
    return not result.error and same_value(result.value, case.expected)


def _listed(one: LibraryTool) -> dict[str, Any]:
    schema, source, tests = one.draft
    return {
        "schema": [schema.name, schema.description, dict(schema.parameters)],
        "source": source,
        "tests": [[dict(case.arguments), case.expected] for case in tests],
        "state": [one.verdict, one.since, one.uses, one.failures],
    }


def _read(found: Mapping[str, Any]) -> LibraryTool:
    tests = tuple(ToolCase(arguments, expected) for arguments, expected in found["tests"])
    draft = ToolDraft(ToolSchema(*found["schema"]), found["source"], tests)
    return LibraryTool(draft, *found["state"])
