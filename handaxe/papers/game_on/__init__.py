"""Game On (arXiv:2409.03402): an experimenter proposes skills and compositions, and judges progress from frames."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.game_on.experimenter import Proposals, experimenter
from handaxe.papers.game_on.progress_judge import progress_judge

__all__ = ["game_on"]


def game_on(base: Method, *, proposals: Proposals = "experimenter", mastered: float = 0.8) -> Method:
    """Collect data on proposed tasks, with a reward that a judge reads from the frames.

    Args:
        proposals: "experimenter" proposes tasks by success rates, "uniform" draws from all tasks.
        mastered: success rate from which a skill needs no more practice. Unconfirmed.
    """
    return replace(
        base,
        reward=rewards.weighted({"frames": (1.0, progress_judge())}),
        tasks=experimenter(choice=proposals, mastered=mastered),
    )
