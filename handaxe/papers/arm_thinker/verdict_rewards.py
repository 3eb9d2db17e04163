"""Parts of the reward for a judge's verdict: the form, the value of a wrong one, and a successful tool call.

Paper: arXiv:2512.05111 (ARM-Thinker), the reward of its first stage.

Example:
    FORMED of "46: 1" is 1, of "1" it is 0; WRONG is 0.4 after a call, else 0.3
"""

from handaxe.core.protocols import Reward
from handaxe.papers.arm_thinker.judged_plates import parse_verdict, tool_use
from handaxe.rewards.outcome import outcome

__all__ = ["FORMED", "RIGHT", "SUCCEEDED", "WRONG"]

FORMED: Reward = outcome(lambda one: float(parse_verdict(one.final_text) is not None))
"""1 for an answer in the exact form, else 0."""
RIGHT: Reward = outcome(lambda one: 1.0)
"""1: value of a correct verdict."""
WRONG: Reward = outcome(lambda one: 0.4 if tool_use(one)[0] else 0.3)
"""Value of a wrong verdict in the form: 0.4 if a tool was called, else 0.3."""
SUCCEEDED: Reward = outcome(lambda one: float(tool_use(one)[1]))
"""1 if a tool call succeeded, else 0."""
