"""ONI (arXiv:2410.23022): reward messages by labels that arrive during training, less for each repetition."""

from handaxe import credit, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.oni.counted_messages import counted_messages
from handaxe.papers.oni.label_desk import LabelDesk
from handaxe.papers.oni.message_reward import Variant, message_reward
from handaxe.papers.oni.messages import mentions

__all__ = ["oni"]


def oni(
    base: Method,
    *,
    variant: Variant = "retrieval",
    c_llm: float = 0.4,
    c_ext: float = 10.0,
    beta: float = 3.0,
    batch: int = 100,
    words: tuple[str, ...] = ("+key", "open"),
    gamma: float = 0.99,
) -> Method:
    """Add the reward of each turn's message to the base's reward; a desk labels new messages after each step.

    Args:
        variant: reward of a message by its label (retrieval), by a classifier (classification), or by a network that
            learns from pairs (ranking).
        c_llm: weight of messages; 0 leaves the extrinsic reward.
        c_ext: weight of the base's reward; 10 in the paper's sparse tasks, 0.1 in its dense one.
        beta: exponent of the count of a message in the rollout; 0 pays repetitions in full.
        batch: most labels of a step.
        words: a message with one of these is helpful, by the rule that labels unless `--judge` names a model.
        gamma: discount per turn of the credit.
    """
    rule = mentions(words)
    judge = base.judge.steps(rule=rule, prompt="oni/helpful", low=0.0, high=1.0)
    reward = message_reward(variant)
    desk = LabelDesk(judge=judge, rule=rule, reward=reward, batch=batch)
    messages = counted_messages(scores=reward.scores, beta=beta)
    return replace(
        base,
        reward=rewards.weighted({"external": (c_ext, base.reward), "messages": (c_llm, messages)}),
        credit=credit.turn_norm(norm="index", order="sum_first", gamma=gamma),
        learners=(*base.learners, desk),
    )
