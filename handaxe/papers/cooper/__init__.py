"""Cooper (arXiv:2508.05613): train the reward model beside the policy, on positives that a rule trusts."""

from handaxe import judges, rewards
from handaxe.core.heads import Head
from handaxe.core.protocols import StageContext
from handaxe.core.records import RatedGroup
from handaxe.methods.method import Method, replace
from handaxe.papers.cooper.against_corrupted import against_corrupted
from handaxe.papers.cooper.reward_gap import reward_gap
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit
from handaxe.training.stages.sources import played

__all__ = ["cooper"]


def cooper(
    base: Method, *, learns: bool = True, fit_groups: int = 24, fit_epochs: int = 8, model_rate: float = 3e-4
) -> Method:
    """Reward rollouts by a reward model that is trained on corrected and corrupted answers in every step.

    Args:
        learns: update the reward model in every step; False keeps it as it was fitted.
        fit_groups: groups of the first policy on which the reward model is fitted.
        fit_epochs: passes over their pairs; an update during training is one pass.
        model_rate: learning rate of the reward model.
    """
    pairs = against_corrupted(rule=base.reward)
    model = judges.reward_model(
        head=Head(init="zeros"),
        pairs=pairs,
        fit_pairs=ordered(),
        batch_size=32,
        fit_epochs=fit_epochs,
        learning_rate=model_rate,
        learns=learns,
        channel="correct",
    )

    def source(site: StageContext) -> list[RatedGroup]:
        pairs.format = site.format
        arguments = {"reward": base.reward}
        return played(groups=fit_groups, group_size=base.settings.group_size, arguments=arguments)(site)

    score = rewards.judged(judge=model, squash="sigmoid")
    return replace(
        base,
        reward=rewards.weighted({"model": (1.0, score), "correct": (0.0, base.reward)}),
        stages=(*base.stages, fit(judge=model, source=source)),
        learners=(*base.learners, model, reward_gap(model="model", truth="correct")),
    )
