"""The environment's five actions as tools, with history, scores and the best program."""

from __future__ import annotations

import copy
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.papers.mle_dojo.code_runner import CodeResult, code_runner
from handaxe.papers.mle_dojo.contest import Contest
from handaxe.tools.decorator import tool
from handaxe.tools.definition import ToolContext

__all__ = ["Dojo"]

MOST_CODE = 2_000
MOST_ERROR = 60
DIRECT = ToolContext(call_id="", seed=0)
"""Context of a call as a plain function."""
NAMES = "train_X, train_y, test_X, enter(*steps), submit(predictions), and scikit-learn's classes"


class Dojo:
    """Tools of a rollout in a competition.

    A program runs in the sandbox and submits by `enter`, which fits the steps of a pipeline, or by `submit`. The
    program with the best metric is kept.

    Args:
        contest: the competition.

    Example:
        execute_code("enter(SimpleImputer(), SVC())") is "accuracy 0.975 position 0.90 best 0.90" in a competition

    Paper: arXiv:2505.07782 (MLE-Dojo), the actions of the environment.
    Differs: a program has the tables as names, and submits by a call instead of a file.
    """

    def __init__(self, contest: Contest):
        self._contest = contest
        self._log: list[dict[str, Any]] = []
        self._since = 0

    @tool(timeout=None)
    def request_info(
        self, info_type: Annotated[str, "overview, data, submission or all"], context: ToolContext = DIRECT
    ) -> str:
        """Read about the competition."""
        own = self._contest
        train_X, _, test_X = own.given
        infos = {
            "overview": f"{own.name}: {own.metric}, {'higher' if own.higher else 'lower'} is better",
            "data": f"{NAMES}; {len(train_X)} rows, {train_X.shape[1]} columns, NaN where a cell is missing",
            "submission": f"{len(test_X)} numbers",
        }
        if info_type != "all" and info_type not in infos:
            raise Retry(f"info_type is all or one of {', '.join(infos)}")
        self._note(context, "info")
        return "\n".join(infos.values()) if info_type == "all" else infos[info_type]

    @tool(timeout=None)
    def validate_code(self, code: Annotated[str, "the program"], context: ToolContext = DIRECT) -> str:
        """Check syntax and run a program without a submission."""
        found = self._run(code)
        self._note(context, "validate", code, error=found.error)
        if found.error:
            raise Retry(f"invalid {_short(found.error)}")
        return "valid"

    @tool(timeout=None)
    def execute_code(self, code: Annotated[str, "the program"], context: ToolContext = DIRECT) -> str:
        """Run a program and score the submission."""
        found = self._run(code)
        entry = None if found.error else self._contest.submit(found.predictions)
        error = found.error or ("" if entry else "no valid submission")
        self._note(context, "execute", code, error, entry and entry.raw, entry and entry.position)
        if entry is None:
            raise Retry(f"failed {_short(error)}")
        best = self._best()
        return f"{self._contest.metric} {entry.raw:.3f} position {entry.position:.2f} best {best['position']:.2f}"

    @tool(timeout=None)
    def get_history(self, context: ToolContext = DIRECT) -> str:
        """Read the actions since the last reset."""
        self._note(context, "history")
        rows = self._log[self._since :]
        return "; ".join(f"{row['action']} {_result(row)}".strip() for row in rows)

    @tool(timeout=None)
    def reset(self, context: ToolContext = DIRECT) -> str:
        """Forget scores, best program and history."""
        self._note(context, "reset")
        self._since = len(self._log)
        return "reset"

    def report(self) -> dict[str, Any]:
        """All actions, and the best execution since the last reset: best_code, best_raw and best_position."""
        best = self._best()
        return {"log": copy.deepcopy(self._log)} | {f"best_{key}": best.get(key) for key in ("code", "raw", "position")}

    def snapshot(self) -> Any:
        """The actions so far."""
        return copy.deepcopy((self._log, self._since))

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self._log, self._since = copy.deepcopy(state)

    def _run(self, code: str) -> CodeResult:
        if not code.strip() or len(code) > MOST_CODE:
            raise Retry(f"code is a program of 1 to {MOST_CODE} characters")
        return code_runner().run(code, self._contest.key, self._contest.given)

    def _note(
        self,
        context: ToolContext,
        action: str,
        code: str = "",
        error: str = "",
        raw: float | None = None,
        position: float | None = None,
    ) -> None:
        row = {"call": context.call_id, "action": action, "code": code, "error": error}
        self._log.append({**row, "raw": raw, "position": position})

    def _best(self) -> dict[str, Any]:
        """Execution with the best metric since the last reset, the first of equal ones."""
        rows = [row for row in self._log[self._since :] if row["raw"] is not None]
        sign = 1 if self._contest.higher else -1
        return max(rows, key=lambda row: sign * row["raw"], default={})


def _short(error: str) -> str:
    return error.split("\n")[0][:MOST_ERROR]


def _result(row: dict[str, Any]) -> str:
    if row["position"] is not None:
        return f"{row['position']:.2f}"
    return "failed" if row["error"] else ""
