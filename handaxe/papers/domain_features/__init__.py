"""Domain knowledge in reward models (arXiv:2402.15473): a reward model of features that experts name."""

from typing import Literal

from handaxe import judges, rewards
from handaxe.core.protocols import Judge, Learner, Stage
from handaxe.methods.labelled_rollouts import labelled_rollouts
from handaxe.methods.method import Method, replace
from handaxe.methods.pair_reward_model import pair_reward_model
from handaxe.papers.domain_features.trace_features import TRACE_FEATURES, trace_features
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.fit import fit

__all__ = ["domain_features"]


def domain_features(
    base: Method, *, sees: Literal["features", "text"] = "features", fit_groups: int = 6, fit_epochs: int = 8
) -> Method:
    """Fit a reward model of seven features on few groups of the first policy, and train on its score.

    Args:
        sees: "features", or "text", a copy of the policy with a linear head.
        fit_groups: groups on which the reward model is fitted.
        fit_epochs: passes of the model of the text over its pairs.
    """
    text, text_stage = pair_reward_model(base, channel="correct", groups=fit_groups, epochs=fit_epochs)
    net = judges.feature_net(features=trace_features(), size=len(TRACE_FEATURES), pairs=ordered(), channel="correct")
    chosen: dict[str, tuple[Judge, Learner, Stage]] = {
        "features": (net, net, fit(judge=net, source=labelled_rollouts(base, groups=fit_groups))),
        "text": (text, text, text_stage),
    }
    judge, learner, stage = chosen[sees]
    return replace(
        base,
        reward=rewards.weighted({"model": (1.0, rewards.judged(judge=judge)), "correct": (0.0, base.reward)}),
        stages=(*base.stages, stage),
        learners=(*base.learners, learner),
    )
