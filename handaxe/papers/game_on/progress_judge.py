"""Judge of success from the first and the last frame."""

from __future__ import annotations

from handaxe.core.images import message_images
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.papers.game_on.grid_moves import after_moves
from handaxe.papers.game_on.moves_room import agent_cell
from handaxe.rewards.outcome import outcome

__all__ = ["progress_judge"]


def progress_judge() -> Reward:
    """Give 1 if the frames show that the task is done, else 0.

        R_i = 1 if cell(last frame) = cell(first frame) + moves of the task, else 0

    cell(frame) is the cell with most of the agent's red. The judge reads frames and the names of the skills, and never
    the state of the room.

    Returns:
        A reward with outcome [G] of 0 and 1. A rollout without a second frame: 0.

    Example:
        skills up, left; the agent in column 1, row 2 of the first frame, and in column 0, row 1 of the last -> 1

    Paper: arXiv:2409.03402 (Game On), judging progress from observations.
    Differs: a rule on pixels replaces a vision-language model.
    """

    def score(trajectory: Trajectory) -> float:
        opening = message_images(trajectory.task.messages)
        shown = [image for turn in trajectory.turns for reply in turn.replies for image in reply.images]
        first = agent_cell(opening[0]) if opening else None
        if first is None or not shown:
            return 0.0
        return float(agent_cell(shown[-1]) == after_moves(first, trajectory.task.metadata["skills"]))

    return outcome(score)
