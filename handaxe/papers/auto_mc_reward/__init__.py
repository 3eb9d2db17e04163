"""Auto MC-Reward (arXiv:2312.09238): a designer, a critic and an analyser of failed rollouts, with signs as reward."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.methods.program_author import program_author
from handaxe.methods.search_reward import trial_arguments
from handaxe.papers.auto_mc_reward.advised import advised
from handaxe.papers.auto_mc_reward.analysed_search import ReviewRoles, analysed_search
from handaxe.papers.auto_mc_reward.bounded_programs import bounded_programs
from handaxe.papers.auto_mc_reward.failure_feedback import failure_feedback
from handaxe.papers.auto_mc_reward.sign_bounded import sign_bounded
from handaxe.training.stages.parts.program_search import TASK
from handaxe.training.stages.parts.repaired import repaired
from handaxe.training.stages.parts.searched_reward import SearchedReward

__all__ = ["auto_mc_reward"]


def auto_mc_reward(
    base: Method,
    *,
    programs: int = 4,
    rounds: int = 3,
    trial_steps: int = 4,
    critic_rounds: int = 3,
    analysis: bool = True,
    bounded: bool = True,
    author: str = "grammar",
    reviewer: str = "rule",
    analyser: str = "rule",
) -> Method:
    """Add signs of a searched program to the sign of the correctness rule; the base's other roles stay.

    Args:
        programs: of a round; one in the paper.
        rounds: of programs; a later round reads the causes of failed rollouts.
        trial_steps: training steps of a program's trial.
        critic_rounds: most objections of the critic that return to the author of a program; 0 for no critic.
        analysis: return causes of failed rollouts to the author; without, the best program alone.
        bounded: take signs of both parts; without, the plain sum of correctness and program.
        author: who writes the programs: grammar, a model, or http://HOST/v1#NAME for a model of a chat server.
        reviewer: the critic of a program that runs: rule (a total of one sign), self, a model, or http://HOST/v1#NAME.
        analyser: who reads failed rollouts, likewise; the rule compares numbers of failed and solved rollouts.
    """
    own = replace(base, credit=sign_bounded(credit=base.credit, bounded=bounded))
    written_by = program_author(author, goal=base.world.name)
    designed = repaired(author=advised(author=written_by.write), repair=written_by.repair, repairs=critic_rounds)
    reward = SearchedReward(rewards.weighted({TASK: (0.0, base.world.correct)}))
    search = analysed_search(
        reward=reward,
        task=base.world.correct,
        author=bounded_programs(author=designed, bounded=bounded),
        feedback=failure_feedback(analysis=analysis),
        arguments=trial_arguments(own, steps=trial_steps),
        programs=programs,
        rounds=rounds,
        roles=ReviewRoles(base.world.name, reviewer, analyser),
    )
    both = rewards.weighted({"program": (1.0, reward), TASK: (1.0, base.world.correct)})
    return replace(own, reward=both, stages=(*base.stages, search))
