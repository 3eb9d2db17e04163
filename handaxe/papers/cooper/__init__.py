"""Cooper (arXiv:2508.05613): train the reward model beside the policy, on positives that a rule trusts."""

from functools import partial

from handaxe import judges, rewards
from handaxe.core.heads import Head
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.papers.cooper.against_corrupted import AgainstCorrupted, against_corrupted
from handaxe.papers.cooper.answer_verifier import AnswerVerifier, answer_verifier
from handaxe.papers.cooper.reward_gap import reward_gap
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit

__all__ = ["cooper"]


def cooper(
    base: Method,
    *,
    learns: bool = True,
    reads_reference: bool = False,
    fit_groups: int = 24,
    fit_epochs: int = 8,
    model_rate: float = 3e-4,
) -> Method:
    """Reward rollouts by a reward model that is trained on corrected and corrupted answers in every step.

    Args:
        learns: update the reward model in every step; False keeps it as it was fitted.
        reads_reference: the reward model reads question, reference answer and final answer; False shows it the rollout.
        fit_groups: groups of the first policy on which the reward model is fitted.
        fit_epochs: passes over their pairs; an update during training is one pass.
        model_rate: learning rate of the reward model.
    """
    pairs = against_corrupted(rule=base.reward)
    model = _make_model(pairs, learns, reads_reference, fit_epochs, model_rate)
    source = pairs.with_format(labelled_rollouts(base, groups=fit_groups))
    score = rewards.judged(judge=model, squash="sigmoid")
    return replace(
        base,
        reward=rewards.weighted({"model": (1.0, score), "correct": (0.0, base.reward)}),
        stages=(*base.stages, fit(judge=model, source=source)),
        learners=(*base.learners, model, reward_gap(model="model", truth="correct")),
    )


def _make_model(
    pairs: AgainstCorrupted, learns: bool, reads_reference: bool, fit_epochs: int, rate: float
) -> RewardModel | AnswerVerifier:
    own = partial(judges.reward_model, head=Head(init="zeros"), batch_size=32, learns=learns, channel="correct")
    make = partial(own, fit_pairs=ordered(), fit_epochs=fit_epochs, learning_rate=rate)
    return answer_verifier(make=make, pairs=pairs) if reads_reference else make(pairs=pairs)
