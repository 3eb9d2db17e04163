"""VerlTool (arXiv:2509.01055): run trajectories asynchronously, so that none waits for another's tool."""

from handaxe import selection
from handaxe.methods.method import Method, replace

__all__ = ["verltool"]


def verltool(base: Method, *, lockstep: bool = False) -> Method:
    """Train with asynchronous rollouts; a rollout cut by a limit counts in its group and is masked.

    Args:
        lockstep: let all trajectories wait for each other's tools, the synchronous rollout of the comparison.
    """
    mask = selection.mask_overlong(reasons=("length", "turns"))
    return replace(
        base, select=selection.pipe(base.select, mask), async_config=replace(base.async_config, lockstep=lockstep)
    )
