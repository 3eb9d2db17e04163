"""G-RA: what steps earn counts only where the outcome is above a gate."""

from handaxe.methods.method import Method, replace
from handaxe.papers.gated.outcome_state import outcome_state
from handaxe.papers.gated.workspace import state_of
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.reply_status import reply_status
from handaxe.rewards.total import total

__all__ = ["gated"]


def gated(base: Method, *, gate: float = 0.0, step: float = 1.0) -> Method:
    """Train on the state in which the work was left, and beyond the gate also on calls that ran.

    Args:
        gate: g; the outcome is -1 (not submitted), 0 (as it was), 0.5 (changed) or 1 (right). Below -1 it is always
            open, which is the direct accumulation that the paper compares with.
        step: what a turn earns whose calls ran, and loses by one that did not; unconfirmed. It is 1 so that
            runs without a gate show the vice: the steps of a whole attempt are worth more than its outcome.
    """
    left = Rung("outcome", outcome_state(state=state_of), above=gate)
    ran = reply_status(values={"ok": 1.0, "retry": -1.0, "failed": -1.0, "invalid": -1.0}, malformed=-1.0)
    return replace(base, reward=ladder((left, Rung("steps", total(ran), weight=step))))
