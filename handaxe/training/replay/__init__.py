"""Replay of recorded rollouts without a model.

attempts: replay of a group, and its discrepancies. answers: replies to a plan's requests, from the record or by the
real tools. recorded: turns and environments of a recorded trajectory. discrepancies: comparison of two trajectories.
"""

from handaxe.training.replay.answers import Setup
from handaxe.training.replay.attempts import Replayed, group_attempts, replay

__all__ = ["Replayed", "Setup", "group_attempts", "replay"]
