"""Rollouts with messages of an adviser: a rule, or an auxiliary policy."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Message, ParsedTurn, Task, Turn
from handaxe.core.requests import Attempt, AuxChat, AuxRequest, Interject, Sample
from handaxe.ops.ask_aux import NoReply, ask_aux
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play
from handaxe.rollouts.play.aux_turns import sample_aux_turn
from handaxe.rollouts.resample_failed_turn import failed_at

__all__ = ["ADVISER", "Adviser", "When", "advised", "after_failure", "at_start", "every"]

ADVISER = "adviser"

When = Callable[[Sequence[Turn]], bool]
"""(turns so far) -> whether the adviser is asked before the next turn."""


class Adviser(NamedTuple):
    """Adviser of a rollout.

    rule   (task, conversation so far, seed) -> advice; "" for no message
    ask    (task, conversation so far, chat of the model) -> request to an auxiliary policy that advises instead of the
           rule, such as one of `asking.conversation_question`; None: no model can advise
    role   name of the auxiliary policy, and of the messages
    """

    rule: Callable[[Task, Sequence[Message], int], str]
    ask: Callable[[Task, Sequence[Message], AuxChat], AuxRequest] | None = None
    role: str = ADVISER


def at_start(turns: Sequence[Turn]) -> bool:
    """Advise before the first turn."""
    return not turns


def after_failure(turns: Sequence[Turn]) -> bool:
    """Advise after a turn with a failed or malformed call, as in `failed_at`."""
    return bool(turns) and failed_at(turns[-1]) is not None


def every(k: int) -> When:
    """Advise after turns k, 2k, 3k and so on, counted from 1.

    Raises:
        InputError: k below 1.
    """
    if k < 1:
        raise InputError(f"advice comes every {k} turns; give 1 or more")
    return lambda turns: bool(turns) and len(turns) % k == 0


def advised(rollout: Rollout, adviser: Adviser, *, when: When = after_failure) -> Rollout:
    """Play `rollout` with messages of an adviser to the policy.

        reply to turn k - 1  ->  advice  ->  turn k        if when(turns 0 .. k - 1); advice: a user message, named
                                                           after the role

    The policy reads a message until the end of its sequence and never trains on it. If the rollout has an auxiliary
    policy with the name of the role, this model advises, and its turns are in the record (`Trajectory.aux_turns`).
    A model that fails, or twice gives no text, ends the rollout as infra_error: no rule replaces it. Nobody is asked
    after the last turn, or in rollouts of an auxiliary policy. Several advisers around one strategy speak from the
    outside in. Forks share the advice before the forked turn.

    Args:
        rollout: the strategy, any that plays a `Play`.
        adviser: its rule draws by derive_seed(seed of the attempt, role, k).
        when: moments of advice: `at_start`, `after_failure`, `every(k)`, or a function of your own.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the result of `rollout`. notes["interjected"]
        lists for each message the turn that reads it first. Evaluations need a strategy without advice, unless they
        measure it.

    Raises:
        InputError: when played, a model is to advise, and the adviser has no `ask`.

    Example:
        adviser = Adviser(lambda task, said, seed: "Give both operands.")
        advised(linear(max_turns=4), adviser): calls "12*" (failed), "12*34" (408), answer "408"
            ->  user "Give both operands." is read before turn 1; notes["interjected"] == [1]

    Idea: an adviser in the loop, such as the language model of GRAPPA (arXiv:2410.06473) or the adviser of Game On
    (arXiv:2409.03402), as words in the conversation.
    """

    def advise(play: Play, said: Sequence[Message]) -> Generator[Any, Any, tuple[Message, ...] | Ending]:
        if play.attempt.by or not when(play.turns):
            return ()
        found = yield from _advice(play, said, adviser)
        if isinstance(found, Ending):
            return found
        return (Message("user", found, name=adviser.role),) if found else ()

    def rolled(attempt: Attempt) -> RolloutPlan:
        return rollout(replace(attempt, interject=_both(attempt.interject, advise)))

    if hasattr(rollout, "branches"):
        rolled.branches = rollout.branches  # type: ignore[attr-defined]
    return rolled


def _both(first: Interject | None, then: Interject) -> Interject:
    """Interject messages of both."""
    if first is None:
        return then

    def both(play: Play, said: Sequence[Message]) -> Generator[Any, Any, tuple[Message, ...] | Ending]:
        one = yield from first(play, said)
        if isinstance(one, Ending):
            return one
        other = yield from then(play, [*said, *one])
        return other if isinstance(other, Ending) else (*one, *other)

    return both


def _advice(play: Play, said: Sequence[Message], adviser: Adviser) -> Generator[Sample, Any, str | Ending]:
    """Text of the advice, or an infra_error."""
    attempt, k = play.attempt, len(play.turns)
    if adviser.role not in attempt.aux_policies:
        return adviser.rule(attempt.task, said, derive_seed(attempt.seed, adviser.role, k)).strip()
    if adviser.ask is None:
        raise InputError(
            f"{attempt.id!r} has the auxiliary policy {adviser.role!r}, and its adviser no request to a model: give "
            "Adviser(ask=...), or leave out the policy"
        )
    asking = ask_aux(adviser.ask(attempt.task, said, attempt.aux_policies[adviser.role]))
    try:
        request = next(asking)
        while True:
            turn = yield from _sampled(play, request)
            if isinstance(turn, Ending):
                return turn
            request = asking.send(turn)
    except StopIteration as over:
        text: str = over.value.text.strip()
        return text
    except NoReply as failed:
        return Ending("infra_error", str(failed))


def _sampled(play: Play, request: AuxRequest) -> Generator[Sample, Any, ParsedTurn | Ending]:
    """Turn of the adviser; the n-th one samples with a seed that requests of the environment leave unchanged."""
    number = sum(one.by == request.by for one in play.aux_turns)
    draw = derive_seed(play.attempt.seed, request.by, "interject", number)
    return (yield from sample_aux_turn(play.attempt, request, seed=draw, aux_turns=play.aux_turns))
