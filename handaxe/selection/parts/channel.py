"""Which channel of a group's scores a selector looks at, whatever rewards were wrapped around it."""

from handaxe.records import Rated

__all__ = ["channel_inside"]


def channel_inside(one: Rated, channel: str | None) -> str | None:
    """The name under which the scores have the channel: its own, or the only one that a reward around it calls
    ".../NAME"; its own where there is neither.

    Example:
        channels "a", "a/correct": "correct" -> "a/correct"
    """
    if channel is None or channel in one.scores.channels:
        return channel
    inside = [name for name in one.scores.channels if name.endswith(f"/{channel}")]
    return inside[0] if len(inside) == 1 else channel
