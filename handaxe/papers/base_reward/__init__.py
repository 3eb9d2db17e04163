"""BaseReward: a reward model of images by the simplest recipe that works, as a reward where no rule decides."""

from handaxe import rewards
from handaxe.judges.drawing_model import drawing_model
from handaxe.methods.method import Method, replace

__all__ = ["base_reward"]


def base_reward(base: Method, *, labels: int = 960, judged: float = 1.0) -> Method:
    """Reward drawings by the rule where a task is verifiable, else by the sigmoid of a reward model.

        R_i = correct_i of a task with an image ("change"),  else judged * sigmoid(score_i)

    Args:
        labels: requests with a pair each, from which the reward model learns.
        judged: weight of the reward model; 0 leaves requests without a rule without a reward.
    """
    score = rewards.judged(judge=drawing_model(world=base.world, labels=labels, epochs=2), squash="sigmoid")
    open_ended = rewards.weighted({"sigmoid": (judged, score), "correct": (0.0, base.reward)})
    verifiable = rewards.weighted({"sigmoid": (0.0, score), "correct": (1.0, base.reward)})
    return replace(base, reward=rewards.dispatch(key="kind", rewards={"change": verifiable, "make": open_ended}))
