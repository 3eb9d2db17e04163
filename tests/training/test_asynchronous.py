"""Training ahead of itself, in segments, with spare attempts: what is guaranteed, and what it costs."""

import random
import time
from collections import Counter
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch

from handaxe.core.batch import PolicyOut
from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.records import Advantages, Group, Message, RatedGroup, Scores, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import Attempt, EnvReply, Work
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.curricula.in_order import in_order
from handaxe.losses.corrections.mis import mis
from handaxe.losses.corrections.tis import tis
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.ops.seeds import derive_seed
from handaxe.papers.rl_mle.duration_weight import duration_weight
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.rollouts.stopping.decided import decided
from handaxe.testing.crash import kill_until_done, run_until_killed, start_child
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.simulated import SimulatedClock, SimulatedEngine, SimulatedWorkers
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.train import train
from handaxe.training.record.groups import group_fate, is_trained
from handaxe.training.record.run_record import RunRecord

ADD = ToolSchema("add", "Add numbers.", {"type": "object", "properties": {"numbers": {"type": "string"}}})


def seconds_of(act):
    """What only the environment's machinery knows: a few tasks are fifty times slower."""
    return 0.0 if isinstance(act, Work) else 50.0 if act.env.task.metadata.get("slow") else 1.0


def simulated(inner, *, seconds=seconds_of, **costs):
    """The engine and workers of a run on simulated time, and its clock."""
    clock = SimulatedClock()
    engine = SimulatedEngine(inner, clock, decode=lambda rows: 0.05, **costs)
    return {"engine": engine, "workers": SimulatedWorkers(clock, seconds), "lockstep": False}, clock


def talking(world):
    return world.Talking(world.calls_then_answers)


def numbered(world, count, slow=()):
    return in_order([world.task(f"t{i}", slow=i in slow) for i in range(count)], shuffle=False)


def everything(folder):
    with RunRecord.open(folder) as record:
        return record.groups()


# --- staleness 0 ---------------------------------------------------------------------------------------------------


class Twice:
    """A world's Chat that always asks a second time, so that an attempt has two turns."""

    def __init__(self, world):
        self.world = world

    def __call__(self, task):
        env = self.world.Chat(task)
        env.step = lambda turn, *, seed: EnvReply((Message("user", "again?"),))
        return env


def by_hand(world, engine, *, steps=4):
    """The synchronous loop: play all groups of a step, reward, credit, one gradient, one optimiser step, the next."""
    tasks, rollout, played = world.Tasks([world.task(f"t{i}") for i in range(5)]), linear(max_turns=2), []
    for step in range(steps):
        rated = []
        for task in tasks.next(step, 3):
            roles = {"task": task, "env": Twice(world), "format": world.FORMAT, "context": engine.max_length}
            roles["sampling"] = world.Sampling(max_tokens=6)
            attempts = [
                Attempt(**roles, id=f"{step}/{task.id}/{k}", sample=k, seed=derive_seed(7, step, task.id, k))
                for k in range(4)
            ]
            group = Group(task, tuple(one for (one,) in run(attempts, rollout, engine, workers=2)), step)
            scores = world.small_bytes(group)
            rated.append(RatedGroup.of(group, scores, world.centred(group, scores)))
        engine.forward_backward(make_batch(rated, pad_id=engine.pad_id), world.reinforce)
        engine.optim_step(learning_rate=0.01)
        played.append({t.id: t.sequences[0].ids.tolist() for one in rated for t in one.group})
    return played


def by_train(world, engine, folder, **options):
    """The same with `train`, its tools of random duration; what it played, step by step."""
    rng = random.Random(1)
    simulation, _ = simulated(engine, seconds=lambda request: rng.random())
    options |= {"env": Twice(world), "credit": world.centred, "minibatches": 1, "seed": 7, "out": folder}
    train(**world.arguments(**simulation | options))
    with RunRecord.open(folder) as record:
        return [{t.id: t.sequences[0].ids.tolist() for t in record.trajectories(step=step)} for step in record.steps()]


