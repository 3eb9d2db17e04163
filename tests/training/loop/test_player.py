from dataclasses import replace

import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Disposition, Message, Sampling
from handaxe.core.requests import Act, Work
from handaxe.curricula.in_order import in_order
from handaxe.ops.codec import dump_record
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.testing.simulated import SimulatedClock, SimulatedEngine, SimulatedWorkers
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.player import Player, draw_rounds, work_plan


def player(world, *, on_ending=None, retries=1, engine=None, workers=2, sampling=None, turns=2, **options):
    sizes = {name: options.pop(name, default) for name, default in {"steps": 9, "groups": 9, "group_size": 3}.items()}
    return Player(
        engine or world.Talking(world.calls_then_answers),
        world.FORMAT,
        world.Chat,
        linear(max_turns=turns),
        sampling or Sampling(max_tokens=32),
        async_config=AsyncConfig(**{"lockstep": True, "workers": workers} | options),
        run=RunConfig(on_ending=on_ending or {}, retries=retries),
        **sizes,
        seed=11,
    )


def once(play, step, tasks, **progress):
    """What one round of these tasks comes to, by place."""
    play.groups = len(tasks)

    class Drawn:
        def next(self, step, count):
            return tasks[:count]

    with play:
        (placed,) = [list(finishing) for finishing in play.rounds(Drawn(), step, **progress)]
    return [one.group for one in sorted(placed, key=lambda one: one.place)]


def ids(group):
    return [t.id for t in group.group]


def trains(group):
    """Whether each rollout is scorable and not masked."""
    masked = [any(one.kind == "masked" for one in own) for own in group.dispositions]
    return [bool(ok) and not out for ok, out in zip(group.scorable, masked, strict=True)]


def test_seeds_and_ids_say_what_an_attempt_is_for(world):
    shown = []
    tasks = [world.task("a"), world.task("b"), world.task("a")]
    played = once(player(world), 4, tasks, progress=lambda done, total: shown.append((done, total)))
    assert [ids(one) for one in played] == [
        ["4/a/0", "4/a/1", "4/a/2"],
        ["4/b/0", "4/b/1", "4/b/2"],
        ["4/a/3", "4/a/4", "4/a/5"],  # the same task again is not the same attempts again
    ]
    assert played[1].group[2].seed == derive_seed(11, 4, "b", 2) and played[0].group.step == 4
    assert played[0].scorable.all() and all(trains(played[0])) and shown[-1] == (9, 9)


def test_an_attempt_knows_its_step_and_its_place_among_those_of_its_group(world):
    seen = []

    def watching(attempt):
        seen.append((attempt.id, attempt.step, attempt.sibling, attempt.siblings))
        return linear(max_turns=2)(attempt)

    play = player(world, on_ending={"infra_error": "retry"}, spare=1)
    play._rollout = watching
    once(play, 4, [world.task("a"), world.task("a", fault=True)])
    first, second = (
        [one for one in seen if "retry" not in one[0]][:4],
        [one for one in seen if "retry" not in one[0]][4:],
    )
    assert first == [(f"4/a/{k}", 4, k, 4) for k in range(4)]
    assert second == [(f"4/a/{4 + k}", 4, k, 4) for k in range(4)], "a second group of the task counts from 0 again"
    again = [one for one in seen if "retry" in one[0]]
    assert again and all(one[1:] == (4, int(one[0].split("/")[2]) - 4, 4) for one in again)


def test_a_later_round_of_the_step_goes_on_with_further_samples(world):
    tasks = in_order([world.task("a")])
    with player(world, groups=1, rounds=2) as play:
        rounds = [[ids(one.group) for one in finishing] for finishing in play.rounds(tasks, 0)]
    assert rounds == [[["0/a/0", "0/a/1", "0/a/2"]], [["0/a/3", "0/a/4", "0/a/5"]]]


