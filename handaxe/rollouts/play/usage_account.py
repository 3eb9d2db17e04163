"""Account of the resources of one rollout."""

from collections.abc import Callable

from handaxe.core.images import Image
from handaxe.core.records import Turn
from handaxe.core.usage import Usage

__all__ = ["UsageAccount"]

NOTHING = Usage()


class UsageAccount:
    """Usage of a rollout, by turns of its trajectory and outside of them.

    `spent` is the usage that a budget counts; it is maintained only if `counts`. `outside` is usage that no turn of the
    trajectory holds, for `Trajectory.total_usage`. `count` gives the tokens of an image.

    Example:
        account.add_turn(turn); account.add_outside(Usage(9, 1)): outside is Usage(9, 1), spent that and the turn
    """

    def __init__(
        self,
        *,
        counts: bool,
        spent: Usage = NOTHING,
        outside: Usage = NOTHING,
        count: Callable[[Image], int] | None = None,
    ):
        self.spent = spent
        self.outside = outside
        self._counts = counts
        self._count = count

    def add_turn(self, turn: Turn) -> None:
        """Count a turn of the trajectory, with its replies."""
        if self._counts:
            self.spent = self.spent.plus_turn(turn, self._count)

    def add_outside(self, usage: Usage, *, spent: bool = True) -> None:
        """Count usage outside of all turns.

        Args:
            spent: False for a turn that leaves the trajectory, which `spent` holds already.
        """
        self.outside = self.outside.plus(usage)
        if spent:
            self.spent = self.spent.plus(usage)
