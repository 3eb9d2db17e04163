"""Search over turns with a frontier: sampled turns wait, and only the chosen one is executed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, ParsedTurn, Trajectory
from handaxe.core.requests import Attempt, Completion, Sample, Spawn, Stopped
from handaxe.ops.seeds import derive_seed
from handaxe.ops.tool_calls import call_key
from handaxe.papers.toolchain_star.plan_steps import Plan, turn_step
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.attach_branches import attach_branches
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds
from handaxe.rollouts.search.node import Node, fork_point

__all__ = ["ANSWER", "Guide", "Order", "SearchStep", "frontier_search", "step_calls"]

ANSWER = "answer"
"""Key of the notes: true for the trajectory that the search returns as its answer."""
Order = Literal["best", "depth", "breadth"]
ORDERS = ("best", "depth", "breadth")


@dataclass(eq=False)
class SearchStep:
    """Turn of the tree: sampled, and executed once chosen.

    parent       None for the question
    plan         steps from the question to this one
    completion, parsed, seed    the turn, and the seed of the play that executes it
    share        share of the parent's samples that are equal to it
    cumulative, future          costs g and h
    node         state after its reply, once executed
    """

    parent: SearchStep | None
    plan: Plan = ()
    completion: Completion | None = None
    parsed: ParsedTurn | None = None
    seed: int = 0
    share: float = 1.0
    cumulative: float = 0.0
    future: float = 0.0
    node: Node | None = None

    @property
    def cost(self) -> float:
        """f = g + h."""
        return self.cumulative + self.future


Guide = Callable[[SearchStep], Generator[Request, Any, tuple[float, float]]]
"""Costs (g, h) of a sampled step; the parent has both costs and is executed."""


def step_calls(parsed: ParsedTurn) -> int:
    """Count the calls of a turn, malformed calls included: the number of replies."""
    return len(parsed.calls) + len(parsed.errors)


def frontier_search(
    *,
    guide: Guide,
    candidates: int = 4,
    calls: int = 12,
    order: Order = "best",
    width: int | None = None,
    max_turns: int | Rules = 8,
) -> Rollout:
    """Grow a tree of turns from its frontier until an answer is chosen.

        expand(n)   `candidates` next turns of n; equal ones become one step with their share; all join the frontier
        loop        s = first of the frontier by order;  execute s;  an answer ends the search;  else expand(s)

        best        smallest g + h                      A* search
        depth       greatest depth, then g + h          depth-first search
        breadth     smallest depth, then g + h          with `width`, beam search: at each depth the first `width` steps
                                                        are executed, the others leave the frontier; of the answers
                                                        that are found the one with the smallest g + h is returned

    Ties go to the step that was sampled first. Two turns are equal if text and calls are equal. A step is executed in a
    fork of its parent's state, so siblings never see each other's effects. A step with more calls than the budget has
    left is dropped; answers need no call. Turns that are cut off are no steps.

    Args:
        guide: costs of a sampled step.
        candidates: k, samples of an expansion, >= 1.
        calls: executed calls of the whole tree, malformed ones included, >= 0; never exceeded.
        order: of the frontier.
        width: of the beam, only for "breadth"; None: unbounded, and the first answer ends the search.
        max_turns: turns or `Rules`, per trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the answer with notes["answer"] true, if the
        search found one, then the other executed branches. One rollout is a whole group: `group_size=1`.

    Raises:
        InputError: a number out of range, a width without "breadth", an environment without snapshots or with a limit
            on open environments.

    Example:
        f of the frontier 0.4, 0.2, 0.9 with order "best"  ->  the second is executed

    Paper: arXiv:2310.13227 (ToolChain*), selection, expansion and update.
    Unconfirmed: ties.
    Differs: duplicates are merged by text and calls; the paper also merges paraphrases by a language model.
    """
    if candidates < 1 or calls < 0 or order not in ORDERS or (width is not None and (width < 1 or order != "breadth")):
        raise InputError(
            f"frontier_search has candidates={candidates}, calls={calls}, order={order!r} and width={width}; give 1 "
            f"candidate or more, 0 calls or more, an order of {', '.join(ORDERS)}, and a width of 1 or more for breadth"
        )
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        search = _Search(attempt, rules, guide, candidates, calls, order, width)
        try:
            yield from search.run()
            for play in search.rounds.active:
                yield from search.rounds.drop(play)
        except Stopped:
            yield from search.rounds.stop()
        finally:
            search.rounds.close()
        return search.found()

    rollout.branches = True  # type: ignore[attr-defined]
    return rollout


class _Search:
    """State of one search."""

    def __init__(
        self,
        attempt: Attempt,
        rules: Rules,
        guide: Guide,
        candidates: int,
        calls: int,
        order: Order,
        width: int | None,
    ):
        self.attempt, self.guide = attempt, guide
        self.candidates = candidates
        self.left = calls
        self.order, self.width = order, width
        self.rounds = Rounds(self._take)
        self.root = SearchStep(None, node=Node(Play(attempt, rules)))
        self.frontier: list[SearchStep] = []
        self.answers: list[SearchStep] = []
        self._executed: list[int] = []
        self._completion: Completion | None = None

    def run(self) -> Generator[Request, Any, None]:
        yield from self.rounds.open(self._play(self.root))
        if self.rounds.active:
            yield from self._expand(self.root)
        while self.frontier and not self._over():
            step = min(self.frontier, key=self._rank)
            self.frontier.remove(step)
            if self._admits(step):
                yield from self._execute(step)

    def found(self) -> list[Trajectory]:
        """The answer first, then all other branches."""
        best = min(self.answers, key=lambda step: step.cost, default=None)
        chosen = None if best is None else self._play(best).attempt.id
        noted = [replace(one, notes={**one.notes, ANSWER: one.id == chosen}) for one in self.rounds.trajectories]
        noted = [one for one in noted if one.turns or len(noted) == 1]
        return attach_branches(noted, {one.id for one in noted if not one.notes[ANSWER]})

    def _over(self) -> bool:
        return len(self.answers) >= (self.width or 1)

    def _rank(self, step: SearchStep) -> tuple[float, ...]:
        depth = len(step.plan)
        return {"best": (), "depth": (-depth,), "breadth": (depth,)}[self.order] + (step.cost,)

    def _admits(self, step: SearchStep) -> bool:
        assert step.parsed is not None
        depth = len(step.plan)
        full = self.width is not None and self._executed.count(depth) >= self.width
        if full or step_calls(step.parsed) > self.left:
            return False
        self._executed.append(depth)
        return True

    def _execute(self, step: SearchStep) -> Generator[Request, Any, None]:
        assert step.parent is not None and step.parent.node is not None and step.parsed is not None
        above, id = step.parent.node, f"{self.attempt.id}/{len(self.rounds.plays)}"
        play = fork(above.play, fork_point(above), id=id, seed=step.seed)
        self._completion = step.completion
        self.left -= step_calls(step.parsed)
        self.rounds.add(play)
        yield from self.rounds.next(only=[play])
        step.node = Node(play, above.depth + 1, above)
        if not play.done:
            yield from self._expand(step)
        elif any(one.id == id and one.ending == Ending("completed") for one in self.rounds.trajectories):
            self.answers.append(step)

    def _take(self, play: Play) -> Generator[Request, Any, Ending | None]:
        """Play the chosen turn."""
        assert self._completion is not None
        return (yield from play.append_turn(self._completion))

    def _expand(self, step: SearchStep) -> Generator[Request, Any, None]:
        play = self._play(step)
        if play.exhausted() is not None:
            return
        number = len(self.rounds.plays)
        seeds = [derive_seed(self.attempt.seed, "candidate", number, n) for n in range(self.candidates)]
        drawn: dict[int, Completion] = {}
        new: dict[tuple[Any, ...], SearchStep] = {}
        yield from self._together(f"{number}/draw", [_draw(play, seed, drawn) for seed in seeds])
        for seed in seeds:
            if drawn[seed].finish == "stop":
                made = self._step(step, seed, drawn[seed])
                same = new.setdefault(_identity(made.parsed), made)
                same.share += 1 / self.candidates
        yield from self._together(f"{number}/cost", [self._rate(made) for made in new.values()])
        self.frontier += new.values()

    def _together(self, name: str, parts: Sequence[Generator[Request, Any, None]]) -> Generator[Request, Any, None]:
        """Run generators without trajectories at the same time; raises Stopped if one was stopped."""
        ids, stopped = tuple(f"{self.attempt.id}/{name}{n}" for n in range(len(parts))), list[Stopped]()
        yield Spawn(tuple(_quiet(part, stopped) for part in parts), ids)
        if stopped:
            raise Stopped

    def _step(self, parent: SearchStep, seed: int, completion: Completion) -> SearchStep:
        play = self._play(parent)
        parsed = self.attempt.format.parse(completion.ids, play.tools)
        return SearchStep(parent, (*parent.plan, turn_step(play.messages, parsed)), completion, parsed, seed, share=0.0)

    def _rate(self, step: SearchStep) -> Generator[Request, Any, None]:
        step.cumulative, step.future = yield from self.guide(step)

    def _play(self, step: SearchStep) -> Play:
        assert step.node is not None
        return step.node.play


def _identity(parsed: ParsedTurn | None) -> tuple[Any, ...]:
    assert parsed is not None
    return (parsed.text.strip(), *map(call_key, parsed.calls), *parsed.errors)


def _quiet(part: Generator[Request, Any, None], stopped: list[Stopped]) -> RolloutPlan:
    try:
        yield from part
    except Stopped as error:
        stopped.append(error)
    return []


def _draw(play: Play, seed: int, drawn: dict[int, Completion]) -> Generator[Request, Any, None]:
    """Sample the next turn of a play with the draws of a fork of this seed; the play does not change."""
    attempt, turn = play.attempt, len(play.turns)
    ids = play.sequences[-1].ids[:]
    sampling = replace(attempt.sampling, max_tokens=min(attempt.sampling.max_tokens, attempt.context - len(ids)))
    stop, header = attempt.format.stop_ids, attempt.format.header_ids
    drawn[seed] = yield Sample(ids, sampling, derive_seed(seed, turn), stop, header, turn, None, attempt.by)
