"""Stage: DPO on rollouts, and on statements about the rewards of rollouts."""

from __future__ import annotations

from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.losses.dpo import dpo
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.papers.tool_star.reward_statements import asked_about, reward_statements, true_statement
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.sources import joined, played
from handaxe.training.stages.teach import teach

__all__ = ["judging_critic"]

WARM_EPOCHS = 8
"""Passes of the warm-up, after which most statements are levels."""


def judging_critic(
    *,
    beta: float = 0.1,
    groups: int = 16,
    group_size: int = 8,
    judging: bool = True,
    warmup: int = 16,
    measured: int = 16,
    epochs: int = 3,
    batch_size: int = 16,
    learning_rate: float = 1e-4,
) -> Stage:
    """Make a stage of self-critic DPO in which the policy also states rewards.

        warm-up            fine-tuning on true statements, in either case: a policy that states no level has no pairs
        rollout pairs      best against worst rollout of a group, by the reward of the run
        statement pairs    right against wrong statement about the reward of a rollout, see `reward_statements`
        loss               -log sigmoid(beta ((logp_w - ref_w) - (logp_l - ref_l))) over both

    Args:
        beta: of DPO; 0.1 in the paper.
        groups, group_size: sampled rollouts, and statements about a rollout.
        judging: use statement pairs; they are measured in either case.
        warmup: groups of rollouts with true statements to fine-tune on; 0 for a policy that states rewards already.
        measured: groups of rollouts after training, about which the policy states rewards.
        epochs, batch_size, learning_rate: as for `prefer`.

    Returns:
        A stage: the rows of `prefer`, or one row without pairs; each with right/before and right/after, the shares of
        right statements before and after the training, and pairs/judging, the number of statement groups with a pair.

    Example:
        16 groups with two levels of reward each  ->  at most 16 rollout pairs and 32 statement pairs

    Paper: arXiv:2505.16410 (Tool-Star), self-critic DPO.
    Unconfirmed: the form of the statement pairs, from memory; how many there are.
    Differs: the warm-up, since a tiny policy never stated a reward; all weights train, where the paper trains a LoRA.
    """

    def stage(site: StageContext) -> list[dict[str, float]]:
        before, after = list[float](), list[float]()
        if warmup:
            _warm_up(site, played(groups=warmup, group_size=group_size))
        rollouts = played(groups=groups, group_size=group_size)
        stated = reward_statements(played=rollouts, group_size=group_size, right=before)
        groups_of_both = joined(sources=(rollouts, stated))(site)
        judged = [one for one in groups_of_both if one.group.task.id.endswith("/reward")]
        kept = groups_of_both if judging else groups_of_both[: len(groups_of_both) - len(judged)]
        rows = prefer(
            source=lambda _: kept,
            pairs=best_against_worst(),
            loss=dpo(beta=beta),
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            optional=True,
        )(site)
        later = played(groups=measured, group_size=group_size)
        out = None if site.out is None else site.out / "measured"
        reward_statements(played=later, group_size=group_size, right=after)(site._replace(out=out, seed=site.seed + 1))
        paired = float(sum(best_against_worst()([one]) != [] for one in judged))
        found = {"right/before": _first(before), "right/after": _first(after), "pairs/judging": paired}
        return [{**row, **found} for row in rows] or [{"step": 0.0, **found}]

    return stage


def _warm_up(site: StageContext, rollouts: Source) -> None:
    """Fine-tune on the true statements about rollouts."""
    here = site._replace(out=None if site.out is None else site.out / "warmup", seed=derive_seed(site.seed, "warmup"))
    lessons = [as_rated([true_statement(task, site.format)]) for task in asked_about(here, rollouts)]
    teach(source=lambda _: lessons, epochs=WARM_EPOCHS, batch_size=8, optional=True)(here)


def _first(found: list[float]) -> float:
    return found[0] if found else float("nan")
