"""Community with tastes, errors, habits, and a feed of popular pictures.

Legend: P pictures of one prompt, E events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["Visit", "repeated_share", "visit_pictures"]


class Visit(NamedTuple):
    """A picture in a member's feed, and the number of the member's edits.

    member   number of the member
    picture  number of the picture
    edits    0 or more
    """

    member: int
    picture: int
    edits: int


def visit_pictures(
    worth_P: np.ndarray,
    *,
    members: int,
    shown: int,
    rng: np.random.Generator,
    popularity: float = 1.0,
    habit: float = 0.1,
    steepness: float = 4.0,
) -> list[Visit]:
    """Show each member a few pictures, popular pictures more often, and record edits.

        P(shown p) ~ (1 + popularity * edits so far of p)
        P(edit)    = sigmoid(steepness (worth_p - 1/2) - 1)
        edits      1, or for a share `habit` of members, who edit the same picture again and again, 2 to 10

    Args:
        worth_P: worth of each picture to the community, 0 to 1.
        members: visitors.
        shown: pictures that a member sees, each once.
        rng: draws.
        popularity: strength of the feed's preference; 0 shows all alike.
        habit: share of members who repeat.
        steepness: of the preference.

    Returns:
        The events, in the order of time.

    Raises:
        InputError: no member, more pictures shown than there are, or a negative strength.

    Example:
        popularity 0 and equal worth  ->  all pictures have about the same number of edits

    Idea: implicit feedback counts what was shown and who came, beside what was liked.
    """
    count = len(worth_P)
    if members < 1 or not 1 <= shown <= count or min(popularity, habit, steepness) < 0:
        raise InputError(
            f"members is {members}, shown {shown} of {count}, popularity {popularity}, habit {habit} and steepness "
            f"{steepness}; give 1 or more, 1 to the number of pictures, and numbers from 0"
        )
    edits_P = np.zeros(count)
    chance_P = 1 / (1 + np.exp(-(steepness * (np.asarray(worth_P, np.float64) - 0.5) - 1)))
    events = list[Visit]()
    for member in range(members):
        weight_P = 1 + popularity * edits_P
        repeats = int(rng.integers(2, 11)) if rng.random() < habit else 1
        for picture in rng.choice(count, size=shown, replace=False, p=weight_P / weight_P.sum()):
            edits = repeats * int(rng.random() < chance_P[picture])
            edits_P[picture] += edits
            events.append(Visit(member, int(picture), edits))
    return events


def repeated_share(events: Iterable[Visit]) -> float:
    """Compute the share of the edits that are of visits with two edits or more.

    Example:
        visits with 9, 1 and 0 edits  ->  0.9

    Idea: a few members with a habit can outweigh many others.
    """
    edits = [one.edits for one in events]
    return sum(one for one in edits if one > 1) / sum(edits)
