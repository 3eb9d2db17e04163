"""An episode of a base policy under guidance."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import Failed
from handaxe.papers.grappa.advisor import Advisor, GuidanceBrief
from handaxe.papers.grappa.cloned_policy import ClonedPolicy
from handaxe.papers.grappa.guidance_program import score_states
from handaxe.papers.grappa.mix_guidance import MixForm, mix_guidance
from handaxe.papers.grappa.monitor import Monitor
from handaxe.papers.grappa.object_tracker import ObjectTracker
from handaxe.papers.grappa.predict_state import predict_state
from handaxe.worlds.minigrid_text.grid import KINDS, WORDS, GridGame

__all__ = ["GuidanceRoles", "GuidedEpisode", "guided_episode"]

MISSION = KINDS["doorkey"].long


class GuidanceRoles(NamedTuple):
    """Advisor, and monitor with the most revisions of an episode; without a monitor, no revision."""

    advisor: Advisor
    monitor: Monitor | None = None
    revisions: int = 3


class GuidedEpisode(NamedTuple):
    """Result of an episode.

    words       actions
    solved      the goal is reached
    program     last guidance function
    revisions   of the guidance function
    unanswered  requests without a program, and questions to the monitor without an answer
    failed      steps in which the guidance function failed, without guidance
    moved       mean total variation distance of mixture and base policy
    """

    words: tuple[str, ...]
    solved: bool
    program: str
    revisions: int
    unanswered: int
    failed: int
    moved: float


def guided_episode(
    game: GridGame,
    policy: ClonedPolicy,
    roles: GuidanceRoles,
    *,
    rng: np.random.Generator,
    alpha: float,
    form: MixForm = "logits",
    limit: int = 60,
    program: str = "",
) -> GuidedEpisode:
    """Play an episode: ground the view, score the state behind each action, mix, sample, and monitor.

    Args:
        game: started grid in words.
        policy: base policy.
        roles: see `GuidanceRoles`.
        rng: one draw an action.
        alpha, form: see `mix_guidance`.
        limit: most actions.
        program: guidance function of an earlier episode; "" asks the advisor.

    Returns:
        The episode. A guidance function that fails gives no guidance in the step, and the monitor reports it.

    Raises:
        InputError: while playing, a model that is away.

    Example:
        alpha 0: the actions of the base policy with the same draws

    Paper: arXiv:2410.06473 (GRAPPA), the loop of advisor, grounding agent, monitor and robotic agent.
    Unconfirmed: the order of the agents in a step.
    Differs: a grid of six actions; the mixture is over all of them.
    """
    tracker, guide = ObjectTracker(), _Guide(roles, program)
    words, moved = list[str](), list[float]()
    while not game.is_over and len(words) < limit:
        at, facing = game.state.at, game.state.facing
        tracker.observe(game.seen, at, facing)
        score_A = guide.scores(tracker.state(at, facing), game.seen)
        pi_A = policy.action_probs(game.state)
        p_A = mix_guidance(pi_A, score_A, alpha=alpha, form=form) if guide.known else pi_A
        moved.append(0.5 * float(np.abs(p_A - pi_A).sum()))
        words.append(WORDS[int(np.searchsorted(np.cumsum(p_A)[:-1], rng.random(), side="right"))])
        with contextlib.suppress(Failed):  # an action without effect is an action
            game.act(words[-1])
    mean = float(np.mean(moved)) if moved else 0.0
    return GuidedEpisode(
        tuple(words), game.is_over, guide.program, guide.revisions, guide.unanswered + guide.unread, guide.failed, mean
    )


class _Guide:
    """Guidance function of an episode with its revisions."""

    def __init__(self, roles: GuidanceRoles, program: str):
        self.program, self.known = program, False
        self.revisions = self.unanswered = self.unread = self.failed = 0
        self._roles = roles
        self._scores, self._views = list[float](), list[str]()

    def scores(self, state: dict[str, Any], view: str) -> Sequence[float]:
        """Score the states behind the actions, after a revision where the monitor reports a failure."""
        if not self.program:
            self._advise(GuidanceBrief(MISSION, "", state))
            self._scores, self._views = [], []  # a state without guidance has no score
        here, behind_A, error = self._scored(state)
        self._views.append(view)
        self._scores.append(here)
        monitor, most = self._roles.monitor, self._roles.revisions
        report = monitor is not None and (bool(error) or monitor(self._scores, MISSION, self._views))
        self.unread += report is None
        if report and self.program and self.revisions + self.unanswered < most:
            self._advise(GuidanceBrief(MISSION, self.program, state, error))
            here, behind_A, error = self._scored(state)
            self._scores, self._views = [here], [view]
        self.failed += bool(error)
        self.known = bool(self.program) and not error
        return behind_A

    def _advise(self, brief: GuidanceBrief) -> None:
        if self.revisions + self.unanswered > self._roles.revisions:
            return
        found = self._roles.advisor(brief)
        self.unanswered += not found
        self.revisions += bool(found) and bool(brief.program)
        self.program = found or self.program

    def _scored(self, state: dict[str, Any]) -> tuple[float, Sequence[float], str]:
        none = [0.0] * len(WORDS)
        if not self.program:
            return 0.0, none, ""
        found = score_states(self.program, [state, *(predict_state(state, word) for word in WORDS)])
        return (0.0, none, found.error) if found.error else (found.scores[0], found.scores[1:], "")
