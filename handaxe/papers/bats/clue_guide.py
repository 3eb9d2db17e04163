"""Planner and verifier for `clue_search`, by rules on tool results."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.records import Task, Trajectory
from handaxe.papers.bats.budget_plan import BudgetNode, BudgetPlan, NodeStatus, budget_plan
from handaxe.papers.bats.budget_verdict import BudgetVerdict, budget_verdict
from handaxe.papers.bats.clue_evidence import ClueEvidence, clue_evidence
from handaxe.papers.bats.clue_search import Clue
from handaxe.papers.bats.limited_tools import ToolLedger
from handaxe.rewards.parts.extract import final_text

__all__ = ["ClueGuide"]

CHECK_CALLS = 1
"""Pages that check all clues of a name."""


class ClueGuide:
    """Implements `AttemptGuide`: `budget_plan` at first, `budget_verdict` after each attempt.

    After a PIVOT the answer is ruled out, and the first verification clue whose list is incomplete becomes a further
    exploration node. After a CONTINUE the summaries ask to open the answer's page. A summary has results, not the
    conversation: lists, and names that are ruled out.

    Args:
        task: of `clue_search`.
        cost: searches that a clue needs, an estimate.

    Example:
        ClueGuide(task).opening(ToolLedger({"find": 4, "open": 4}))
        is "plan: [ ] explore boss 4071; [ ] verify heir 5526; [ ] verify idol 9931"

    Idea: planner and verifier of BATS, exact where constraints are checkable.
    """

    def __init__(self, task: Task, *, cost: int = 3):
        self.plan: BudgetPlan | None = None
        self._cost = cost
        self._clues = [Clue(*clue) for clue in task.metadata["clues"]]
        self._evidence = ClueEvidence()
        self._ruled_out: list[str] = []
        self._check: list[str] = []
        self._opened = 0

    def opening(self, ledger: ToolLedger) -> str:
        """Write plan and summary."""
        if self.plan is None:
            texts = [" ".join(clue) for clue in self._clues]
            self.plan = budget_plan(texts, remaining=ledger.remaining["find"], cost=self._cost)
        excluded = f"not: {' '.join(self._ruled_out)}" if self._ruled_out else ""
        lines = [self.plan.text(), *self._evidence.lines, excluded, *(f"check {name}" for name in self._check)]
        return "\n".join(filter(None, lines))

    def review(self, attempts: Sequence[Trajectory], ledger: ToolLedger) -> BudgetVerdict:
        """Verify the last answer on the results of all attempts, and update the plan."""
        results = [m.content for one in attempts for m in one.messages if m.role == "tool"]
        self._update(clue_evidence("\n".join(results)), ledger)
        name = final_text(attempts[-1]).strip()
        statuses = self._evidence.statuses(name, self._clues)
        verdict = budget_verdict(statuses, needed=CHECK_CALLS, remaining=ledger.remaining["open"])
        known = dict.fromkeys(name for names in self._evidence.listed.values() for name in names)
        wrong = [one for one in known if "contradicted" in self._evidence.statuses(one, self._clues)]
        self._ruled_out = wrong if verdict.decision != "PIVOT" or name in wrong else [*wrong, name]
        if verdict.decision == "CONTINUE" and name not in self._check:
            self._check.append(name)
        if verdict.decision == "PIVOT":
            self._explore_another()
        return verdict

    def _update(self, evidence: ClueEvidence, ledger: ToolLedger) -> None:
        """Set the status of every node, and add the calls since the last attempt."""
        assert self.plan is not None
        before, self._evidence = self._evidence, evidence
        for clue in self._clues:
            read = evidence.pages.get(clue, 0)
            calls = {"find": read - before.pages.get(clue, 0)}
            self.plan.update(" ".join(clue), self._status(clue), {tool: n for tool, n in calls.items() if n})
        opened = ledger.used["open"] - self._opened
        self._opened += opened
        if opened:
            last = self.plan.nodes[-1]
            self.plan.update(last.text, last.status, {"open": opened})

    def _status(self, clue: Clue) -> NodeStatus:
        if clue in self._evidence.complete:
            return "done"
        return "partial" if clue in self._evidence.pages else "pending"

    def _explore_another(self) -> None:
        """Append an exploration node for the first clue without one, unless its list is complete."""
        assert self.plan is not None
        explored = {node.text for node in self.plan.nodes if node.kind == "explore"}
        for clue in self._clues:
            if " ".join(clue) not in explored and clue not in self._evidence.complete:
                self.plan.append(BudgetNode("explore", " ".join(clue), self._status(clue)))
                return
