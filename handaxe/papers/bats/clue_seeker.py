"""Scripted policy for `clue_search`: a function of the decoded conversation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from handaxe.core.records import ToolCall
from handaxe.papers.bats.budget_tracker import budget_regime
from handaxe.papers.bats.clue_evidence import ClueEvidence, clue_evidence
from handaxe.papers.bats.clue_search import CLUES, Clue

__all__ = ["clue_seeker"]

QUESTION = re.compile(r"<USER>((?:\w+ \d{4} ?)+)\?<END>")
PAIR = re.compile(r"(\w+) (\d{4})")
USED = re.compile(r"(find|open) used: (\d+), remaining: (\d+)")
REFUSED = re.compile(r"no call of (\w+) is left")
PLANNED = re.compile(r"explore (\w+) (\d{4})")
CHECK = re.compile(r"check (\d{4})")
UNKNOWN = "none"


def clue_seeker(*, patience: int = 4) -> Callable[[str, int], str | ToolCall]:
    """Make a policy that lists people by a clue, opens pages of people, and answers.

    With any conversation: a name with all clues, or with two clues and none contradicted, is the answer at once, unless
    a summary asks to check the name; without possible calls the best name is.

        without a tracker   open the best unread name, else read the next page of a list; answer after `patience`
                            pages, and use no tool that refused a call
        with a tracker      the tool with the greater remaining share, open if equal, and no tool that is CRITICAL;
                            lists of all clues in turn while HIGH, one after the other below

    Lists are in the order of a plan's exploration clues, if there is a plan.

    Args:
        patience: read pages without success after which the policy gives up.

    Returns:
        (decoded conversation, turn) -> call or answer, for `ScriptedEngine`.

    Example:
        "<USER>boss 4071 heir 5526 idol 9931?<END><ASSISTANT>"  ->  find "boss 4071 1"

    Idea: a policy without knowledge of its budget can neither save calls nor spend all of them.
    """

    def act(text: str, turn: int) -> str | ToolCall:
        del turn
        seen = _read(text)
        if answer := seen.proposal():
            return answer
        page, query = seen.next_page(), seen.next_query()
        if not seen.left:
            if len(seen.evidence.facts) >= patience:
                return seen.best()
            able = [tool for tool in ("open", "find") if tool not in seen.refused]
        else:
            able = sorted(seen.usable(), key=lambda tool: (-seen.share(tool), tool == "find"))
        for tool in able:
            if tool == "open" and page:
                return ToolCall("open", {"name": page})
            if tool == "find" and query:
                return ToolCall("find", {"query": query})
        return seen.best()

    return act


@dataclass(frozen=True)
class _Seen:
    """Conversation so far. left: calls used and remaining by tool; planned: exploration clues; check: names to open."""

    clues: list[Clue]
    evidence: ClueEvidence
    left: dict[str, tuple[int, int]]
    refused: set[str]
    planned: list[Clue]
    check: set[str]

    def live(self) -> list[str]:
        """Names without a contradicted clue, best first."""
        names = dict.fromkeys(name for clue in self.clues for name in self.evidence.listed.get(clue, ()))
        fitting = [name for name in names if "contradicted" not in self.evidence.statuses(name, self.clues)]
        return sorted(fitting, key=lambda name: -self.satisfied(name))

    def satisfied(self, name: str) -> int:
        return self.evidence.statuses(name, self.clues).count("satisfied")

    def proposal(self) -> str:
        """Answer without a further call; "" for none."""
        for name in self.live():
            if self.satisfied(name) == CLUES or (self.satisfied(name) == CLUES - 1 and name not in self.check):
                return name
        return ""

    def best(self) -> str:
        return (self.live() or [UNKNOWN])[0]

    def next_page(self) -> str:
        """Name to open: one that a summary asks to check, else the best."""
        unread = [name for name in self.live() if name not in self.evidence.facts]
        asked = [name for name in unread if name in self.check]
        return (asked or unread or [""])[0]

    def next_query(self) -> str:
        """Next page of a list; "" if all lists are complete."""
        read = self.evidence.pages
        for stage in (self.planned, self.clues):
            clues = [clue for clue in stage if clue not in self.evidence.complete]
            if clues:
                clue = min(clues, key=lambda clue: read.get(clue, 0)) if self.broad() else clues[0]
                return f"{clue.relation} {clue.value} {read.get(clue, 0) + 1}"
        return ""

    def broad(self) -> bool:
        return "find" in self.left and self._regime("find") == "HIGH"

    def usable(self) -> list[str]:
        return [tool for tool in self.left if self._regime(tool) != "CRITICAL"]

    def share(self, tool: str) -> float:
        used, remaining = self.left[tool]
        return remaining / (used + remaining)

    def _regime(self, tool: str) -> str:
        used, remaining = self.left[tool]
        return budget_regime(remaining, used + remaining)


def _read(text: str) -> _Seen:
    asked = QUESTION.search(text)
    clues = [Clue(*pair) for pair in PAIR.findall(asked[1])] if asked else []
    return _Seen(
        clues=clues,
        evidence=clue_evidence(text),
        left={tool: (int(used), int(remaining)) for tool, used, remaining in USED.findall(text)},
        refused=set(REFUSED.findall(text)),
        planned=[clue for clue in dict.fromkeys(Clue(*pair) for pair in PLANNED.findall(text)) if clue in clues],
        check=set(CHECK.findall(text)),
    )
