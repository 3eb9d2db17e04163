"""Credits kept apart, each for a loss of its own."""

from collections.abc import Mapping
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.composite import Composite

__all__ = ["per_channel"]


def per_channel(credit: Credit, channels: Mapping[str, Credit]) -> Credit:
    """Give one credit as the advantages of the policy loss, and others beside it, each for a term of its own.

        A = credit(group, scores)        A^c = channels[c](group, scores) for every c, in Advantages.channels

    They meet in the gradient only: `papers.hdpo.channel_loss` gives each channel a ratio, a clip and a denominator. A
    sum of credits (`credit.total`) is another loss wherever the two differ in sign and the ratio is clipped, and
    wherever one of them is 0 on whole attempts, since a term divides by those that it says something of.

    Args:
        credit: of the policy loss; value targets, and which tokens train, are its own.
        channels: name -> credit without value targets and without a choice of tokens.

    Returns:
        A credit: (Group, Scores) -> Advantages with channels. Its state is that of its stateful parts by their names,
        "" for the main one.

    Raises:
        InputError: no channel, a channel named "", or a channel's credit with value targets or a choice of tokens.

    Example:
        rewards 1, 0 and a channel "speed" of 1, 3 under std None
        ->  tokens 0.5, -0.5 and channels["speed"] -1, 1

    Paper: arXiv:2604.08545 (HDPO), whose accuracy and efficiency advantages enter two losses.
    Differs: nothing.
    """
    if not channels or "" in channels:
        raise InputError("apart keeps further credits by name: give at least one, and no name may be empty")
    return _Apart({"": credit, **channels})


class _Apart(Composite):
    def __init__(self, parts: dict[str, Credit]):
        self._parts = parts

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        said = {name: credit(group, scores) for name, credit in self._parts.items()}
        main = said.pop("")
        for name, one in said.items():
            if one.returns is not None or one.trains is not None:
                raise InputError(f"the credit of channel {name!r} has value targets or a choice of tokens of its own")
        return replace(main, channels={**main.channels, **{name: one.tokens for name, one in said.items()}})

    def parts(self) -> Mapping[str, object]:
        return self._parts
