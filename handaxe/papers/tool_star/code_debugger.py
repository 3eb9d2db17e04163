"""Inference tool: replaces a failed call by a corrected call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.core.protocols import Env, EnvFactory, Rollout, RolloutPlan
from handaxe.core.records import ParsedTurn, Task, ToolCall
from handaxe.core.requests import Attempt, EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import EnvWrapper
from handaxe.synthesis.call_corrector import CallCorrector, FailedCall

__all__ = ["Debug", "asked_debugger", "code_debugger", "debugged", "reference_debugger"]

Debug = Callable[[Task, ToolCall, str], ToolCall | None]
"""(task, failed call, error) -> corrected call; None without one."""
FAILED = frozenset({"retry", "failed"})


def code_debugger(*, rollout: Rollout, debug: Debug) -> Rollout:
    """Play `rollout` in an environment with debugged calls.

    Args:
        rollout: strategy.
        debug: see `debugged`.

    Example:
        calculator "12*" fails and is executed as "12*34": the policy reads "408"

    Paper: arXiv:2505.16410 (Tool-Star), code debugger, an inference tool.
    Differs: nothing that is known.
    """

    def debugging(attempt: Attempt) -> RolloutPlan:
        return rollout(replace(attempt, env=debugged(attempt.env, debug)))

    return debugging


def debugged(env: EnvFactory, debug: Debug) -> EnvFactory:
    """Wrap an environment: after a failed single call, execute a corrected call.

        first execution ok                      its reply
        failed, and debug has another call      the reply of the corrected call if it runs, else the first reply
        failed, and debug has none              the first reply

    The text of the turn stays: the policy reads a result that its own call does not have. A failure of the
    infrastructure is not debugged.

    Args:
        env: environment to wrap.
        debug: corrects a failed call.

    Returns:
        An EnvFactory, `protocols.Bounded` if `env` is. Its report has "debugged", the number of replaced calls.

    Example:
        see `code_debugger`

    Paper: arXiv:2505.16410 (Tool-Star), code debugger.
    Unconfirmed: one correction a call.
    Differs: turns with several calls, and malformed calls, are not debugged.
    """
    return inherit_bound(lambda task: _Debugged(env(task), task, debug), env)


def reference_debugger(reference: Callable[[Task], tuple[ToolCall, ...]]) -> Debug:
    """Correct a failed call by the reference call of the same tool: an oracle, for runs without a language model.

    Example:
        calculator "12*", reference calls calculator "12*34"  ->  calculator "12*34"

    Idea: the bound of a debugger that is always right.
    """

    def debug(task: Task, call: ToolCall, error: str) -> ToolCall | None:
        del error
        return next((one for one in reference(task) if one.name == call.name), None)

    return debug


def asked_debugger(desk: AskDesk) -> Debug:
    """Correct a failed call with one text argument by a language model that reads question, call and error.

    Args:
        desk: asks the model; an answer without code is no correction.

    Raises:
        InputError: while debugging, the server is away or the budget is spent.

    Example:
        calculator "12*", error "cannot read '12*'", reply {"code": "12*34"}  ->  calculator "12*34"

    Paper: arXiv:2505.16410 (Tool-Star), code debugger by a language model.
    Unconfirmed: the wording of the prompt.
    """

    made = list[CallCorrector]()

    def debug(task: Task, call: ToolCall, error: str) -> ToolCall | None:
        if len(call.arguments) != 1:
            return None
        if not made:  # the desk has a model once the run has a policy
            made.append(CallCorrector(desk, about=f"{call.name}({', '.join(call.arguments)})"))
        ((name, code),) = call.arguments.items()
        found = made[0].correct_one(FailedCall(task.id, task.messages[-1].content, str(code), error))
        return None if isinstance(found, NoAnswer) else ToolCall(call.name, {name: found})

    return debug


class _Debugged(EnvWrapper):
    def __init__(self, env: Env, task: Task, debug: Debug):
        super().__init__(env)
        self._task, self._debug = task, debug
        self._replaced = 0

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        first = super().step(turn, seed=seed)
        if len(turn.calls) != 1 or turn.errors or not first.replies or first.replies[0].status not in FAILED:
            return first
        (call,) = turn.calls
        better = self._debug(self._task, call, first.replies[0].content)
        if better is None or (better.name, better.arguments) == (call.name, call.arguments):
            return first
        again = super().step(replace(turn, calls=(ToolCall(better.name, better.arguments, call.id),)), seed=seed)
        if not again.replies or again.replies[0].status != "ok":
            return first
        self._replaced += 1
        return again

    def report(self) -> Mapping[str, Any]:
        return {**super().report(), "debugged": self._replaced}

    def snapshot(self) -> Any:
        return self._replaced, super().snapshot()

    def restore(self, state: Any) -> None:
        self._replaced, inner = state
        super().restore(inner)
