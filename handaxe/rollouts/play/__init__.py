"""What a rollout strategy is made of: `Play` is one attempt at work, `Rules` say how long it may go on.

play.py              the turns, and how an attempt ends
rules.py             how long it may go on, and what it may begin from
fork.py              another play that begins like a given one: the same prefix, the environment as it was
attached.py          where each trajectory of a tree left an earlier one
continued.py         a play that goes on after a trajectory
rounds.py            several plays that go on together, a turn at a time
history.py           which messages the present sequence holds
used.py              what it has used up, turns that were taken back included
sequence_builder.py  ids, authors and masks of a sequence while it grows
asking.py            what other engines say in an attempt, such as a simulated user
env_session.py       the environment, from its making to its closing
"""

from handaxe.rollouts.play.history import Continuation
from handaxe.rollouts.play.play import Play, Request
from handaxe.rollouts.play.rules import Beginning, Mark, Rules

__all__ = ["Beginning", "Continuation", "Mark", "Play", "Request", "Rules"]
