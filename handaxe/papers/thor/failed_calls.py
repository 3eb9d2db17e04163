"""Fork points shortly before failed calls."""

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Trajectory
from handaxe.rollouts.forking import Choose
from handaxe.rollouts.resample_failed_turn import failed_at

__all__ = ["failed_calls"]


def failed_calls(*, copies: int = 8, back: int = 0, most: int = 1) -> Choose:
    """Choose fork points before the first turns with a failed call, several times each.

        place of turn k = max(start of turn k, start of its first failed call - back)        `copies` times each

    A failed call is malformed, or has a reply other than "ok" and "infra_error". Every fork keeps the thought before
    the call except for its last `back` tokens, and calls again.

    Args:
        copies: forks at each place, >= 0; 0 chooses nothing. 16 in the paper's script.
        back: L, tokens of the thought before the call that are resampled, too, >= 0; 100 in the paper's script.
        most: maximum number of turns with a failed call, >= 1, the first ones, so that a trunk of failures has no more
            forks than others.

    Returns:
        Trajectory -> places for `forking(at=...)`, grouped by turn; none without a failed call. If the start of a call
        is unknown, as for malformed ones, it is the start of its turn.

    Raises:
        InputError: a number out of range.

    Example:
        a turn at ids 20 to 40 whose call, refused, is at 32 to 39; copies 2
        back 0: 32, 32      back 5: 27, 27      back 100: 20, 20

    Paper: THOR, step-level optimisation of code (arXiv:2509.13761).
    Differs: the limit is on turns of a trunk; the paper takes every failed step, its script at most as many places as
        it has questions.
    """
    if copies < 0 or back < 0 or most < 1:
        raise InputError(f"failed_calls has copies={copies}, back={back} and most={most}; give 0, 0 and 1 or more")

    def choose(trunk: Trajectory) -> list[Branch]:
        begins = [(turn, failed_at(turn)) for turn in trunk.turns]
        failed = [(turn, begin) for turn, begin in begins if begin is not None][:most]
        places = [Branch(trunk.id, turn.sequence, max(turn.start, turn.start + begin - back)) for turn, begin in failed]
        return [place for place in places for _ in range(copies)]

    return choose
