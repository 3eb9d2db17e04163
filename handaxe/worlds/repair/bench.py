"""State and tools of a repair: run the failing test, list, read, replace, undo, submit."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool
from handaxe.worlds.repair.expert import BRIEF_WINDOW, PROSE_WINDOW, replace_row, suspects
from handaxe.worlds.repair.guard import refusal
from handaxe.worlds.repair.runner import Result
from handaxe.worlds.repair.source import Edit, Function, change, containing, replace_token
from handaxe.worlds.repair.tasks import Mutant, Source, make_runner, module_source

__all__ = [
    "BriefBench",
    "ProseBench",
    "RepairBench",
    "listing",
    "make_bench",
    "numbered",
    "read_source",
]


def read_source(mutant: Mutant) -> Source:
    """Original source of a task's module."""
    return module_source(mutant.module.package, mutant.module.version, mutant.module.name, mutant.module.digest)


@functools.lru_cache(maxsize=4096)
def listing(mutant: Mutant) -> tuple[Function, ...]:
    """Functions of the module, called by the failing test; functions called by few other tests are first."""
    source = read_source(mutant)
    mutated = [one for one in source.functions if one.name == mutant.function]
    module = mutant.module
    result = make_runner(module.package).run(
        module.name, module.tests, [mutant.shown], change(mutated, source.mutated(mutant.edit)), trace=True
    )
    return tuple(suspects(module, source, result.calls[0]))


def numbered(mutant: Mutant) -> list[int]:
    """Lines with code of the listed functions; the place in this list is the number of a line in the brief form."""
    return [line for function in listing(mutant) for line in function.lines]


class RepairBench:
    """Module with edits, its failing test, and the tools of both forms. A snapshot is a copy of the edits and counts.

    Args:
        mutant: the task.
    """

    window = PROSE_WINDOW

    def __init__(self, mutant: Mutant):
        self._mutant = mutant
        self._source = read_source(mutant)
        self._base = self._source.mutated(mutant.edit)
        self._edits: list[tuple[int, str]] = []
        self._tried: list[tuple[int, str]] = []
        self._read: set[int] = set()
        self._passing: bool | None = None
        self._listed = self._submitted = False
        self._runs = self._passed = 0

    @property
    def rows(self) -> tuple[str, ...]:
        """Present lines of the module."""
        rows = self._base
        for line, row in self._edits:
            rows = replace_row(rows, line, row)
        return rows

    @tool(timeout=None)
    def run_tests(self) -> str:
        """Run the failing test."""
        result = self._run([self._mutant.shown])
        self._runs += 1
        self._passing = not result.failed
        return self.describe(result)

    @tool(timeout=None)
    def undo(self) -> str:
        """Take back the last replacement."""
        if not self._edits:
            raise Retry("there is no replacement")
        self._edits.pop()
        self._passing = None
        return "ok"

    @tool(timeout=None)
    def submit(self) -> str:
        """Hand in the module, without further changes; then all tests run."""
        result = self._run(self._mutant.module.names)
        self._submitted = True
        self._passed = len(self._mutant.module.names) - len(result.failed)
        return "ok"

    def describe(self, result: Result) -> str:
        """Text of a run's result."""
        raise NotImplementedError

    def _run(self, names: Sequence[str]) -> Result:
        module, rows = self._mutant.module, self.rows
        touched = [containing(self._source.functions, line) for line, _ in self._edits]
        touched += [one for one in self._source.functions if one.name == self._mutant.function]
        changed = [one for one in dict.fromkeys(touched) if one is not None]
        return make_runner(module.package).run(module.name, module.tests, names, change(changed, rows), stop=False)

    def _replace(self, line: int, row: str) -> str:
        """Put a line in place, if the rule for edits permits it."""
        new = replace_row(self.rows, line, row)
        if reason := refusal(self._source.functions, self._base, new, line):
            raise Retry(reason)
        self._edits.append((line, row))
        self._tried.append((line, row))
        self._passing = None
        return "ok"

    def facts(self) -> dict[str, Any]:
        """State of the repair, for the expert and for criteria, as JSON."""
        fault, rows = self._mutant.edit.line, self.rows
        return {
            "listed": self._listed,
            "read": sorted(self._read),
            "edits": [list(one) for one in self._edits],
            "tried": [list(one) for one in self._tried],
            "passing": self._passing,
            "seen": fault in self._read,
            "changed": rows[fault - 1] != self._base[fault - 1],
            "submitted": self._submitted,
            "left": self._left,
        }

    @property
    def _left(self) -> float:
        """Share of the tests that fail after the submission; 1 without a submission."""
        return 1.0 - self._passed / len(self._mutant.module.names) if self._submitted else 1.0

    def report(self) -> Mapping[str, Any]:
        """Submission, share of failing tests, whether all pass, and numbers of runs and replacements."""
        done = self._submitted and self._passed == len(self._mutant.module.names)
        counts = {"runs": self._runs, "replacements": len(self._tried)}
        return {"submitted": self._submitted, "left": self._left, "repaired": done, **counts}

    def snapshot(self) -> Any:
        """All mutable state."""
        lists = list(self._edits), list(self._tried), set(self._read)
        return lists, (self._passing, self._listed, self._submitted, self._runs, self._passed)

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        (edits, tried, read), (self._passing, self._listed, self._submitted, self._runs, self._passed) = state
        self._edits, self._tried = list(edits), list(tried)
        self._read = set(read)


