"""G-RA (arXiv:2508.10548): accumulate step rewards only if the outcome exceeds a gate."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.gated.outcome_state import outcome_state
from handaxe.papers.gated.withheld import withheld
from handaxe.papers.gated.workspace import final_state
from handaxe.rewards.ladder import Rung

__all__ = ["gated"]


def gated(base: Method, *, gate: float = 0.0, step: float = 1.0) -> Method:
    """Reward the final state of the work, and above the gate also successful calls.

    Channel "withheld" has the share of rollouts with step rewards that the gate withholds.

    Args:
        gate: g; the outcome is -1 (not submitted), 0 (unchanged), 0.5 (changed) or 1 (correct). Below -1 the gate is
            always open: the direct accumulation that the paper compares with.
        step: reward of a turn with successful calls, and penalty of one with a failed call. Unconfirmed; 1 lets the
            steps of a rollout outweigh its outcome, so that runs without a gate show the fault.
    """
    outcome = outcome_state(state=final_state)
    ran = rewards.reply_status(values={"ok": 1.0, "retry": -1.0, "failed": -1.0, "invalid": -1.0}, malformed=-1.0)
    steps = rewards.turns_to_outcome(ran)
    ladder = rewards.ladder((Rung("outcome", outcome, above=gate), Rung("steps", steps, weight=step)))
    closed = withheld(outcome=outcome, steps=steps, gate=gate)
    return replace(base, reward=rewards.weighted({"gated": (1.0, ladder), "withheld": (0.0, closed)}))
