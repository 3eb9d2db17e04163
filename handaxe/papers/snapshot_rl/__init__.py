"""S3RL (arXiv:2403.00673): start the first training steps at snapshots of a teacher's best rollouts."""

from handaxe import credit
from handaxe.advantages import mask_shared_prefix
from handaxe.methods.method import Method, replace
from handaxe.papers.snapshot_rl.snapshot_rollout import snapshot_rollout
from handaxe.papers.snapshot_rl.snapshot_store import SnapshotStore
from handaxe.papers.snapshot_rl.snapshot_tasks import snapshot_tasks

__all__ = ["snapshot_rl"]


def snapshot_rl(
    base: Method,
    *,
    clusters: int = 6,
    snapshot_steps: int = 6,
    truncate: int = 6,
    episodes: int = 128,
    best: int = 64,
) -> Method:
    """Start rollouts of the first steps at snapshots of the world's expert; then start as the base does.

    Args:
        clusters: classes of snapshots, drawn uniformly; 6 in the paper's scripts, 1 draws snapshots uniformly.
        snapshot_steps: training steps with snapshots; a tenth of the paper's run of TD3.
        truncate: turns after the snapshot; a tenth of the paper's time limit.
        episodes: rollouts of the teacher, one per training task.
        best: rollouts with the highest rewards that give snapshots.
    """
    store = SnapshotStore(world=base.world, clusters=clusters, episodes=episodes, best=best)
    return replace(
        base,
        stages=(*base.stages, store.stage),
        tasks=snapshot_tasks(store=store, steps=snapshot_steps, after=base.tasks or base.world.curriculum),
        rollout=snapshot_rollout(starts=store.start, truncate=truncate, after=base.rollout),
        credit=credit.transformed(base.credit, mask_shared_prefix()),
        learners=(*base.learners, store),
    )
