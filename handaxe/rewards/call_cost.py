"""Rewards few calls."""

from collections.abc import Callable, Collection
from typing import Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome

__all__ = ["Form", "call_cost"]

Form = Literal["inverse", "linear", "none", "near"]


def call_cost(
    *,
    form: Form = "linear",
    limit: int = 3,
    reference: Callable[[Task], int] | None = None,
    tools: Collection[str] = (),
) -> Reward:
    """Score a rollout by the number of calls. `gate` and `ladder` restrict the reward to correct rollouts.

        m           well-formed calls, of `tools` if given
        inverse     1 / (m + 1)
        linear      max(0, 1 - m / limit)
        none        1 if m = 0, else 0
        near        max(0, 1 - |m - ref| / max(ref, 1))        ref = reference(task)

    Args:
        form: inverse, linear, none or near.
        limit: of linear, the number of calls with reward 0, 1 or more; 3 in the paper.
        reference: of near, the number of calls that a task needs.
        tools: names of counted tools; empty for all.

    Returns:
        A reward with outcome [G] in [0, 1].

    Raises:
        InputError: an unknown form, limit below 1, near without a reference, a string for tools.

    Example:
        0, 1, 2 and 5 calls: linear with limit 3 -> 1, 2/3, 1/3, 0;  inverse -> 1, 1/2, 1/3, 1/6;  none -> 1, 0, 0, 0;
        near with reference 2 -> 0, 1/2, 1, 0

    Paper: linear times 0.6 is arXiv:2505.07596 (IKEA), r_kb of correct answers. arXiv:2604.08545 (HDPO), r_tool, is
        gate(on=correct, then=call_cost(form="inverse"), mark_eligible=True).
    Unconfirmed: near, for the tool term of arXiv:2510.27569 (MARAG-R1).
    Differs: nothing.
    """
    if form not in ("inverse", "linear", "none", "near"):
        raise InputError(f"form is {form!r}; give inverse, linear, none or near")
    if limit < 1 or isinstance(tools, str):
        raise InputError(f"limit is {limit} and tools are {tools!r}; give a limit of 1 or more, and names of tools")
    if form == "near" and reference is None:
        raise InputError("near needs reference=, a function of a task that returns its number of calls")
    names = set(tools)

    def worth(trajectory: Trajectory) -> float:
        made = sum(not names or call.name in names for call in trajectory.calls)
        if form == "near" and reference is not None:
            wanted = reference(trajectory.task)
            return max(0.0, 1 - abs(made - wanted) / max(wanted, 1))
        return {"inverse": 1 / (made + 1), "linear": max(0.0, 1 - made / limit), "none": float(made == 0)}[form]

    return outcome(worth)
