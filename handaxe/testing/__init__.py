"""Contract checks for your own components, and test doubles.

from handaxe.testing import check_reward, make_group

check_reward(my_reward, make_group(...))        # raises AssertionError with the broken promise
"""

from handaxe.testing.batches import random_batch, random_policy
from handaxe.testing.credit import check_credit
from handaxe.testing.engine_contract import check_engine
from handaxe.testing.faults import FaultLog, faulty, faulty_env
from handaxe.testing.formats import check_format
from handaxe.testing.judges import check_judge
from handaxe.testing.losses import check_loss
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.testing.pairs import check_pairs
from handaxe.testing.random_groups import random_group, random_scores
from handaxe.testing.rewards import check_reward
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.selectors import check_selector, check_transform
from handaxe.testing.task_contract import check_tasks
from handaxe.testing.tools import check_env, check_mcp, check_no_leak, check_tool
from handaxe.testing.worlds import check_world

__all__ = [
    "FaultLog",
    "ScriptedEngine",
    "check_credit",
    "check_engine",
    "check_env",
    "check_format",
    "check_judge",
    "check_loss",
    "check_mcp",
    "check_no_leak",
    "check_pairs",
    "check_reward",
    "check_selector",
    "check_tasks",
    "check_tool",
    "check_transform",
    "check_world",
    "faulty",
    "faulty_env",
    "make_group",
    "make_rated",
    "make_scores",
    "make_task",
    "make_trajectory",
    "random_batch",
    "random_group",
    "random_policy",
    "random_scores",
]
