"""Pangu-Agent (arXiv:2312.14878): functions of one model before every action, fine-tuned on successes, then trained."""

from handaxe import selection
from handaxe.methods.method import Method, replace
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach

__all__ = ["pangu_agent"]


def pangu_agent(
    base: Method, *, rounds: int = 1, episodes: int = 24, passes: int = 2, teach_rate: float = 3e-4
) -> Method:
    """Fine-tune all functions on the agent's own successes (bootstrapped SFT), and train them with PPO.

    Args:
        rounds: of episodes and fine-tuning; 0 for PPO alone.
        episodes: tasks of a round, with the group size of the run.
        passes: epochs over the successes.
        teach_rate: learning rate of fine-tuning.
    """
    source = played(groups=episodes, group_size=base.settings.group_size)
    successes = selection.keep_successes()
    stage = teach(source=source, select=successes, epochs=passes, learning_rate=teach_rate, optional=True)
    return replace(base, stages=(*base.stages, repeat(stages=[stage], times=rounds)))
