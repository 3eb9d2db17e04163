"""Two policies that train each other: whose tokens train where, whatever the seed."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import task_pool
from handaxe.papers.agent0.frontier import frontier
from handaxe.papers.agent0.reinforce_second import reinforce_second
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.record import RunRecord
from handaxe.training.stages.reinforce import reinforce
from handaxe.training.stages.run_stages import run_stages


@pytest.fixture(scope="module")
def world():
    from helpers import training_world as module

    return module


def noted(loss, seen, moved):
    """The loss, noting which rows it is given and which of their tokens train, and in `moved` whether any of them has
    an advantage."""

    def call(out, batch):
        moved.append(bool(batch.adv_BT[batch.mask_BT].any()))
        for ids, mask, attend in zip(batch.ids_BT, batch.mask_BT, batch.attend_BT):
            seen.append((tuple(ids[attend].tolist()), tuple(mask[attend].tolist())))
        return loss(out, batch)

    return call


def rows(folder):
    """(ids, mask) of what the run's own policy played there, and of what another was asked."""
    with RunRecord.open(folder) as record:
        played = record.trajectories()
    own = {(tuple(s.ids.tolist()), tuple(s.mask.tolist())) for one in played for s in one.sequences}
    asked = {
        (tuple(s.ids.tolist()), tuple(s.mask.tolist()))
        for one in played
        for said in one.aux_turns
        for s in said.sequences
    }
    return played, own, asked


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**20))
@example(seed=610)
def test_each_trains_on_its_own_words_alone_and_only_in_its_own_step(world, tmp_path_factory, seed):
    out = tmp_path_factory.mktemp("run")
    second, seen, moved = AuxLearner(), {"second": [], "own": []}, list[bool]()
    site = world.speaking_site(out=out, seed=seed, tasks=task_pool([world.task("t0"), world.task("t1")]))
    weights, states = (lambda: [world.weights(site.engine), world.weights(second.engine)]), []
    rollout = world.proposing(read=world.read_anything, solve=world.linear(max_turns=2), samples=2)
    asking = {**world.PLAY, "tasks": in_order([world.OPENING]), "rollout": rollout, "reward": world.by_ids}
    learning = {"credit": world.centred, "learning_rate": 0.01, "steps": 1, "groups": 1, "group_size": 4}
    second.begin(site.engine)
    first = reinforce_second(
        second=second,
        aux_name="solver",
        arguments={**asking, **learning, "loss": noted(world.reinforce, seen["second"], moved)},
    )
    last = {**world.TRAIN, "steps": 1, "reward": world.by_ids, "learners": (second,)}
    stages = [
        first,
        frontier(second=second, aux_name="solver", low=0.0, high=1.0, group_size=4, arguments=asking),
        reinforce(arguments={**last, "loss": noted(world.reinforce, seen["own"], list[bool]())}),
    ]

    def watched(stage):
        def run(site):
            states.append(weights())
            return stage(site)

        return run

    run_stages([watched(one) for one in stages], site)
    states.append(weights())
    assert all(world.same(a, b) for a, b in zip(states[0][:1] + states[1], states[1][:1] + states[2]))
    assert world.same(states[2][1], states[3][1])
    folders = sorted(one.parent for one in out.rglob("record.sqlite"))
    (played, own, asked), _, (solved, solver_own, nobody) = map(rows, folders)
    assert asked and set(seen["second"]) <= own and not set(seen["second"]) & asked
    assert set(seen["own"]) <= solver_own and nobody == set() and not set(seen["own"]) & own
    assert all(one.by == "" for one in (*played, *solved))
    # Siblings that say the same cancel out exactly, so what has advantages may still stay as it is. The site's policy
    # was taught before, so that without any advantage it still moves by AdamW's moments.
    assert world.same(states[0][1], states[1][1]) or any(moved)