def test_without_staleness_it_is_the_loop_written_by_hand(world, tmp_path):
    """The same tokens of every attempt of every step, and parameters within 1e-6; one step ahead it is another run."""
    engines = [world.make_engine(double=True) for _ in range(4)]
    wanted = by_hand(world, engines[0])
    assert all(len(one) == 12 for one in wanted) and len(wanted) == 4
    for engine, lockstep in zip(engines[1:3], (False, True)):
        assert by_train(world, engine, tmp_path / f"{lockstep}", staleness=0, lockstep=lockstep) == wanted
        for name, value in world.weights(engines[0]).items():
            torch.testing.assert_close(value, world.weights(engine)[name], rtol=0, atol=1e-6)
    ahead = by_train(world, engines[3], tmp_path / "ahead", staleness=1)
    assert ahead[0] == wanted[0] and all(ahead[step] != wanted[step] for step in (1, 2, 3))


@pytest.mark.exact
def test_without_staleness_the_tools_change_no_bit(world):
    """In lockstep, whatever they take and whoever carries them out."""
    plain = world.make_engine()
    train(**world.arguments(engine=plain))
    for seed in range(2):
        rng, engine = random.Random(seed), world.make_engine()
        run, _ = simulated(engine, seconds=lambda request: rng.random())
        train(**world.arguments(**run | {"lockstep": True, "staleness": 0}))
        assert world.same(world.weights(plain), world.weights(engine))


@pytest.mark.exact
def test_without_lockstep_it_is_the_same_run_within_rounding(world):
    """Any timing of the tools gives the same tokens, and parameters within 1e-6."""
    plain = world.make_engine(double=True)
    sync = train(**world.arguments(engine=plain))
    for seed in range(2):
        rng, engine = random.Random(seed), world.make_engine(double=True)
        run, _ = simulated(engine, seconds=lambda request: rng.random())
        result = train(**world.arguments(**run))
        for name, value in world.weights(plain).items():
            torch.testing.assert_close(value, world.weights(engine)[name], rtol=0, atol=1e-6)
        assert [m["reward"] for m in result.metrics] == pytest.approx([m["reward"] for m in sync.metrics], abs=1e-12)
        assert all(m["staleness/max"] == m["staleness/mean"] == 0 for m in result.metrics)


# --- ahead ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("staleness", [1, 2, 4])
def test_no_trained_token_is_older_than_the_bound(world, tmp_path, staleness):
    """Half of the tasks are slow; the versions in the record say the same as the metric."""
    run, _ = simulated(world.make_engine())
    tasks = numbered(world, 40, slow=range(0, 40, 2))
    options = {"tasks": tasks, "steps": 7, "minibatches": 1, "staleness": staleness, "out": tmp_path}
    result = train(**world.arguments(**run, **options))
    oldest = [m["staleness/max"] for m in result.metrics]
    assert 0 < max(oldest) <= staleness and oldest[0] == 0
    with RunRecord.open(tmp_path) as record:
        for step in range(7):
            versions = [s.version[s.mask] for t in record.trajectories(step=step) for s in t.sequences]
            assert step - np.concatenate(versions).min() == oldest[step]
            assert result.metrics[step]["staleness/mean"] == pytest.approx(
                float((step - np.concatenate(versions)).mean())
            )


def test_weights_that_change_under_way_show_in_the_versions(world, tmp_path):
    """One attempt, several weights: its first turn under old ones, its last under new ones, never the other way."""
    run, _ = simulated(talking(world), seconds=lambda r: 0.0 if isinstance(r, Work) else 1 + r.seed % 40)
    tasks = numbered(world, 40)
    train(**world.arguments(**run, tasks=tasks, steps=6, minibatches=1, staleness=3, out=tmp_path))
    mixed = 0
    with RunRecord.open(tmp_path) as record:
        for trajectory in record.trajectories():
            for sequence in trajectory.sequences:
                versions = sequence.version[sequence.mask]
                assert (np.diff(versions) >= 0).all()
                mixed += len(set(versions.tolist())) > 1
    assert mixed > 0


