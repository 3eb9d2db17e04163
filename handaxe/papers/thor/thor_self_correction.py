"""THOR (arXiv:2509.13761), at inference: take back a turn with a failed call, and resample it."""

from handaxe.methods.method import Method, replace
from handaxe.rollouts.resample_failed_turn import resample_failed_turn

__all__ = ["thor_self_correction"]


def thor_self_correction(base: Method, *, retries: int = 4, rewind_tokens: int = 20) -> Method:
    """Train as the base does; in evaluations, resample turns with a failed call.

    Args:
        retries: resamples of a failed turn, N in the paper; 4 there.
        rewind_tokens: tokens before the call that are resampled, too. Unconfirmed; 500 in the released code.
    """
    rollout = resample_failed_turn(retries=retries, back=rewind_tokens, max_turns=base.settings.max_turns)
    return replace(base, evaluate_rollout=rollout)