def test_an_error_is_retried_with_another_seed_and_kept_in_the_group(world):
    """What failed stands last, unscored; in front stands what came of the last retry."""
    tasks = [world.task(f"t{i}", fault=True) for i in range(6)]
    plain = once(player(world), 0, tasks)
    played = once(player(world, on_ending={"infra_error": "retry"}, retries=4), 0, tasks)
    failed = sum(t.ending.kind == "infra_error" for one in plain for t in one.group)
    assert failed > 0
    left = [t for one in played for t in one.group.trajectories[:3] if t.ending.kind == "infra_error"]
    assert len(left) < failed
    for one, before in zip(played, plain):
        assert not one.scorable[3:].any()
        for now, then in zip(one.group.trajectories[:3], before.group):
            if then.ending.kind == "completed":
                assert now.id == then.id and now.seed == then.seed
            else:
                assert now.id.startswith(f"{then.id}/retry-") and now.id.count("retry") == 1
                assert now.sample == then.sample and now.seed != then.seed
                n = int(now.id.rsplit("-", 1)[1])
                assert now.seed == derive_seed(11, 0, now.task.id, now.sample, "retry", n)
                assert then.id in [t.id for t in one.group.trajectories[3:]]
        assert len(set(ids(one))) == len(ids(one))


def test_masked_endings_are_scored_but_do_not_train(world):
    engine = world.make_engine()  # untrained: nearly every turn is cut by the length limit
    (played,) = once(player(world, engine=engine, on_ending={"truncated": "mask"}), 0, [world.task("a")])
    cut = [t.ending.kind == "truncated" for t in played.group]
    assert any(cut) and played.scorable.all() and trains(played) == [not one for one in cut]


def test_a_retry_that_is_spent_is_masked(world):
    engine = world.make_engine()
    (played,) = once(player(world, engine=engine, on_ending={"truncated": "retry"}, retries=2), 0, [world.task("a")])
    for t, scorable, own in zip(played.group.trajectories[:3], played.scorable, trains(played)):
        assert scorable and own == (t.ending.kind != "truncated")
    assert len(played.group) > 3


def test_one_bad_ending_can_drop_its_group(world):
    tasks = [world.task(f"t{i}", fault=i % 2 == 0) for i in range(8)]
    played = once(player(world, on_ending={"infra_error": "drop_group"}), 0, tasks)
    for one in played:
        died = any(t.ending.kind == "infra_error" for t in one.group)
        assert all(own[-1:] == ((Disposition("dropped", "on_ending"),) if died else ()) for own in one.dispositions)
    assert {one.scorable.any() for one in played} == {True, False}


def simulated(world, seconds, **changes):
    """A player on simulated time whose tools take seconds(request); and its clock."""
    clock = SimulatedClock()
    engine = SimulatedEngine(changes.pop("engine", None) or world.Talking(world.calls_then_answers), clock, decode=one)
    workers = SimulatedWorkers(clock, lambda request: 0.0 if isinstance(request, Work) else seconds(request))
    return player(world, engine=engine, workers=workers, **{"lockstep": False} | changes), clock


def one(rows):
    return 0.001


def slow(name, seconds):
    """Seconds by whether the environment is of that task."""
    return lambda act: seconds if act.env.task.id == name else 1.0


def test_groups_appear_as_they_finish(world):
    play, clock = simulated(world, slow("a", 30.0), groups=3)
    tasks, seen = in_order([world.task(name) for name in "abc"], shuffle=False), []
    with play:
        for finishing in play.rounds(tasks, 0):
            for placed in finishing:
                seen.append((placed.place, clock.now > 30))
    assert seen == [(1, False), (2, False), (0, True)]


def test_the_first_of_the_spare_ones_are_kept(world):
    """Of 3 + 2 attempts the two whose tool is slow are stopped, in time."""
    play, clock = simulated(world, lambda act: 99.0 if act.seed % 4 == 0 else 1.0, spare=4, group_size=3)
    (played,) = once(play, 0, [world.task("a")])
    kinds = [(t.ending.kind, t.ending.reason) for t in played.group]
    assert len(played.group) == 7 and kinds[:3] == [("completed", "")] * 3
    assert set(kinds[3:]) <= {("truncated", "stopped"), ("completed", "")} and ("truncated", "stopped") in kinds
    assert played.scorable.tolist() == trains(played) == [True] * 3 + [False] * 4
    assert clock.now < 10
    assert all(t.num_tokens > 0 for t in played.group)  # what was sampled of them is kept


