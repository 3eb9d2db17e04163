"""What an attempt has used up: by the turns that stand in it, and by those that were taken back."""

from collections.abc import Iterable

from handaxe.core.records import Spent, Turn

__all__ = ["Used"]

NOTHING = Spent()


class Used:
    """The accounts of one attempt.

    `spent` is what a budget counts, all of it; it is kept only where `counts`. `besides` is what stands in no turn of
    the attempt, for `Trajectory.spent`.

    Example:
        used.take_back(Spent(9, 1)); used.in_place(4) is Spent(5, 1): a turn of 9 tokens went, and 4 of them stand in
        the turn in its place; besides is Spent(5, 1)
    """

    def __init__(self, *, counts: bool, spent: Spent = NOTHING, besides: Spent = NOTHING):
        self.spent = spent
        self.besides = besides
        self._counts = counts
        self._gone = NOTHING

    def turn(self, turn: Turn) -> None:
        """Count a turn that stands, with its replies."""
        if self._counts:
            self.spent = self.spent.plus(turn)

    def add(self, spent: Spent) -> None:
        """Count what stands in no turn."""
        self.besides, self.spent = self.besides.together(spent), self.spent.together(spent)

    def take_back(self, gone: Spent, stood_for: Iterable[Spent] = ()) -> None:
        """Turns that were counted stand no more, nor what they stood in the place of, which is counted already."""
        self.besides = self.besides.together(gone)
        for spent in (gone, *stood_for):
            self._gone = self._gone.together(spent)

    def in_place(self, tokens: int) -> Spent:
        """What was taken back since a turn was put in place last; so many of its tokens are counted with that turn."""
        again = Spent(tokens=-tokens)
        found, self._gone = self._gone.together(again), NOTHING
        self.add(again)
        return found
