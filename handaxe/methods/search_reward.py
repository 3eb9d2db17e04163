"""Change of a method: a search before the run replaces the reward by a program."""

from typing import Any

from handaxe.methods.method import Method, replace
from handaxe.methods.rl_stage import update_arguments
from handaxe.training.stages.parts.program_search import FeedbackMaker, Writer
from handaxe.training.stages.parts.searched_reward import SearchedReward
from handaxe.training.stages.reward_search import reward_search

__all__ = ["search_reward", "trial_arguments"]


def search_reward(
    base: Method, *, author: Writer, feedback: FeedbackMaker, programs: int, rounds: int, trial_steps: int
) -> Method:
    """Precede a method by a search, and replace the reward by the best program.

    The world's correctness rule scores the trials, which have credit, loss, groups, group size and learning rate of the
    method. The method's own reward stays if every program fails.

    Args:
        base: with a stateless selector and credit, since the trials and the run use the same objects.
        author, feedback, programs, rounds: see `reward_search`.
        trial_steps: training steps of a trial.
    """
    reward = SearchedReward(base.reward)
    search = reward_search(
        reward=reward,
        task=base.world.correct,
        author=author,
        feedback=feedback,
        arguments=trial_arguments(base, steps=trial_steps),
        programs=programs,
        rounds=rounds,
    )
    return replace(base, reward=reward, stages=(*base.stages, search))


def trial_arguments(method: Method, *, steps: int) -> dict[str, Any]:
    """Arguments of `train` for a trial: credit, loss, sizes and learning rate of a method, and a number of steps."""
    own = method.settings
    sizes = {"groups": own.groups, "group_size": own.group_size, "learning_rate": own.learning_rate}
    return {**update_arguments(method), **sizes, "steps": steps}