def test_a_stop_rule_ends_a_group(world):
    play, clock = simulated(
        world, lambda act: 1.0 + act.seed % 7, group_size=6, stop_when=lambda ended, size: len(ended) >= 2
    )
    (played,) = once(play, 0, [world.task("a")])
    assert len(played.group) == 6 and 2 <= played.scorable.sum() < 6
    assert played.scorable.tolist() == sorted(played.scorable.tolist(), reverse=True)


def test_in_segments_nobody_adds_more_than_the_limit_and_all_are_finished(world):
    """Attempts of up to 24 tokens, 5 a step; a group appears when all of it has ended, as a plain run plays it."""
    tasks = in_order([world.task(name) for name in "abcdef"], shuffle=False)
    whole = once(
        player(world, engine=world.make_engine(), sampling=Sampling(max_tokens=12)),
        0,
        [world.task("a"), world.task("b")],
    )
    play = player(
        world,
        engine=world.make_engine(),
        sampling=Sampling(max_tokens=12),
        segment_tokens=5,
        groups=2,
        lockstep=False,
        steps=30,
    )
    found, before = {}, {}
    with play:
        for step in range(12):
            for finishing in play.rounds(tasks, step):
                for placed in finishing:
                    found.setdefault(placed.group.group.task.id, placed.group.group)
                    assert placed.group.group.step == step
            assert play.held <= 2
            now = {name: play._driver.tokens(name) for name in play._group_of}
            assert all(count - before.get(name, 0) <= 5 for name, count in now.items())
            before = now
            play.engine.version += 1
    for group, plain in zip((found["a"], found["b"]), whole):
        for one, other in zip(group, plain.group):
            assert one.sequences[0].ids.tolist() == other.sequences[0].ids.tolist()
            versions = one.sequences[0].version[one.sequences[0].mask]
            assert versions.tolist() == [k // 5 for k in range(len(versions))]  # five tokens under each weights


def test_ahead_of_the_step_groups_are_launched_as_the_gate_allows(world):
    play, _ = simulated(world, lambda act: 1.0, groups=2, group_size=1, staleness=2, steps=5)
    asked = []

    class Tasks:
        def next(self, step, count):
            asked.append(step)
            return [world.task(f"s{step}-{k}") for k in range(count)]

    with play:
        for step, launched in enumerate([[0, 1, 2], [3], [4], [], []]):  # nothing beyond the last step
            asked.clear()
            for finishing in play.rounds(Tasks(), step):
                names = [placed.group.group.task.id for placed in finishing]
                assert sorted(names) == [f"s{step}-0", f"s{step}-1"]
            assert asked == launched
        assert play.held == 0


def test_the_first_to_end_are_handed_over_of_whatever_step(world):
    """Two groups a step, one step ahead; b and d take ten times as long. A draw goes past the last step."""
    seconds = {"b": 20.0, "d": 20.0}
    play, clock = simulated(
        world,
        lambda act: seconds.get(act.env.task.id, 1.0) if isinstance(act, Act) else 0.0,
        groups=2,
        group_size=1,
        staleness=1,
        race=True,
        steps=3,
    )
    tasks = in_order([world.task(name) for name in "abcdefgh"], shuffle=False)
    with play:
        found = []
        for step in range(3):
            for finishing in play.rounds(tasks, step):
                placed = list(finishing)
                found.append(sorted(one.group.group.task.id for one in placed))
                assert all(one.group.group.step == step for one in placed)
        assert found == [["a", "c"], ["e", "f"], ["g", "h"]]
        assert play.held == 2 and clock.now < 20
        assert [one["id"] for one in play.state_dict()["flying"]] == ["b", "d"]


def test_what_was_in_flight_is_launched_again(world):
    tasks = in_order([world.task(f"t{i}") for i in range(20)], shuffle=False)
    play, _ = simulated(world, lambda act: 1.0, groups=2, group_size=2, staleness=1)
    with play:
        for finishing in play.rounds(tasks, 0):
            first = [ids(placed.group) for placed in finishing]
    state, drawn = play.state_dict(), tasks.state_dict()
    other, _ = simulated(world, lambda act: 1.0, groups=2, group_size=2, staleness=1)
    other.load_state_dict(state)
    assert other.state_dict() == state
    rest = in_order([world.task(f"t{i}") for i in range(20)], shuffle=False)
    rest.load_state_dict(drawn)
    with other:
        found = [[ids(p.group) for p in finishing] for step in (1, 2) for finishing in other.rounds(rest, step)]
    names = [name.split("/")[1] for round in ([first], found) for groups in round for group in groups for name in group]
    assert sorted(names) == sorted([f"t{i}" for i in range(6)] * 2)
    assert ["1/t2/0", "1/t2/1"] in found[0]  # the very attempts that were under way


def test_images_of_groups_in_flight_are_in_the_state_once(world):
    images = {}
    asked = (Message.of("user", "What is ", noise(), "?"),)
    tasks = [replace(world.task(name), messages=asked) for name in "ab"]
    flying = [{"step": 1, "id": one.id, "nth": 0, "task": dump_record(one, images)} for one in tasks]
    state = {"flying": flying, "launched": 2, "begun": [0, 1], "images": [noise()]}
    play, _ = simulated(world, lambda act: 1.0, groups=2, group_size=1, staleness=1)
    play.load_state_dict(state)
    assert play.state_dict() == state and len(flying[0]["task"]) < 500


def test_beside_other_work_attempts_are_played_on(world):
    """While 100 s of training elsewhere go by, the groups of the next step finish."""
    play, clock = simulated(world, lambda act: 10.0, groups=1, group_size=2, staleness=1)
    tasks = in_order([world.task(f"t{i}") for i in range(9)], shuffle=False)
    with play:
        for finishing in play.rounds(tasks, 0):
            list(finishing)
        before = clock.now
        play.beside(work_plan(play.config.workers.takes(100.0)))
        play.wait()
        assert clock.now == before + 100 and play.held == 1 and not play._group_of


def test_rounds_go_on_where_the_one_before_stopped(world):
    tasks = in_order([world.task(name) for name in "abcde"], shuffle=False)
    rounds = draw_rounds(tasks, 0, groups=2, rounds=9)
    assert [t.id for t in next(rounds)] == ["a", "b"] and [t.id for t in next(rounds)] == ["c", "d"]
    rounds = draw_rounds(tasks, 1, groups=2, rounds=1)  # that was enough; nothing is skipped
    assert [[t.id for t in one] for one in rounds] == [["e", "a"]]
    with pytest.raises(TaskError, match="step 0"):
        next(draw_rounds(world.Tasks([]), 0, groups=2, rounds=1))


def test_a_curriculum_that_runs_out_ends_the_rounds(world):
    class Three:
        def next(self, step, count):
            return [world.task(name) for name in "abc"][:count]

    assert [[t.id for t in one] for one in draw_rounds(Three(), 0, groups=2, rounds=5)] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "sizes, says",
    [
        ({"group_size": 0}, "group_size 0"),
        ({"groups": 0}, "groups is 0"),
    ],
)
def test_sizes_that_cannot_be_are_refused(world, sizes, says):
    with pytest.raises(InputError, match=says):
        player(world, **sizes)


def test_sampling_may_be_a_function_of_the_step_that_a_group_is_launched_for(world):
    play = player(world, sampling=lambda step: Sampling(temperature=1.0 + step, max_tokens=4), staleness=1, groups=1)
    tasks = in_order([world.task(f"t{i}") for i in range(4)], shuffle=False)
    with play:
        found = [next(iter(next(play.rounds(tasks, step)))).group.group for step in range(3)]
    assert [one[0].turns[0].sampling.temperature for one in found] == [1.0, 2.0, 3.0]


def test_nothing_asked_for_is_refused(world):
    with pytest.raises(InputError, match="groups is 0"):
        next(draw_rounds(in_order([world.task("a")]), 0, groups=0, rounds=1))
    with pytest.raises(InputError, match="rounds 0"):
        next(draw_rounds(in_order([world.task("a")]), 0, groups=1, rounds=0))
