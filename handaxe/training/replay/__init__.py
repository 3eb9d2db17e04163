"""Recorded attempts played again without a model.

attempts: a group's attempts, and what differs. answers: what a plan asks for, from the record or by the real tools.
recorded: what a trajectory says of its turns and its environment. discrepancies: what tells two trajectories apart.
"""

from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import Replayed, attempts_of, replay

__all__ = ["Replayed", "Setup", "attempts_of", "replay"]
