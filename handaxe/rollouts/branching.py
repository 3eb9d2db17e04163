"""Entropy-based branching: trajectories fork after tool replies that raise the policy's entropy."""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Branch, Ending
from handaxe.core.requests import Attempt, Measure, Stopped
from handaxe.ops.seeds import derive_seed, generator
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds

__all__ = ["Chance", "Split", "branching"]

Chance = Callable[[float, int], float]
"""(H_k - H_0 in nats, consecutive branches) -> probability of a branch."""
Split = Callable[[float, float | None, int], int]
"""(H_0, mean of the H_k after tool replies or None, total trajectories) -> number of trajectories from the start."""


def branching(
    *,
    chance: Chance,
    total: int = 16,
    from_start: int | Split = 8,
    copies: int = 1,
    first_tokens: int = 20,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play a question's trajectories concurrently, and fork the uncertain ones after a tool's reply.

        H_k    mean entropy, in nats, of the first `first_tokens` tokens of turn k
        play `from_start` trajectories from the question on, in rounds of one turn each; after every round,
        for each turn k of the round that follows a tool's reply, in the order of the trajectories:
            for each of `copies`: with probability chance(H_k - H_0, l), while there are fewer than `total`,
                fork a trajectory that shares everything before turn k, that reply included, and samples from turn k on
            l, counted over the whole question, rises by one with every branch and is 0 after a turn without
        when all are over and there are fewer than `total`: play the rest from the question on

        t/0    q a0 | r0 | a1 | r1 | a2           t/0/2 left t/0 at a1: q a0 | r0 | b1 ...
        t/0/1  q c0 | s0 | c1

    One rollout holds all trajectories: with `group_size=1` a group is the `total` trajectories of one rollout. Original
    and fork can both fork again at later turns, also if the original ended within the round; a fork never forks at its
    first turn. A round ends with its slowest turn, so branching depends on seeds and entropies, not on tool latency.
    Every draw has a separate seed.

    Each trajectory's notes hold "entropy": [H_0, H_1, ...]. `branch_of` of trajectories that start at the question is
    the first one's opening.

    Args:
        chance: see `Chance`; such as `branch_chance()`.
        total: M trajectories, >= 1; 16 in the paper.
        from_start: N of them, in [1, total], 8 in the paper. Or a function, such as `probe_split()`: the first
            trajectory is then played alone to its end, and the function returns N from its entropies.
        copies: Z, maximum branches per turn, >= 1; 1 in the paper.
        first_tokens: k, >= 1; 20 in the paper.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns `total` trajectories, in the order of their
        start; fewer if the rollout is stopped, only the first if the environment cannot be opened.

    Raises:
        InputError: a number out of range, an environment without snapshots or with a limit on open environments, or an
            engine without `measure`.

    Example:
        branching(chance=branch_chance(), total=16, from_start=8) with `RunSettings(group_size=1)`

    Paper: ARPO, arXiv:2507.19849, entropy-based adaptive rollout; with `probe_split` and a penalty in `branch_chance`
    AEPO, arXiv:2510.14545.
    Differs: the released code takes the entropy of the turn before the reply, of the ten likeliest tokens, summed; it
    starts one new trajectory a round for a question without active ones, and pads with copies of the last. It counts
    branches in a row by rounds of the question; here each branch of a turn counts, and a turn without one ends the row.
    """
    if not (1 <= (from_start if isinstance(from_start, int) else 1) <= total and copies >= 1 and first_tokens >= 1):
        raise InputError(
            f"branching has total={total}, from_start={from_start}, copies={copies} and first_tokens={first_tokens}; "
            "give 1 or more of each, and not more from the start than in all"
        )
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        tree = _Tree(attempt, rules, chance, total=total, copies=copies, first_tokens=first_tokens)
        try:
            yield from tree.play(from_start)
        except Stopped:
            yield from tree.rounds.stop()
        finally:
            tree.rounds.close()
        return tree.rounds.trajectories

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


class _Tree:
    """Trajectories of one question. `decided` is per play the number of turns with a branching decision."""

    def __init__(self, attempt: Attempt, rules: Rules, chance: Chance, *, total: int, copies: int, first_tokens: int):
        self.rounds = Rounds(self._turn)
        self._root = Play(attempt, rules)
        self._chance, self._copies = chance, copies
        self._total, self._first = total, first_tokens
        self._decided = [1]
        self._row = 0

    def play(self, from_start: int | Split) -> Generator[Request, Any, None]:
        yield from self.rounds.open(self._root)
        if not self.rounds.active:
            return
        if isinstance(from_start, int):
            self._begin(from_start)
        else:
            while self.rounds.active:
                yield from self.rounds.next()
            self._begin(self._asked(from_start))
            self._branch()
        while True:
            if not self.rounds.active:
                self._begin(self._total)
            if not self.rounds.active:
                return
            yield from self.rounds.next()
            self._branch()

    def _turn(self, play: Play) -> Generator[Request, Any, Ending | None]:
        """Play a turn, and measure the entropy of its first tokens."""
        before = len(play.turns)
        ending = yield from play.turn()
        for turn in play.turns[before:]:
            ids = play.sequences[turn.sequence].ids[: min(turn.stop, turn.start + self._first)]
            temperature = turn.sampling.temperature or 1.0
            found = yield from play.measure(Measure(ids, turn.start, ("entropy",), temperature))
            play.notes.setdefault("entropy", []).append(float(np.mean(found["entropy"])))
        return ending

    def _asked(self, split: Split) -> int:
        """Number of trajectories from the start, from the entropies of the finished first one."""
        entropy, turns = self._root.notes.get("entropy", []), self._root.turns
        if not entropy:
            return 1
        after = [entropy[k] for k in range(1, len(entropy)) if turns[k - 1].replies]
        wanted = split(entropy[0], float(np.mean(after)) if after else None, self._total)
        return min(max(wanted, 1), self._total)

    def _begin(self, upto: int) -> None:
        """Add plays from the question on, up to this number; none if the first play has no turn."""
        if self._root.done and not self._root.turns:
            return
        while len(self.rounds.plays) < upto:
            self._add(self._root, Branch(self._root.attempt.id, 0, 0), turn=0)

    def _branch(self) -> None:
        """Decide on branches at every turn without a decision."""
        for number, play in enumerate(self.rounds.plays):
            for k in range(self._decided[number], len(play.notes.get("entropy", []))):
                if play.turns[k - 1].replies:
                    self._leave(play, k)
            self._decided[number] = max(self._decided[number], len(play.turns))

    def _leave(self, play: Play, k: int) -> None:
        """Fork a play at the beginning of turn k, by chance."""
        entropy, turn = play.notes["entropy"], play.turns[k]
        made = 0
        for copy in range(self._copies):
            if len(self.rounds.plays) >= self._total:
                break
            if generator(play.attempt.seed, "branch", k, copy).random() < self._chance(
                entropy[k] - entropy[0], self._row
            ):
                self._add(play, Branch(play.attempt.id, turn.sequence, turn.start), turn=k)
                self._row, made = self._row + 1, made + 1
        self._row = self._row if made else 0

    def _add(self, play: Play, place: Branch, *, turn: int) -> None:
        attempt, number = self._root.attempt, len(self.rounds.plays)
        made = fork(play, place, id=f"{attempt.id}/{number}", seed=derive_seed(attempt.seed, "play", number))
        made.notes["entropy"] = play.notes.get("entropy", [])[:turn]  # one more than its mark has
        self._decided.append(turn + 1)
        self.rounds.add(made)