class BriefBench(RepairBench):
    """Bench of few bytes: lines with code are numbered over the listed functions, and replacements name tokens."""

    window = BRIEF_WINDOW

    @tool(timeout=None, name="list")
    def list_functions(self) -> str:
        """List functions called by the test, with line numbers."""
        self._listed = True
        out, first = [], 1
        for one in listing(self._mutant):
            out.append(f"{one.name} {first}-{first + len(one.lines) - 1}")
            first += len(one.lines)
        return ", ".join(out)

    @tool(timeout=None)
    def read(self, lines: Annotated[str, "first and last line, such as 4-9"]) -> str:
        """Read lines of the listed functions, at most 8."""
        numbers = numbered(self._mutant)
        first, last = _range(lines, len(numbers), self.window)
        rows, out = self.rows, []
        for number in range(first, last + 1):
            line = numbers[number - 1]
            self._read.add(line)
            function = containing(self._source.functions, line)
            assert function is not None, "listed lines are lines of functions"
            out.append(f"{number} {_dedent(rows[line - 1], rows[function.lines[0] - 1])}")
        return "\n".join(out)

    @tool(timeout=None)
    def replace(self, edit: Annotated[str, "line, token, new token, and its number if repeated: 4 < <= 2"]) -> str:
        """Replace a token in a line."""
        numbers = numbered(self._mutant)
        number, wanted = _token_edit(edit)
        if not 1 <= number <= len(numbers):
            raise Retry(f"lines are 1 to {len(numbers)}")
        line = numbers[number - 1]
        row = replace_token(self.rows[line - 1], wanted)
        if row is None:
            raise Retry(f"line {number} has no {wanted.old}")
        return self._replace(line, row)

    def describe(self, result: Result) -> str:
        """ "ok", or the exception with the number of the last line."""
        if not result.failed:
            return "ok"
        numbers = numbered(self._mutant)
        return f"{result.error} {numbers.index(result.at) + 1}" if result.at in numbers else result.error


class ProseBench(RepairBench):
    """Bench of whole lines with the numbers of the file."""

    @tool(timeout=None, name="list")
    def list_functions(self) -> str:
        """List functions of the file called by the failing test, with line numbers."""
        self._listed = True
        return "\n".join(f"{one.name}: lines {one.first} to {one.last}" for one in listing(self._mutant))

    @tool(timeout=None)
    def read(self, lines: Annotated[str, "first and last line, such as 120-140"]) -> str:
        """Read lines of the file, at most 40."""
        rows = self.rows
        first, last = _range(lines, len(rows), self.window)
        self._read.update(range(first, last + 1))
        return "\n".join(f"{number} {rows[number - 1]}" for number in range(first, last + 1))

    @tool(timeout=None)
    def replace(
        self,
        line: Annotated[int, "number of the line"],
        text: Annotated[str, "the whole new line, indented"],
    ) -> str:
        """Replace a line of the file. A text without indentation gets the old indentation."""
        rows = self.rows
        if not 1 <= line <= len(rows):
            raise Retry(f"the file has lines 1 to {len(rows)}")
        old = rows[line - 1]
        indent = "" if text[:1].isspace() else old[: len(old) - len(old.lstrip())]
        return self._replace(line, indent + text.rstrip("\n"))

    def describe(self, result: Result) -> str:
        """ "passed", or the exception, the line of the test, and the line of the file."""
        if not result.failed:
            return "passed"
        words = f"failed: {result.error}"
        if result.line:
            words += f" at line {result.line} of the test: {result.code}"
        return words + (f"\nLast line of the file on the way: {result.at}" if result.at else "")


def make_bench(mutant: Mutant, *, brief: bool) -> RepairBench:
    """A new bench."""
    return BriefBench(mutant) if brief else ProseBench(mutant)


def _range(text: str, count: int, window: int) -> tuple[int, int]:
    """First and last line of a text such as "4-9" or "4"."""
    first, _, last = text.strip().partition("-")
    try:
        start, end = int(first), int(last or first)
    except ValueError:
        raise Retry("give the first and the last line, such as 4-9") from None
    if not 1 <= start <= end:
        raise Retry("lines start at 1, and the last is not before the first")
    if start > count:
        raise Retry(f"lines are 1 to {count}")
    return start, min(end, count, start + window - 1)


def _token_edit(text: str) -> tuple[int, Edit]:
    """The number of a line and an edit, of "LINE OLD NEW" or "LINE OLD NEW OCCURRENCE"; tokens may have two words."""
    words = text.replace("not in", "not_in").replace("is not", "is_not").split()
    nth = words[3] if len(words) == 4 else "1"
    if len(words) not in (3, 4) or not all(one.isascii() and one.isdigit() and len(one) < 9 for one in (words[0], nth)):
        raise Retry("say line, token, new token, such as: 4 < <=")
    old, new = (one.replace("_", " ") if one in ("not_in", "is_not") else one for one in words[1:3])
    return int(words[0]), Edit(0, int(nth), old, new)


def _dedent(row: str, first: str) -> str:
    """Indent a line relative to the function, by one space for each four."""
    body = row.lstrip()
    depth = len(row) - len(body) - (len(first) - len(first.lstrip()))
    return " " * max(0, (depth + 3) // 4) + body
