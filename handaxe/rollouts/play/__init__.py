"""Building blocks of rollout strategies: `Play` is one rollout in progress, `Rules` its limits.

play.py                 the turns, and the ending
rules.py                limits and options, and the part shared with another play
fork.py                 a play with a prefix of another one, and the environment's state there
attach_branches.py      fork points between the trajectories of a tree
continue_trajectory.py  a play that continues a finished trajectory
replay_turns.py         recorded turns played again in a new environment
rounds.py               several plays that advance together, one turn at a time
takeback.py             turns taken back and replaced
history.py              messages of the current sequence
usage_account.py        usage, with turns taken back
sequence_builder.py     ids, authors and masks of a growing sequence
aux_turns.py            turns of auxiliary policies, such as a simulated user
env_session.py          the environment, from opening to closing
"""

from handaxe.rollouts.play.history import Continuation
from handaxe.rollouts.play.play import Play, Request
from handaxe.rollouts.play.rules import Beginning, Mark, Rules

__all__ = ["Beginning", "Continuation", "Mark", "Play", "Request", "Rules"]
