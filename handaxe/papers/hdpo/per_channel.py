"""Advantages of several credits side by side, each for a separate loss."""

from collections.abc import Mapping
from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit
from handaxe.core.records import Advantages, Group, Scores
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["per_channel"]


def per_channel(credit: Credit, channels: Mapping[str, Credit]) -> Credit:
    """Compute a credit for the policy loss, and further credits as channels for separate loss terms.

        A = credit(group, scores)        A^c = channels[c](group, scores) for every c, in Advantages.channels

    The credits meet in the gradient only: `papers.hdpo.channel_loss` gives each channel its own ratio, clip and
    denominator. Their sum (`credit.total`) gives another gradient if the two differ in sign under a clipped ratio, or
    if one of them is 0 on whole rollouts, since a term averages over rollouts with a non-zero advantage.

    Args:
        credit: credit of the policy loss; it alone sets value targets and trained tokens.
        channels: name -> credit, without value targets and without a mask of trained tokens.

    Returns:
        A credit: (Group, Scores) -> Advantages with channels. Its state holds the states of its stateful parts by name,
        "" for the main one.

    Raises:
        InputError: no channel, a channel named "", or a channel's credit with value targets or a mask of trained
            tokens.

    Example:
        rewards 1, 0 and a channel "speed" of 1, 3 under std None
        ->  tokens 0.5, -0.5 and channels["speed"] -1, 1

    Paper: arXiv:2604.08545 (HDPO), whose accuracy and efficiency advantages enter two losses.
    Differs: nothing.
    """
    if not channels or "" in channels:
        raise InputError("per_channel takes further credits by name: give at least one, and no empty name")
    return _PerChannel({"": credit, **channels})


class _PerChannel(StatefulComposite):
    def __init__(self, parts: dict[str, Credit]):
        self._parts = parts

    def __call__(self, group: Group, scores: Scores) -> Advantages:
        computed = {name: credit(group, scores) for name, credit in self._parts.items()}
        main = computed.pop("")
        for name, one in computed.items():
            if one.returns is not None or one.trains is not None:
                raise InputError(f"the credit of channel {name!r} has value targets or a mask of trained tokens")
        return replace(main, channels={**main.channels, **{name: one.tokens for name, one in computed.items()}})

    def parts(self) -> Mapping[str, object]:
        return self._parts
