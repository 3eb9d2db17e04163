"""The plain rollout: the policy speaks, the environment answers, until one of them is done."""

from collections.abc import Callable

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.requests import Attempt
from handaxe.rollouts.budget import Budget, BudgetMessage
from handaxe.rollouts.play import Play, Rules

__all__ = ["linear"]


def linear(
    *,
    max_turns: int | Callable[[int], int] = 4,
    budget: Budget | Callable[[int], Budget] | None = None,
    tell_budget: bool | BudgetMessage = False,
) -> Rollout:
    """Play one attempt turn by turn on one growing sequence.

        ids = opening + sampled_0 + reply_0 + sampled_1 + ...        only sampled ids train

    The policy's turn ends at a stop id (finish "stop"), at the length limit ("length": whatever call it holds is not
    executed and the attempt ends truncated), or where it began another speaker's turn ("header": a policy_error).
    Every turn has its own seed, derived from the attempt's. When the chat format rewrites history, a new sequence
    begins and holds the rewritten history as context. A reply that does not fit into what is left of the context ends
    the attempt truncated for "length"; it is kept among the messages, and not a token of it in the sequence.

    Where a turn makes more calls than the budget has left, the first ones are carried out and the attempt ends
    truncated for "budget", unless the environment was done with them. An attempt that is stopped from outside keeps
    what was sampled of its turn, whose calls are not carried out, and ends truncated for "stopped".

    Args:
        max_turns: turns of the policy, >= 1; the last may not be answered. Reaching it with the environment not done
            ends the attempt truncated for "turns". Or a function of the training step, such as `horizon`; attempts of
            an evaluation are of step 0, so give evaluations a number.
        budget: what the attempt may use up over all turns (see `rollouts.budget`); spent means truncated for "budget".
            Or a function of the training step, such as `grown_limits`.
        tell_budget: after each reply that another turn follows, append a user message that says what is left, in the
            words of `rollouts.budget.describe_remaining`, or of a function Left -> str given here. The policy reads it
            and does not train on it; its `name` is "budget".

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Making and starting the
        environment is one Work, report and closing another.

    Raises:
        InputError: a limit out of range, and what an environment raises for a task it cannot take. Whatever else it
            dies of, at any moment, ends its own attempt as infra_error.

    Example:
        plan = linear(max_turns=2)(attempt); work = next(plan); request = plan.send(work.call())

    Idea: the plain loop of every tool-using agent, token in and token out.
    """

    def at(step: int) -> Rules:
        turns = max_turns(step) if callable(max_turns) else max_turns
        bounds = budget(step) if callable(budget) else budget or Budget()
        return Rules(max_turns=turns, budget=bounds, tell_budget=tell_budget)

    first = at(0)
    changes = callable(max_turns) or callable(budget)

    def rollout(attempt: Attempt) -> RolloutPlan:
        return [(yield from Play(attempt, at(attempt.step) if changes else first).run())]

    return rollout
