"""OneReward (paper 59): one judge of pictures for several tasks and criteria, as the reward of a multi-task policy."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.ops.once import once
from handaxe.papers.one_reward.drawn_criterion import drawn_criterion
from handaxe.papers.one_reward.questions import draw_questions
from handaxe.papers.one_reward.tagged_judge import TaggedJudge, Tags

__all__ = ["one_reward"]

SEED = 59
"""Of the questions that the judge learns from."""


def one_reward(
    base: Method, *, tags: Tags = "tagged", questions: int = 450, noise: float = 0.4, kept: float = 1.0
) -> Method:
    """Reward pictures by the Yes of one judge for a drawn criterion; the first reward fits the judge on questions.

    Args:
        tags: "tagged", or "untagged" for a judge without task and criterion.
        questions: training questions of the judge.
        noise: standard deviation of the annotators' errors.
        kept: weight of the criterion kept; that of followed is 1.
    """

    @once
    def judge() -> TaggedJudge:
        found = TaggedJudge(tags=tags)
        found.fit(draw_questions(questions, seed=SEED, noise=noise, kinds=("dye", "add")))
        return found

    yes = drawn_criterion(judge=judge, weights={"followed": 1.0, "kept": kept})
    parts = {"yes": (1.0, yes), "correct": (0.0, base.reward)}
    return replace(base, reward=rewards.weighted(parts))
