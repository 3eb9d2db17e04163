"""Facts in the tool results of a conversation of `clue_search`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from handaxe.papers.bats.clue_search import Clue

__all__ = ["ClueEvidence", "ClueStatus", "clue_evidence"]

ClueStatus = Literal["satisfied", "contradicted", "unverifiable"]
LIST = re.compile(r"(ally|boss|heir|idol) (\d{4}) (\d+):((?: \d{4})*) (more|end)")
FACTS = re.compile(r"(\d{4}): ally (\d{4}) boss (\d{4}) heir (\d{4}) idol (\d{4})")
RULED_OUT = re.compile(r"not:((?: \d{4})+)")


@dataclass
class ClueEvidence:
    """Lists and pages that tools returned.

    listed      clue -> names, in order
    pages       clue -> pages read
    complete    clues whose last page was read
    facts       name -> its relations and their values
    ruled_out   names that a summary excludes
    lines       the results, in order
    """

    listed: dict[Clue, list[str]] = field(default_factory=dict)
    pages: dict[Clue, int] = field(default_factory=dict)
    complete: set[Clue] = field(default_factory=set)
    facts: dict[str, set[Clue]] = field(default_factory=dict)
    ruled_out: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    def status(self, name: str, clue: Clue) -> ClueStatus:
        """Check one clue of a name.

        satisfied      the page of the name, or a list of the clue, shows so
        contradicted   the page shows another value, or the complete list lacks the name, or the name is ruled out
        unverifiable   else
        """
        if name in self.ruled_out:
            return "contradicted"
        if name in self.facts:
            return "satisfied" if clue in self.facts[name] else "contradicted"
        if name in self.listed.get(clue, ()):
            return "satisfied"
        return "contradicted" if clue in self.complete else "unverifiable"

    def statuses(self, name: str, clues: Sequence[Clue]) -> list[ClueStatus]:
        """Check all clues of a name, in order."""
        return [self.status(name, clue) for clue in clues]


def clue_evidence(text: str) -> ClueEvidence:
    """Read tool results and summaries in a text.

    Args:
        text: one conversation or several.

    Returns:
        The evidence; an empty one for a text without results.

    Example:
        "boss 4071 1: 1234 8812 end"  ->  1234 satisfies boss 4071, and 5000 contradicts it

    Idea: constraints of a question are checked by rules on results alone; no reference answer is read.
    """
    found = ClueEvidence()
    for relation, value, page, names, last in LIST.findall(text):
        clue = Clue(relation, value)
        own = found.listed.setdefault(clue, [])
        own += [name for name in names.split() if name not in own]
        found.pages[clue] = max(found.pages.get(clue, 0), int(page))
        if last == "end":
            found.complete.add(clue)
        found.lines.append(f"{relation} {value} {page}:{names} {last}")
    for name, *values in FACTS.findall(text):
        pairs = zip(("ally", "boss", "heir", "idol"), values, strict=True)
        found.facts[name] = {Clue(relation, value) for relation, value in pairs}
    for names in RULED_OUT.findall(text):
        found.ruled_out |= set(names.split())
    found.lines = list(dict.fromkeys(found.lines))
    return found