def test_slow_tasks_are_trained_as_often_as_they_are_drawn(world, tmp_path):
    """Trap 23: the slow quarter of the tasks is the hard one; its share of what is trained is its share of the draw."""
    slow = set(range(0, 24, 4))
    run, _ = simulated(talking(world))
    tasks = numbered(world, 24, slow=slow)
    options = {"tasks": tasks, "steps": 8, "staleness": 3, "group_size": 2, "out": tmp_path}
    train(**world.arguments(**run, **options))
    trained = Counter(
        one.group.task.id
        for one in everything(tmp_path)
        if all(is_trained(one, i) for i in range(len(one.played.group)))
    )
    assert trained == {f"t{i}": 1 for i in range(24)}


@pytest.mark.slow
def test_killed_at_random_and_resumed_no_task_is_lost_or_trained_twice(world, tmp_path):
    """Groups in flight at a kill are launched again: every task in its step, every attempt once."""
    steps, rng = 6, random.Random(3)
    start_child(Path(world.__file__), "resume_ahead", (tmp_path / "warm", 1, 0.0)).join()
    after = sorted(rng.uniform(0.1, 0.6) for _ in range(6))  # the first one comes long before the end
    kills = kill_until_done(Path(world.__file__), "resume_ahead", (tmp_path / "run", steps, 0.05), after=after)
    assert kills >= 1
    groups = everything(tmp_path / "run")
    assert [(one.group.step, one.group.task.id) for one in groups] == [(k // 2, f"t{k}") for k in range(2 * steps)]
    names = [trajectory.id for one in groups for trajectory in one.played.group]
    assert len(names) == len(set(names)) == 8 * steps


def test_a_run_ahead_is_not_resumed_as_one_that_is_not(world, tmp_path):
    """Nor the other way round: what was under way would be lost."""
    train(**world.arguments(steps=1, staleness=1, out=tmp_path / "ahead"))
    with pytest.raises(CheckpointError, match="holds the state of .*'play'"):
        train(**world.arguments(steps=2, out=tmp_path / "ahead", resume=True))
    train(**world.arguments(steps=1, out=tmp_path / "not"))
    with pytest.raises(CheckpointError, match="this run needs that of .*'play'"):
        train(**world.arguments(steps=2, segment_tokens=5, out=tmp_path / "not", resume=True))


def seconds_taken(world, **options):
    """Simulated seconds of a run of 8 steps in which each task is slow or quick, and its sampled tokens."""
    run, clock = simulated(talking(world))
    result = train(**world.arguments(**run, tasks=numbered(world, 24, slow={1, 9, 17}), steps=8, **options))
    return clock.now, sum(m["tokens"] * m["trajectories"] for m in result.metrics)


def test_ahead_the_same_tokens_take_less_time(world):
    """Slow tools are waited for while later steps are played, and the more so the further ahead."""
    taken = [seconds_taken(world, staleness=eta) for eta in (0, 1, 3)]
    assert taken[0][1] == taken[1][1] == taken[2][1]
    assert taken[0][0] > taken[1][0] > taken[2][0]


def test_training_elsewhere_overlaps_with_generation(world):
    """Steps of 2 s of tools, 30 s of training elsewhere: side by side only where there is something to play on."""

    def taken(staleness):
        run, clock = simulated(talking(world), seconds=lambda r: 0.0 if isinstance(r, Work) else 10.0)
        options = {"tasks": numbered(world, 24), "steps": 4, "staleness": staleness}
        train(**world.arguments(**run, **options, overlap=lambda trained: run["workers"].takes(30.0)))
        return clock.now

    sync, ahead = taken(0), taken(1)
    assert sync > 4 * (30 + 20)
    assert ahead < sync - 3 * 20 + 10  # the tools of three of the four steps ran during training


def test_decoupled_ppo_of_the_paper():
    """pi_prox / pi_behav e^0.4, u 1.3, A 1, eps 0.2 -> -1.4918 * 1.2; above the cap a token is clamped or masked."""
    one = make_trajectory(layouts=["U pp"], logp=[-1.4, -3.0])
    features = {"old_logp": np.where(one.sequences[0].mask, -1.0, 0.0)}
    vars(one.sequences[0]).update(features=features)
    adv = one.sequences[0].mask.astype(float)
    batch = make_batch([RatedGroup.of(Group(one.task, (one,)), Scores(np.ones(1)), Advantages(((adv,),)))], pad_id=0)
    logp_BT = torch.where(batch.mask_BT, batch.old_logp_BT + np.log(1.3), 0.0)
    out = PolicyOut(logp_BT, entropy=lambda: torch.zeros_like(logp_BT))
    for correction, second in ((tis(cap=5), -5 * 1.2), (mis(cap=5, floor=0), 0.0)):
        loss = policy(ratio=token(), surrogate=clip(), reduction=token_mean(), correction=correction)
        assert float(loss(out, batch).value) == pytest.approx((-1.7902 + second) / 2, abs=1e-4)


# --- first come, first trained -------------------------------------------------------------------------------------

# An arm that takes 1 second and pays 0.3, one that takes 10 and pays 1. The exact gradient of a policy that chooses
# either with 1/2 pushes fast by 0.3 of what it pushes slow.
SECONDS = {"fast": 1.0, "slow": 10.0}
PAYS = {"fast": 0.3, "slow": 1.0}


class Arm:
    """One call, which takes as long as the task's arm does, and then it is over."""

    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, (ADD,)

    def step(self, turn, *, seed):
        reply = ToolReply(turn.calls[0].id, "add", "ok", seconds=SECONDS[self.task.metadata["arm"]])
        return EnvReply((Message("tool", "ok"),), (reply,), done=True)

    def report(self):
        return {}

    def close(self):
        pass


def raced(world, tasks, **options):
    """The arms that each step of a run on simulated time trained, and what came of all of them together."""
    clock = SimulatedClock()
    inner = world.Talking(lambda request: ToolCall("add", {"numbers": "1"}))
    roles = {"engine": SimulatedEngine(inner, clock, decode=lambda rows: 0.0), "lockstep": False, "env": Arm}
    roles |= {"workers": SimulatedWorkers(clock, lambda r: 0.0 if isinstance(r, Work) else SECONDS[arm_of(r.env)])}
    seen = []

    def select(rated):
        seen.append(rated)
        return rated

    pays = {"reward": lambda group: Scores(np.array([PAYS[arm_of(group)]])), "credit": constant_baseline()}
    train(**world.arguments(**roles, **pays, tasks=tasks, select=select, group_size=1, minibatches=1, **options))
    return [[arm_of(one.group) for one in step] for step in seen], [one for step in seen for one in step]


def arm_of(whose):
    return whose.task.metadata["arm"]


def push(batch):
    """By how much a batch pushes fast, as a share of that of slow."""
    total = {
        arm: sum(float(one.advantages.tokens[0][0].max()) for one in batch if arm_of(one.group) == arm) for arm in PAYS
    }
    return total["fast"] / total["slow"]


def alternating(world, count):
    return in_order([world.task(f"t{i}", arm=("fast", "slow")[i % 2]) for i in range(count)], shuffle=False)


def test_behind_the_gate_there_is_no_race_and_the_weights_are_a_bias(world):
    steps, batch = raced(world, alternating(world, 40), groups=2, staleness=3, steps=6)
    assert steps == [["fast", "slow"]] * 6
    assert push(batch) == pytest.approx(0.3) and push(duration_weight()(batch)) == pytest.approx(0.03)


def test_one_worker_an_arm_pushes_the_wrong_way_without_weights(world):
    """Whichever arm ended is played anew, so two are under way, one of each: in 10 seconds fast ends ten times, slow
    once."""

    class Anew:
        def __init__(self):
            self.ended, self.made = ["fast", "slow"], 0

        def next(self, step, count):
            self.made += 1
            return [world.task(f"t{self.made}", arm=self.ended.pop(0))]

        def observe(self, rated):
            self.ended += [arm_of(one.group) for one in rated]

    steps, batch = raced(world, Anew(), groups=1, staleness=1, steps=11, race=True)
    assert steps == [["fast"]] * 9 + [["slow"], ["fast"]]  # both end after 10 seconds, slow began first
    assert push(batch) == pytest.approx(3 / 1)
    assert push(duration_weight()(batch)) == pytest.approx(3 / 10)


def test_a_window_that_cuts_off_what_is_slow(world):
    """Of (1 + eta) B under way half are slow, and half of what each step launches: eta steps train B fast ones each,
    the step after it half and half, when the first slow ones end. So fast is pushed 2 eta + 1 times as often."""
    eta, size = 4, 2
    steps, batch = raced(world, alternating(world, 60), groups=size, staleness=eta, steps=eta + 1, race=True)
    assert steps[:eta] == [["fast"] * size] * eta and sorted(steps[eta]) == ["fast", "slow"]
    fast = 2 * eta + 1
    assert push(batch) == pytest.approx(0.3 * fast) == pytest.approx(2.7)
    assert push(duration_weight()(batch)) == pytest.approx(0.03 * fast) == pytest.approx(0.27)


@pytest.mark.slow
def test_first_come_and_killed_no_task_is_trained_twice_and_none_lost(world, tmp_path):
    """What ends is trained once; what was drawn and is not there is no more than what is under way."""
    steps, file = 6, Path(world.__file__)
    for kill in (4, 3, 6):
        run_until_killed(file, "resume_first_come", (tmp_path / "run", steps, kill))
    start_child(file, "resume_first_come", (tmp_path / "run", steps, 0)).join()
    groups = everything(tmp_path / "run")
    names = [trajectory.id for one in groups for trajectory in one.played.group]
    assert [one.group.step for one in groups] == [k // 2 for k in range(2 * steps)]
    assert len(names) == len(set(names)) == 8 * steps
    assert {one.group.task.id for one in groups} <= {f"t{k}" for k in range(2 * steps + 4)}


def test_first_come_resumed_goes_on_with_what_was_under_way(world, tmp_path):
    """t1 and t3 are slow. They were under way at the checkpoint, are begun anew, and train when they end."""

    def options(**changes):
        run, _ = simulated(talking(world), seconds=lambda request: min(8.0, seconds_of(request)))
        shape = {"groups": 2, "group_size": 1, "staleness": 1, "race": True, "minibatches": 1}
        return world.arguments(**run, **shape, tasks=numbered(world, 99, slow={1, 3}), out=tmp_path, **changes)

    train(**options(steps=2))
    before = [one.group.task.id for one in everything(tmp_path)]
    assert sorted(before) == ["t0", "t2", "t4", "t5"]
    train(**options(steps=16, resume=True))
    names = [one.group.task.id for one in everything(tmp_path)]
    assert len(set(names)) == len(names) == 32 and {"t1", "t3"} <= set(names)


# --- rewards beside sampling ---------------------------------------------------------------------------------------


def judged(world, **options):
    """A run, its reward beside, in which t1 speaks again only once the judge of t0 is at work, which in turn waits for
    that: called in the thread that samples, it would wait for ever."""
    judging, spoken = Event(), Event()

    class Waiting(world.Chat):
        def step(self, turn, *, seed):
            if self.task.id == "t1" and turn.calls:
                assert judging.wait(60)
            elif self.task.id == "t1":
                spoken.set()
            return super().step(turn, seed=seed)

    def reward(group):
        if group.task.id == "t0":
            judging.set()
            assert spoken.wait(60)
        return world.small_bytes(group)

    roles = {"engine": talking(world), "env": Waiting, "reward": reward, "tasks": numbered(world, 9)}
    result = train(**world.arguments(**roles, group_size=1, workers=2, lockstep=False, reward_beside=True, **options))
    assert [m["ending/completed"] for m in result.metrics] == [options["groups"]] * options["steps"]


def test_a_judge_holds_nobody_back_who_samples(world):
    judged(world, groups=2, steps=1)


def test_a_judge_of_the_last_group_does_not_hold_back_the_next_step(world):
    """With staleness, the groups of the step after it are played on while the last group of this one is judged."""
    judged(world, groups=1, steps=2, staleness=1)


@pytest.mark.parametrize("options", [{}, {"staleness": 1}, {"segment_calls": 1}], ids=str)
def test_how_long_rewards_take_changes_no_bit(world, options):
    """In lockstep; the curriculum and credit remember, so would show any other order."""

    def weights(pause, beside):
        rng, engine = random.Random(1), world.make_engine()

        def reward(group):
            time.sleep(pause * rng.random())
            return world.small_bytes(group)

        train(**world.arguments(engine=engine, reward=reward, reward_beside=beside, **options))
        return world.weights(engine)

    beside = weights(0.0, True)
    assert world.same(beside, weights(0.02, True))
    assert "staleness" in options or world.same(beside, weights(0.0, False))


@pytest.mark.parametrize("beside", [True, False])
def test_a_run_whose_reward_remembers_resumes_bit_for_bit(world, tmp_path, beside):
    """The reward has seen exactly the groups of the steps that are done."""

    class Counts:
        seen = 0

        def __call__(self, group):
            self.seen += 1
            scores = world.small_bytes(group)
            return Scores(scores.outcome * self.seen)

        def state_dict(self):
            return {"seen": self.seen}

        def load_state_dict(self, state):
            self.seen = state["seen"]

    def weights(steps, **options):
        engine = world.make_engine()
        train(**world.arguments(engine=engine, reward=Counts(), reward_beside=beside, steps=steps, **options))
        return world.weights(engine)

    weights(2, out=tmp_path)
    assert world.same(weights(4), weights(4, out=tmp_path, resume=True))


# --- segments ------------------------------------------------------------------------------------------------------


def test_in_segments_only_whole_groups_train_and_every_token_has_its_weights(world, tmp_path):
    """24 tokens an attempt at most, 6 a step: a group takes up to four steps, and is trained once."""
    engine = world.make_engine()
    options = {
        "segment_tokens": 6,
        "steps": 16,
        "group_size": 2,
        "minibatches": 1,
        "out": tmp_path,
        "tasks": numbered(world, 99),
    }
    options |= {"engine": engine, "rollout": linear(max_turns=4), "lockstep": False}
    options |= {"sampling": world.Sampling(max_tokens=20)}
    result = train(**world.arguments(**options))
    groups = everything(tmp_path)
    names = [t.id for one in groups for t in one.played.group]
    assert groups and len(set(names)) == len(names) and all(len(one.played.group) == 2 for one in groups)
    assert all(m["groups/held"] <= 3 for m in result.metrics) and result.metrics[0]["groups/held"] > 0
    versions = [s.version[s.mask].tolist() for one in groups for t in one.played.group for s in t.sequences]
    assert any(len(set(v)) > 1 for v in versions)
    assert max(m.get("staleness/max", 0) for m in result.metrics) >= 1
    assert all(
        m["ending/truncated"] + m["ending/policy_error"] + m["ending/completed"] == m["trajectories"]
        for m in result.metrics
    )


def test_a_run_killed_in_segments_begins_its_groups_again(world, tmp_path):
    def options(**changes):
        tasks = numbered(world, 99)
        shape = {
            "segment_tokens": 6,
            "checkpoint_every": 1,
            "out": tmp_path,
            "tasks": tasks,
            "lockstep": False,
        } | changes
        return world.arguments(**shape, sampling=world.Sampling(max_tokens=20), minibatches=1, group_size=1)

    train(**options(steps=2))
    train(**options(steps=9, resume=True))
    names = [t.id for one in everything(tmp_path) for t in one.played.group]
    drawn = sorted({int(name.split("/")[1][1:]) for name in names})
    assert len(set(names)) == len(names)
    assert len(drawn) >= 4 and drawn[0] == 0
    missing = set(range(max(drawn))) - set(drawn)
    assert len(missing) <= 3  # only what is still in play


# --- spare attempts and early stops --------------------------------------------------------------------------------


class Errand:
    """Needs 1 to 4 calls, by the seed of the first; those that need 3 or more succeed: the long ones are the good."""

    def __init__(self, task):
        self.task, self.needs, self.calls = task, 0, 0

    def start(self):
        return self.task.messages, (ADD,)

    def step(self, turn, *, seed):
        self.needs = self.needs or 1 + seed // 7 % 4
        self.calls += 1
        reply = ToolReply(turn.calls[0].id, "add", "ok")
        return EnvReply((Message("tool", "ok"),), (reply,), done=self.calls >= self.needs)

    def report(self):
        return {}

    def close(self):
        pass


def errands(world, out, **options):
    run, _ = simulated(world.Talking(lambda request: ToolCall("add", {"numbers": "1"})))
    options |= {"env": Errand, "rollout": linear(max_turns=4), "tasks": numbered(world, 60), "steps": 2, "groups": 15}
    options |= {"reward": long_ones, "credit": world.centred, "out": out}
    return train(**world.arguments(**run, **options)).metrics


def long_ones(group):
    return Scores(np.array([float(len(t.turns) >= 3) for t in group]))


@pytest.mark.slow
def test_the_bias_of_over_provisioning_measured_on_what_was_stopped(world, tmp_path):
    """The stopped attempts, played to their end, are those of the same seeds in a run that stops nobody."""
    kept = errands(world, tmp_path / "kept", group_size=4, spare=4)
    full = errands(world, tmp_path / "full", group_size=8)
    whole = {t.id: t for one in everything(tmp_path / "full") for t in one.played.group}
    stopped = []
    for one in everything(tmp_path / "kept"):
        assert len(one.group) == 4 and len(one.played.group) == 8
        for i, t in enumerate(one.played.group):
            ids = t.sequences[0].ids.tolist()
            assert ids == whole[t.id].sequences[0].ids.tolist()[: len(ids)]
            if t.ending.reason == "stopped":
                assert one.place(i) is None
                stopped.append(t)
    true, seen = np.mean([m["reward"] for m in full]), np.mean([m["reward"] for m in kept])
    assert true == pytest.approx(0.5, abs=0.06) and seen < 0.2  # by this much over-provisioning lies here
    assert sum(m["stopped"] for m in kept) == len(stopped) > 0
    assert kept[0]["stopped/share"] == kept[0]["stopped"] / 120
    assert all(m["stopped/turns"] >= m["turns"] and m["stopped/tokens"] >= m["tokens"] for m in kept)
    assert np.mean([len(whole[t.id].turns) for t in stopped]) > np.mean([m["turns"] for m in kept]) + 1
    assert all(m["stopped"] == 0 and "stopped/tokens" not in m for m in full)


@pytest.mark.slow
def test_an_exact_stop_rule_changes_nothing_that_is_trained(world, tmp_path):
    """Groups with at most a quarter or at least three quarters of successes are dropped, stopped early or not."""

    def in_band(rated):
        return [one for one in rated if 0.25 < np.mean([float(len(t.turns) >= 3) for t in one.group]) < 0.75]

    rule = decided(score=lambda t: float(len(t.turns) >= 3), low=0.25, high=0.75)
    trained, sampled = [], []
    for name, stop_when in (("all", None), ("stopped", rule)):
        metrics = errands(world, tmp_path / name, group_size=8, select=in_band, stop_when=stop_when)
        groups = [one for one in everything(tmp_path / name) if group_fate(one) == "trained"]
        trained.append([(t.id, t.sequences[0].ids.tolist()) for one in groups for t in one.played.group])
        sampled.append(sum(t.num_tokens for one in everything(tmp_path / name) for t in one.played.group))
        assert (sum(m["stopped"] for m in metrics) > 0) == (stop_when is not None)
    assert trained[0] == trained[1] and trained[0]
    assert sampled[1] < sampled[0]


def test_bad_combinations_say_what_to_do(world):
    with pytest.raises(InputError, match="use rounds=1 with staleness"):
        train(**world.arguments(staleness=1, rounds=2))
    with pytest.raises(InputError, match="give staleness=0 with segment_tokens"):
        train(**world.arguments(staleness=1, segment_tokens=5))
    with pytest.raises(InputError, match="spare is -1"):
        train(**world.arguments(spare=-1))
