"""URPO (arXiv:2507.17515): one model is policy and referee, trained on a mixture of three kinds of tasks."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.urpo.kendall_reward import kendall_reward
from handaxe.papers.urpo.self_referee import self_referee
from handaxe.papers.urpo.unified_tasks import mix_parts
from handaxe.worlds.mixture import PART

__all__ = ["urpo"]


def urpo(base: Method, *, verifiable: int = 1, ranking: int = 2, open: int = 1) -> Method:
    """Reward verifiable tasks by rule, rankings by Kendall's tau, and open-ended answers by the policy's own scores.

    Channels: "judged" (scores of the referee) and "quality" (true scores), of open-ended groups.

    Args:
        verifiable: tasks of the kind in a cycle of training; 0 for none.
        ranking: rankings in a cycle.
        open: open-ended requests in a cycle.
    """
    referee = self_referee(desk=base.judge.texts(), rule=base.world.correct)
    by_part = {
        "verifiable": base.reward,
        "ranking": kendall_reward(),
        "open": rewards.weighted({"judged": (1.0, referee), "quality": (0.0, base.reward)}),
    }
    mix = mix_parts(verifiable=verifiable, ranking=ranking, open=open)
    return replace(base, reward=rewards.dispatch(key=PART, rewards=by_part), tasks=mix)
