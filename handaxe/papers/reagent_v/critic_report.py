"""Critic of a rollout over video: form, and evidence in the last image."""

from __future__ import annotations

import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import Group, Trajectory
from handaxe.judges.viewed import last_image
from handaxe.worlds.plates.scene import COLOURS

__all__ = ["CriticReport", "critic_report", "share_of_colour"]

FULL = 10.0
"""Highest importance."""
NEAR = 60.0
"""Largest distance of a pixel to a colour, in each channel."""
CARD, GLIMPSE = 0.5, 0.03
"""Share of an image that a readable card covers, and a card on a sheet of 16 frames."""


def critic_report(*, card: float = CARD, glimpse: float = GLIMPSE) -> CriticReport:
    """Make a rule-based critic of rollouts, without access to the correct answer.

        form_i      = 1 if no turn is malformed or truncated, and the last turn has no call, else 0
        evidence_i  = min(1, share_i / need)
        importance  = 10 form_i evidence_i

    share_i is the share of the last image in the colour of the question; the image is the opening, a sheet of frames or
    a crop. `need` is `card` for a question about a number ("red?"), readable in one large frame, and `glimpse` for all
    other questions.

    Args:
        card: share of the last image at which a number is readable, above 0.
        glimpse: share at which a card is visible, above 0.

    Returns:
        A judge, such as for `rewards.judged`: `score` gives importance / 10, [G], and `importance(trajectory)` 0 to 10.

    Example:
        a well-formed answer to "red?" after an image with a red share of 0.3 -> evidence 0.6, importance 6;
        after an image without red, or malformed -> 0

    Paper: arXiv:2506.01300 (ReAgent-V), the critic's report with an importance from 0 to 10.
    Unconfirmed: the criteria and their product.
    Differs: a rule on pixels replaces a vision-language model as critic.
    """
    return CriticReport(card, glimpse)


class CriticReport:
    """See `critic_report`."""

    def __init__(self, card: float, glimpse: float):
        self._card = card
        self._glimpse = glimpse

    def score(self, group: Group) -> np.ndarray:
        """Return importance / 10 of every rollout, [G]."""
        return np.array([self.importance(one) / FULL for one in group])

    def importance(self, trajectory: Trajectory) -> float:
        """Return 0 to 10."""
        report = self.report(trajectory)
        return FULL * report["form"] * report["evidence"]

    def report(self, trajectory: Trajectory) -> dict[str, float]:
        """Return form and evidence, each 0 to 1."""
        whole = [turn.finish == "stop" and not turn.parsed.errors for turn in trajectory.turns]
        form = float(bool(whole) and all(whole) and not trajectory.turns[-1].parsed.calls)
        question = trajectory.task.messages[-1].content
        colour = next((name for name in COLOURS if question.startswith(name)), None)
        image = last_image(trajectory)
        if colour is None or image is None:
            return {"form": form, "evidence": 0.0}
        need = self._card if question.startswith(f"{colour}?") else self._glimpse
        return {"form": form, "evidence": min(1.0, share_of_colour(image, COLOURS[colour]) / need)}


def share_of_colour(image: Image, colour: tuple[int, int, int]) -> float:
    """Share of the pixels with at most 60 of 255 between image and colour in every channel."""
    distance = np.abs(image.pixels.astype(int) - np.array(colour)).max(-1)
    return float((distance <= NEAR).mean())
