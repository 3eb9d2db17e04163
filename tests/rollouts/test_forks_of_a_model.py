"""Forks under a real policy, a real driver and a tool with a session, at every token."""

import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.records import Branch, Message, Sampling, Task
from handaxe.core.requests import Attempt, Spawn
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.load import load
from handaxe.rollouts.driver import run
from handaxe.rollouts.forking import forking
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.surprising_tokens import surprising_tokens
from handaxe.tools import tool
from handaxe.tools.python import python

pytestmark = pytest.mark.exact

RULES = Rules(max_turns=3, snapshots=True)


class Ledger:
    """Keeps every result in a Python session, and says their sum."""

    def __init__(self):
        self.session = python()
        self.session("seen = []")

    @tool
    def calculator(self, expression: str) -> str:
        """Add up.

        Args:
            expression: what to add.
        """
        return self.session(f"seen.append({expression})\nsum(seen)")

    def report(self):
        return {"seen": self.session("seen")}

    def snapshot(self):
        return self.session.owner.snapshot()

    def restore(self, state):
        self.session.owner.restore(state)

    def close(self):
        self.session.owner.close()


def everywhere(attempt):
    """A trunk, and a fork with the trunk's own seed at every token where there can be one."""
    trunk = Play(attempt, RULES)
    first = yield from trunk.run()
    stops = {turn.stop for turn in first.turns if turn.finish == "stop"}
    tokens = sorted(stops | set(range(first.turns[-1].stop)))
    names = [f"{attempt.id}/at-{t}" for t in tokens]
    plays = [fork(trunk, Branch(attempt.id, 0, t), id=name, seed=attempt.seed) for t, name in zip(tokens, names)]
    found = yield Spawn(tuple(play.plan() for play in plays), tuple(names))
    return [first, *(one for returned in found for one in returned)]


@pytest.fixture(scope="module")
def policy():
    """In float64: which rows are computed together, and how a history came into the cache, changes the rounding only,
    and no draw."""
    model, format = load("tiny")
    model.module.double()
    return LocalEngine(model), format


def attempts(format, count, *, temperature=1.0):
    task = Task("t", (Message("user", "12*34=?"),))
    sampling = Sampling(temperature, max_tokens=24)
    env = tool_chat([Ledger])
    return [Attempt(task, env, format, sampling, f"t/{i}", i, i, 512) for i in range(count)]


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_fork_with_the_trunks_seed_repeats_the_trunk(policy, lockstep):
    engine, format = policy
    chosen = [attempt for attempt in attempts(format, 12) if attempt.sample in (1, 3, 6)]
    turns = []
    for trunk, *forks in run(chosen, everywhere, engine, workers=2, lockstep=lockstep):
        turns.append(len(trunk.turns))
        assert len(forks) >= trunk.turns[-1].stop
        for one in forks:
            records.check(one)
            (mine,), (theirs,) = one.sequences, trunk.sequences
            np.testing.assert_array_equal(mine.ids, theirs.ids)
            np.testing.assert_allclose(mine.logp, theirs.logp, rtol=1e-6)  # records are in float32
            np.testing.assert_array_equal(mine.version, theirs.version)
            assert one.env == trunk.env and one.ending == trunk.ending and one.messages == trunk.messages
            assert [r.content for r in one.replies] == [r.content for r in trunk.replies]
    assert max(turns) >= 2, "one of them at least uses the session"


def test_branches_have_separate_sessions(policy):
    engine, format = policy
    rollout = forking(at=surprising_tokens(count=4, apart=2), max_turns=3)
    found = run(attempts(format, 8, temperature=1.2), rollout, engine, workers=2)
    branches = [one for _, *branches in found for one in branches]
    assert len(branches) >= 16
    for trunk, *rest in found:
        for one in (trunk, *rest):
            records.check(one)
            said = [r.content for r in one.replies if r.status == "ok"]
            seen = [int(x) for x in one.env["state"]["Ledger"]["seen"].strip("[]").split(",") if x.strip()]
            assert said == [str(sum(seen[: k + 1])) for k in range(len(seen))]
        for one in rest:
            s, t = one.branch_of[1:]
            np.testing.assert_array_equal(one.sequences[s].ids[:t], trunk.sequences[s].ids[:t])
    assert any(list(b.sequences[0].ids) != list(trunk.sequences[0].ids) for trunk, *rest in found for b in rest)
