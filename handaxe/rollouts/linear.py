"""Linear rollout: policy and environment alternate on one sequence."""

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
    """Play one rollout turn by turn on one growing sequence.

        ids = opening + sampled_0 + reply_0 + sampled_1 + ...        only sampled ids train

    The policy's turn ends at a stop id (finish "stop"), at the length limit ("length": its calls are not executed and
    the rollout ends truncated), or at another speaker's header ("header": a policy_error). Every turn has a separate
    seed, derived from the rollout's. If the chat format rewrites history, a new sequence begins and holds the rewritten
    history as context. A reply that exceeds the remaining context ends the rollout truncated for "length"; the messages
    hold it, the sequence holds none of its tokens.

    If a turn makes more calls than the budget allows, the first ones are executed and the rollout ends truncated for
    "budget", unless the environment ended it. A rollout stopped from outside keeps the sampled tokens of its turn,
    whose calls are not executed, and ends truncated for "stopped".

    Args:
        max_turns: turns of the policy, >= 1; the last one may get no reply. If the environment is not done by then, the
            rollout ends truncated for "turns". Or a function of the training step, such as `horizon`; evaluations
            run at step 0, so give them a number.
        budget: resource limits over all turns (see `rollouts.budget`); an exhausted one means truncated for "budget".
            Or a function of the training step, such as `grown_limits`.
        tell_budget: after each reply with a following turn, append a user message on the remaining budget, written by
            `rollouts.budget.describe_remaining` or by a given function Remaining -> str. The policy reads it and does
            not train on it; its `name` is "budget".

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Making and starting the
        environment is one Work, report and closing another.

    Raises:
        InputError: a limit out of range, or a task that the environment rejects. Any other failure of the environment
            ends its rollout as infra_error.

    Example:
        plan = linear(max_turns=2)(attempt); work = next(plan); request = plan.send(work.call())

    Idea: the standard loop of tool-using agents, token in and token out.
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
