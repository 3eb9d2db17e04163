"""Off-policy critic of whole turns, with double Q(s, a) and double V(s)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.core.records import Group, Message, RatedGroup, Trajectory
from handaxe.engines.local.modules import moments, set_moments
from handaxe.ops.ragged import channel_values
from handaxe.ops.seeds import derive_seed, generator
from handaxe.ops.turn_positions import turn_positions
from handaxe.ops.turn_tree import shared_turn_count

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Embed", "Transition", "UtteranceCritic", "bag_of_words", "utterance_critic"]

Embed = Callable[[str], np.ndarray]
"""Text -> [D] numbers, the same D for all texts."""
WORD = re.compile(r"\w+")


class Transition(NamedTuple):
    """Turn of a recorded rollout.

    state     text before the turn
    action    text of the turn
    reward    immediate reward
    then      text before the next turn; None after the last
    """

    state: str
    action: str
    reward: float
    then: str | None


class _Plan(NamedTuple):
    gamma: float
    polyak: float
    warm_up: int
    memory: int
    epochs: int
    batch_size: int
    learning_rate: float
    channel: str
    seed: int


def utterance_critic(
    *,
    embed: Embed | None = None,
    hidden: int = 64,
    gamma: float = 0.9,
    polyak: float = 0.1,
    warm_up: int = 20,
    memory: int = 4096,
    epochs: int = 50,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    channel: str = "correct",
    seed: int = 0,
) -> UtteranceCritic:
    """Make a critic of turns: two heads for Q(s, a), two for V(s), trained on stored and on fresh turns.

        s    the conversation before a turn        a    the policy's text in it        e    embedding of a text
        Q_i(s, a) = MLP(e(s), e(a))                  V_i(s) = MLP(e(s))                           i = 1, 2
        Q target  = r + gamma Vtar_i(s')             (s, a, r, s') drawn from stored turns; r alone at the last turn
        V target  = Qtar_i(s, a~)                    a~ sampled at s by the policy of this step, never a stored action
        tar      <- (1 - polyak) tar + polyak own    after each optimiser step on the mean squared errors
        score(turn) = min_i Q_i(s, a) - min_i V_i(s)

    r is the outcome at a rollout's last turn and 0 before. Stored are the turns of rollouts that started from the task.
    a~ are the fresh turns of all rollouts of a step, restarted ones included (see `restarting`): an action of an older
    policy trains Q, and V belongs to the present policy.

    Args:
        embed: frozen embedding of texts; None for `bag_of_words`.
        hidden: width of the heads.
        gamma: discount a turn; 0.9 in the paper.
        polyak: in (0, 1]; 0.1 in the paper.
        warm_up: steps that train the critic alone, with scores of 0. 20 in the paper.
        memory: stored turns, first in, first out.
        epochs: optimiser steps a training step; 50 in the paper.
        batch_size: turns of an optimiser step.
        learning_rate: of Adam.
        channel: score channel of the outcome.
        seed: of weights and draws.

    Returns:
        A StepJudge and a Learner; `stored` turns, weights, targets and moments are its state. Rollouts without an
        outcome are not stored. Metrics: q_loss, v_loss, value (mean V), advantage (mean absolute score of the step's
        fresh turns), stored.

    Raises:
        InputError: an argument out of range; scores without the channel.

    Example:
        r 0, Vtar(s') 0.5, gamma 0.9  ->  Q target 0.45;  the last turn, r 1  ->  1
        Q = (0.6, 0.5), V = (0.3, 0.4)  ->  0.5 - 0.3 = 0.2

    Paper: arXiv:2402.19446 (ArCHer), its high-level critic.
    Differs: texts are embedded by a bag of words instead of RoBERTa; truncated rollouts count as terminal.
    """
    if not 0 <= gamma <= 1 or not 0 < polyak <= 1 or warm_up < 0 or learning_rate < 0:
        raise InputError(
            "give gamma in [0, 1], polyak above 0 and at most 1, warm_up and learning_rate from 0, not "
            f"{gamma}, {polyak}, {warm_up} and {learning_rate}"
        )
    if min(hidden, memory, epochs, batch_size) < 1:
        raise InputError(
            f"hidden, memory, epochs and batch_size are 1 or more, not {hidden}, {memory}, {epochs}, {batch_size}"
        )
    plan = _Plan(gamma, polyak, warm_up, memory, epochs, batch_size, learning_rate, channel, seed)
    return UtteranceCritic(embed or bag_of_words(), hidden, plan)


def bag_of_words(*, size: int = 512) -> Embed:
    """Make an embedding that counts the words and the word pairs of a text.

        e[j] = number of words and pairs with a checksum that equals j modulo size

    Args:
        size: D.

    Example:
        "big yes" has three: "big", "yes" and "big yes"
    """

    def embed(text: str) -> np.ndarray:
        words = WORD.findall(text.lower())
        pairs = [f"{one} {two}" for one, two in pairwise(words)]
        places = [zlib.crc32(one.encode()) % size for one in (*words, *pairs)]
        return np.bincount(np.array(places, np.int64), minlength=size).astype(np.float64)

    return embed


class UtteranceCritic:
    """Critic made by `utterance_critic`; `stored` has the replayed turns, the oldest first."""

    def __init__(self, embed: Embed, hidden: int, plan: _Plan):
        self.stored: list[Transition] = []
        self._embed = lru_cache(8192)(embed)
        self._plan = plan
        self._learned = 0
        width = len(embed(""))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed("utterance_critic", plan.seed))
            sizes = {"q1": 2 * width, "q2": 2 * width, "v1": width, "v2": width}
            self._own = torch.nn.ModuleDict({name: _head(size, hidden) for name, size in sizes.items()}).double()
        self._target = deepcopy(self._own)
        self._adam = torch.optim.AdamW(self._own.parameters(), lr=plan.learning_rate, weight_decay=0.0)

    # --- scoring ---------------------------------------------------------------------------------------------------

    def score(self, group: Group) -> np.ndarray:
        """[G]: the sum over each rollout's turns."""
        return np.array([own.sum() for own in self.score_steps(group)], np.float64)

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """[N_i] for each sibling: advantage of each turn over the state."""
        pairs = [_states_and_actions(one) for one in group]
        flat = [pair for own in pairs for pair in own]
        if self._learned < self._plan.warm_up or not flat:
            return tuple(np.zeros(len(own)) for own in pairs)
        ends = np.cumsum([len(own) for own in pairs])[:-1]
        return tuple(np.split(self.advantage(flat), ends))

    def advantage(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """[P]: min Q(s, a) - min V(s), during warm-up, too."""
        with torch.no_grad():
            best_P, worth_P = self.q(pairs).min(1).values, self.v([state for state, _ in pairs]).min(1).values
        return np.asarray((best_P - worth_P).numpy(), np.float64)

    def q(self, pairs: Sequence[tuple[str, str]], *, target: bool = False) -> Tensor:
        """[P, 2]: Q of both heads, or of both targets."""
        heads = self._target if target else self._own
        in_PD = torch.cat([self._embedded(s for s, _ in pairs), self._embedded(a for _, a in pairs)], 1)
        return torch.cat([heads["q1"](in_PD), heads["q2"](in_PD)], 1)

    def v(self, states: Sequence[str], *, target: bool = False) -> Tensor:
        """[P, 2]: V of both heads, or of both targets."""
        heads, in_PD = self._target if target else self._own, self._embedded(states)
        return torch.cat([heads["v1"](in_PD), heads["v2"](in_PD)], 1)

    def _embedded(self, texts: Iterable[str]) -> Tensor:
        return torch.from_numpy(np.stack([np.asarray(self._embed(text), np.float64) for text in texts]))

    # --- learning --------------------------------------------------------------------------------------------------

    def q_targets(self, stored: Sequence[Transition]) -> Tensor:
        """[P, 2]: r + gamma Vtar(s'), of stored turns."""
        over_P = torch.tensor([one.then is None for one in stored])
        reward_P = torch.tensor([one.reward for one in stored], dtype=torch.float64)
        with torch.no_grad():
            later_P2 = self.v([one.then or "" for one in stored], target=True)
        return reward_P[:, None] + self._plan.gamma * torch.where(over_P[:, None], 0.0, later_P2)

    def v_targets(self, fresh: Sequence[tuple[str, str]]) -> Tensor:
        """[P, 2]: Qtar(s, a~), of states and fresh actions."""
        with torch.no_grad():
            return self.q(fresh, target=True)

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Store the turns of a step, then train on stored and on fresh turns."""
        self._store(groups)
        fresh = [pair for one in groups for t in one.group for pair in _states_and_actions(t)[shared_turn_count(t) :]]
        losses = []
        if self.stored and fresh:
            rng = generator("utterance_critic", self._plan.seed, step)
            losses = [self._step(rng, fresh) for _ in range(self._plan.epochs)]
        self._learned += 1
        found = {"stored": float(len(self.stored))}
        if losses:
            q_loss, v_loss = np.mean(losses, axis=0)
            with torch.no_grad():
                value = float(self.v([state for state, _ in fresh]).mean())
            size = float(np.abs(self.advantage(fresh)).mean())
            found |= {"q_loss": float(q_loss), "v_loss": float(v_loss), "value": value, "advantage": size}
        return found

    def _step(self, rng: np.random.Generator, fresh: Sequence[tuple[str, str]]) -> tuple[float, float]:
        size = self._plan.batch_size
        drawn = [self.stored[int(k)] for k in rng.integers(len(self.stored), size=size)]
        now = [fresh[int(k)] for k in rng.integers(len(fresh), size=size)]
        q_loss = (self.q([(one.state, one.action) for one in drawn]) - self.q_targets(drawn)).square().mean()
        v_loss = (self.v([state for state, _ in now]) - self.v_targets(now)).square().mean()
        self._adam.zero_grad()
        (q_loss + v_loss).backward()
        self._adam.step()
        with torch.no_grad():
            for kept, own in zip(self._target.parameters(), self._own.parameters(), strict=True):
                kept.lerp_(own, self._plan.polyak)
        return q_loss.item(), v_loss.item()

    def _store(self, groups: Sequence[RatedGroup]) -> None:
        for one in groups:
            for trajectory, outcome in zip(one.group, channel_values(one.scores, self._plan.channel), strict=True):
                if trajectory.branch_of is None and not np.isnan(outcome):
                    self.stored += _transitions(trajectory, float(outcome))
        del self.stored[: -self._plan.memory]

    # --- keeping ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        named = dict(self._own.named_parameters())
        return {
            "learned": self._learned,
            "stored": [list(one) for one in self.stored],
            "own": {name: one.detach().numpy().copy() for name, one in named.items()},
            "target": {name: one.detach().numpy().copy() for name, one in self._target.named_parameters()},
            "moments": {name: one.numpy().copy() for name, one in moments(self._adam, named).items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._learned = int(state["learned"])
        self.stored = [Transition(*one) for one in state["stored"]]
        for network, name in ((self._own, "own"), (self._target, "target")):
            with torch.no_grad():
                for key, one in network.named_parameters():
                    one.copy_(torch.from_numpy(np.asarray(state[name][key])))
        found = {name: torch.from_numpy(np.array(one)) for name, one in state["moments"].items()}
        set_moments(self._adam, dict(self._own.named_parameters()), found)


def _head(size: int, hidden: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(size, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))


def _transitions(trajectory: Trajectory, outcome: float) -> list[Transition]:
    pairs = _states_and_actions(trajectory)
    later = [state for state, _ in pairs[1:]]
    found = [Transition(state, action, 0.0, then) for (state, action), then in zip(pairs, later)]
    return [*found, Transition(*pairs[-1], outcome, None)] if pairs else []


def _states_and_actions(trajectory: Trajectory) -> list[tuple[str, str]]:
    """State and action texts of each turn: the conversation before it, and the policy's text."""
    found = []
    places = turn_positions(trajectory.messages, turns=len(trajectory.turns))
    for turn, place in zip(trajectory.turns, places, strict=True):
        action = " ".join([_text(trajectory.messages[place]), *([turn.parsed.raw] if turn.parsed.errors else [])])
        found.append((" ".join(_text(message) for message in trajectory.messages[:place]), action))
    return found


def _text(message: Message) -> str:
    calls = [" ".join([call.name, *map(str, call.arguments.values())]) for call in message.calls]
    return " ".join([message.content, *calls])
