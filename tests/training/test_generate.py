from dataclasses import replace

import pytest

from handaxe.errors import InputError, TaskError
from handaxe.ops.seeds import derive_seed
from handaxe.records import Sampling
from handaxe.rollouts.linear import linear
from handaxe.selection.in_order import in_order
from handaxe.training.endings import treatments
from handaxe.training.generate import Player, draws


def player(world, *, on_ending=None, retries=1, engine=None, progress=lambda done, total: None):
    return Player(
        engine or world.Talking(world.calls_then_answers),
        world.FORMAT,
        world.Chat,
        linear(max_turns=2),
        Sampling(max_tokens=32),
        treatments(on_ending or {}),
        3,
        retries,
        2,
        11,
        progress,
    )


def test_seeds_and_ids_say_what_an_attempt_is_for(world):
    shown = []
    tried = player(world, progress=lambda done, total: shown.append((done, total)))(
        4, [world.task("a"), world.task("b"), world.task("a")], []
    )
    assert [[t.id for t in one.group] for one in tried] == [
        ["4/a/0", "4/a/1", "4/a/2"],
        ["4/b/0", "4/b/1", "4/b/2"],
        ["4/a/3", "4/a/4", "4/a/5"],  # the same task again is not the same attempts again
    ]
    assert tried[1].group[2].seed == derive_seed(11, 4, "b", 2) and tried[0].group.step == 4
    assert tried[0].scorable.all() and tried[0].trains.all() and shown[-1] == (9, 9)
    more = player(world)(4, [world.task("a")], tried)
    assert [t.id for t in more[0].group] == ["4/a/6", "4/a/7", "4/a/8"]


def test_an_error_is_retried_with_another_seed_and_kept_in_the_group(world):
    """What failed stands last, unscored; in front stands what came of the last retry."""
    tasks = [world.task(f"t{i}", fault=True) for i in range(6)]
    plain = player(world)(0, tasks, [])
    tried = player(world, on_ending={"infra_error": "retry"}, retries=4)(0, tasks, [])
    failed = sum(t.ending.kind == "infra_error" for one in plain for t in one.group)
    assert failed > 0
    left = [t for one in tried for t in one.group.trajectories[:3] if t.ending.kind == "infra_error"]
    assert len(left) < failed
    for one, before in zip(tried, plain):
        assert not one.scorable[3:].any() and not one.trains[3:].any()
        for now, then in zip(one.group.trajectories[:3], before.group):
            if then.ending.kind == "completed":
                assert now.id == then.id and now.seed == then.seed
            else:
                assert now.id.startswith(f"{then.id}/retry-") and now.sample == then.sample and now.seed != then.seed
                assert then.id in [t.id for t in one.group.trajectories[3:]]
        ids = [t.id for t in one.group]
        assert len(set(ids)) == len(ids)


def test_masked_endings_are_scored_but_do_not_train(world):
    engine = world.make_engine()  # untrained: nearly every turn is cut by the length limit
    tried = player(world, engine=engine, on_ending={"truncated": "mask"})(0, [world.task("a")], [])[0]
    cut = [t.ending.kind == "truncated" for t in tried.group]
    assert any(cut) and tried.scorable.all() and tried.trains.tolist() == [not one for one in cut]


def test_a_retry_that_is_spent_is_masked(world):
    engine = world.make_engine()
    tried = player(world, engine=engine, on_ending={"truncated": "retry"}, retries=2)(0, [world.task("a")], [])[0]
    for t, scorable, trains in zip(tried.group.trajectories[:3], tried.scorable, tried.trains):
        assert scorable and trains == (t.ending.kind != "truncated")
    assert len(tried.group) > 3


def test_one_bad_ending_can_drop_its_group(world):
    tasks = [world.task(f"t{i}", fault=i % 2 == 0) for i in range(8)]
    tried = player(world, on_ending={"infra_error": "drop_group"})(0, tasks, [])
    for one in tried:
        died = any(t.ending.kind == "infra_error" for t in one.group)
        assert one.fate == ("dropped" if died else "trained")
    assert {one.fate for one in tried} == {"dropped", "trained"}


def test_rounds_go_on_where_the_one_before_stopped(world):
    tasks = in_order([world.task(name) for name in "abcde"], shuffle=False)
    rounds = draws(tasks, 0, groups=2, rounds=9)
    assert [t.id for t in next(rounds)] == ["a", "b"] and [t.id for t in next(rounds)] == ["c", "d"]
    rounds = draws(tasks, 1, groups=2, rounds=1)  # that was enough; nothing is skipped
    assert [[t.id for t in one] for one in rounds] == [["e", "a"]]
    with pytest.raises(TaskError, match="step 0"):
        next(draws(world.Tasks([]), 0, groups=2, rounds=1))


def test_a_curriculum_that_runs_out_ends_the_rounds(world):
    class Three:
        def next(self, step, count):
            return [world.task(name) for name in "abc"][:count]

    assert [[t.id for t in one] for one in draws(Three(), 0, groups=2, rounds=5)] == [["a", "b"], ["c"]]


def test_nothing_asked_for_is_refused(world):
    with pytest.raises(InputError, match="groups is 0"):
        next(draws(in_order([world.task("a")]), 0, groups=0, rounds=1))
    with pytest.raises(InputError, match="rounds 0"):
        next(draws(in_order([world.task("a")]), 0, groups=1, rounds=0))
    with pytest.raises(InputError, match="group_size is 0"):
        replace(player(world), group_size=0)
