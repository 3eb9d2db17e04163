import math
import os
import random
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError, TaskError, TrainingError
from handaxe.core.records import check
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.crash import kill_until_done, start_child
from handaxe.training.loop.config import PeriodicEvaluation
from handaxe.training.loop.train import train
from handaxe.training.record.groups import group_fate, is_trained
from handaxe.training.record.run_record import RunRecord


def test_three_steps_end_to_end(world, tmp_path):
    engine = world.Talking(world.calls_then_answers)
    before = world.weights(engine)
    result = train(**world.arguments(engine=engine, steps=3, out=tmp_path, annotate=("old_logp", "entropy")))
    assert [one["step"] for one in result.metrics] == [0, 1, 2] and not result.stopped
    assert engine.version == 6 and not world.same(before, world.weights(engine))  # 2 minibatches a step
    first = result.metrics[0]
    assert first["calls"] == 1 and first["turns"] == 2 and first["ending/completed"] == 12
    assert first["reply/ok"] == 12 and first["trained_share"] == 1 and first["groups"] == first["groups/trained"] == 3
    assert first["channel/twice"] == pytest.approx(2 * first["reward"])
    assert first["optimiser_steps"] == 2 and first["nothing_to_train"] == 0 and first["loss/adv_max"] > 0
    assert {"seconds/sampling", "seconds/reward", "seconds/credit", "seconds/update", "seconds/tools"} <= first.keys()
    with RunRecord.open(tmp_path) as record:
        trajectories = record.trajectories(step=1)
        assert record.steps() == [0, 1, 2] and len(trajectories) == 12
        for one in trajectories:
            check(one)
            assert set(one.sequences[0].features) == {"old_logp", "entropy"}
        assert [event.kind for event in record.events()] == ["started", "finished"]
        assert record.about()["arguments"]["group_size"] == 4
        assert [one["reward"] for one in record.metrics()] == [one["reward"] for one in result.metrics]


@pytest.mark.exact
def test_microbatches_and_workers_change_nothing(world):
    found = []
    for rows, workers in ((1, 1), (5, 8), (64, 2)):
        engine = world.make_engine(double=True)  # single precision differs by rounding that Adam blows up
        train(**world.arguments(engine=engine, steps=3, micro_batch_rows=rows, workers=workers))
        found.append(world.weights(engine))
    for name, value in found[0].items():
        for other in found[1:]:
            torch.testing.assert_close(value, other[name], rtol=0, atol=1e-6)


def test_the_first_ratio_is_one(world):
    """What was recorded at sampling is what training recomputes under the same weights."""
    gaps = []

    def loss(policy, batch):
        gaps.append(torch.where(batch.mask_BT, policy.logp_BT - batch.old_logp_BT, 0.0).abs().max().item())
        return world.reinforce(policy, batch)

    train(**world.arguments(loss=loss, steps=2, minibatches=1, micro_batch_rows=100))
    assert len(gaps) == 2 and max(gaps) < 1e-5


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_random_and_resumed_is_uninterrupted(world, tmp_path, seed):
    """A child process, killed at random instants until it is done: same weights, every step exactly once."""
    steps, rng = 7, random.Random(seed)
    engine = world.make_engine()
    train(**world.arguments(engine=engine, steps=steps))
    start_child(Path(world.__file__), "resume", (tmp_path / "warm", 0)).join()  # the server has imported torch now
    after = sorted(rng.uniform(0.02, 0.5) for _ in range(8))  # the first one comes long before the end
    kills = kill_until_done(Path(world.__file__), "resume", (tmp_path / "run", steps, 0.04), after=after)
    assert kills >= 1
    assert world.same(torch.load(tmp_path / "run" / "final.pt"), world.weights(engine))
    with RunRecord.open(tmp_path / "run") as record:
        names = [one.id for one in record.trajectories()]
        assert record.steps() == list(range(steps)) and len(set(names)) == len(names) == 12 * steps


class Dated(Compact):
    """A format whose openings tell a date, as chat templates may."""

    def __init__(self, day):
        self.day, self.told = day, set()

    def start(self, messages, tools):
        self.told.add(self.day)
        return super().start(messages, tools)

    def state_dict(self):
        return {"day": self.day}

    def load_state_dict(self, state):
        self.day = state["day"]


def test_a_resumed_run_renders_what_it_rendered_at_first(world, tmp_path):
    first, later = Dated("monday"), Dated("tuesday")
    train(**world.arguments(format=first, steps=2, out=tmp_path))
    train(**world.arguments(format=later, steps=4, out=tmp_path, resume=True))
    assert first.told == later.told == {"monday"}


def test_ctrl_c_finishes_the_step_and_says_how_to_resume(world, tmp_path):
    """SIGINT to a child; the run it leaves can be resumed, and comes to what it would have come to."""
    child = start_child(Path(world.__file__), "resume_saying", (tmp_path, 60, 0.05))
    deadline = time.monotonic() + 60
    while not _steps(tmp_path) and child.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGINT)
    child.join(60)
    done, said = len(_steps(tmp_path)), (tmp_path / "said.txt").read_text()
    assert child.exitcode == 0 and 1 <= done < 60
    assert "stopping after this step; press Ctrl-C again" in said
    assert f"stopped with {done} of 60 steps done" in said and "resume=True): it goes on after step" in said
    assert not (tmp_path / "final.pt").exists()
    with RunRecord.open(tmp_path) as record:
        assert record.events()[-1].kind == "interrupted"
    world.resume(tmp_path, done + 1)
    engine = world.make_engine()
    train(**world.arguments(engine=engine, steps=done + 1))
    assert world.same(torch.load(tmp_path / "final.pt"), world.weights(engine))


def _steps(folder):
    try:
        with RunRecord.open(folder) as record:
            return record.steps()
    except (InputError, sqlite3.OperationalError):  # not there yet
        return []


def test_a_loss_that_is_not_finite_stops_the_run_and_says_what_to_do(world, tmp_path):
    class Fails:
        """Not finite from the third optimiser step on."""

        def __call__(self, policy, batch):
            out = world.reinforce(policy, batch)
            return out._replace(value=out.value * (math.nan if engine.version > 1 else 1))

    engine = world.make_engine()
    same = {"minibatches": 1, "micro_batch_rows": 100, "out": tmp_path, "checkpoint_every": 1}
    with pytest.raises(
        TrainingError, match=r"step 2: .*resume=True\) and a lower learning rate: it goes on after step 2"
    ):
        train(**world.arguments(**same, engine=engine, loss=Fails()))
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [0, 1]
        assert record.events()[-1].kind == "failed"
        assert all(check(one) is None for one in record.trajectories())
    other = world.make_engine()
    result = train(**world.arguments(**same, engine=other, resume=True, learning_rate=1e-3))
    assert [one["step"] for one in result.metrics] == [0, 1, 2, 3] and other.version == 4


def test_failures_of_the_infrastructure_enter_no_statistics(world, tmp_path):
    """Every third step of the environment dies; reward and credit never see those siblings."""
    shown = []

    def reward(group):
        shown.extend(group)
        return world.small_bytes(group)

    tasks = world.Tasks([world.task(f"t{i}", fault=True) for i in range(4)])
    engine = world.Talking(world.calls_then_answers)
    result = train(
        **world.arguments(
            engine=engine, tasks=tasks, reward=reward, credit=world.centred, steps=1, groups=4, out=tmp_path
        )
    )
    with RunRecord.open(tmp_path) as record:
        groups = record.groups()
    dead = [one for group in groups for one in group.played.group if one.ending.kind == "infra_error"]
    assert 0 < len(dead) < 16 and len(shown) == 16 - len(dead) and all(one.ending.kind == "completed" for one in shown)
    first = result.metrics[0]
    assert first["ending/infra_error"] == len(dead) and first["trained_share"] == (16 - len(dead)) / 16
    for group in groups:
        alive = [one for one in group.played.group if one.ending.kind == "completed"]
        every = range(len(group.played.group))
        assert [group.place(i) is not None for i in every] == [one in alive for one in group.played.group]
        assert [is_trained(group, i) for i in every] == [one in alive for one in group.played.group]
        assert group.group.trajectories == tuple(alive)
        values = [float(np.mean([s.ids[s.mask] < 100 for s in one.sequences])) for one in alive]
        for one, tokens, value in zip(alive, group.advantages.tokens, values):
            expected = np.where(one.sequences[0].mask, value - np.mean(values), 0.0)
            np.testing.assert_allclose(tokens[0], expected, atol=1e-12)


def test_refilling_stops_when_enough_groups_are_selected_and_cuts_the_surplus(world, tmp_path):
    """The selector lets t0 and t1 through; three groups a round, so two rounds give the two that are asked for."""
    arguments = world.arguments(
        select=lambda rated: [one for one in rated if one.group.task.id in ("t0", "t1")],
        steps=1,
        credit=world.centred,
        out=tmp_path,
        rounds=5,
    )
    result = train(**arguments)
    with RunRecord.open(tmp_path) as record:
        groups = record.groups()
    assert [one.group.task.id for one in groups] == ["t0", "t1", "t2", "t3", "t4", "t0"]
    assert [group_fate(one) for one in groups] == [
        "trained",
        "trained",
        "unselected",
        "unselected",
        "unselected",
        "trained",
    ]
    assert [one.sample for one in groups[-1].group] == [4, 5, 6, 7]  # t0 again, but not the same attempts again
    assert result.metrics[0]["groups/trained"] == 3


def test_the_surplus_of_the_last_round_is_cut(world, tmp_path):
    """2 of 3 groups pass a round, so two rounds give 4, of which 3 are trained."""

    def select(rated):
        return [one for i, one in enumerate(rated) if i % 3 < 2]

    arguments = world.arguments(select=select, rounds=4, steps=1, out=tmp_path)
    result = train(**arguments)
    with RunRecord.open(tmp_path) as record:
        fates = [group_fate(one) for one in record.groups()]
    assert fates == ["trained", "trained", "unselected", "trained", "surplus", "unselected"]
    assert result.metrics[0]["groups/surplus"] == 1


def test_nothing_to_train_leaves_the_weights_alone_and_is_loud(world):
    engine = world.make_engine()
    before = world.weights(engine)
    result = train(**world.arguments(engine=engine, select=lambda rated: [], steps=2))
    assert world.same(before, world.weights(engine)) and engine.version == 0
    assert [one["nothing_to_train"] for one in result.metrics] == [1, 1] and result.metrics[0]["trained_share"] == 0


def test_evaluation_runs_before_every_n_steps_and_after_the_last(world, tmp_path):
    seen = []

    def evaluate(engine, done):
        seen.append((done, engine.version))
        return {"accuracy": done / 10, "note": "text"}

    result = train(
        **world.arguments(
            evaluation=PeriodicEvaluation(evaluate=evaluate, every=2), steps=3, minibatches=1, out=tmp_path
        )
    )
    assert seen == [(0, 0), (2, 2), (3, 3)]
    assert result.metrics[1]["eval/accuracy"] == 0.2 and "eval/accuracy" not in result.metrics[0]
    with RunRecord.open(tmp_path) as record:
        assert record.evaluations()[3] == {"accuracy": 0.3, "note": "text"} and list(record.evaluations()) == [0, 2, 3]


def test_it_refuses_what_cannot_work(world, tmp_path):
    with pytest.raises(TaskError, match="data set empty"):
        train(**world.arguments(tasks=world.Tasks([])))
    with pytest.raises(InputError, match="never a reward"):
        train(**world.arguments(on_ending={"infra_error": "score"}))
    with pytest.raises(InputError, match="annotate names logits"):
        train(**world.arguments(annotate=("logits",)))
    with pytest.raises(InputError, match="epochs is -1"):
        train(**world.arguments(epochs=-1))
    with pytest.raises(InputError, match="needs out="):
        train(**world.arguments(resume=True))
    train(**world.arguments(steps=1, out=tmp_path))
    with pytest.raises(InputError, match="resume=True to go on"):
        train(**world.arguments(steps=1, out=tmp_path))


def test_nothing_is_printed_without_progress_and_something_with_it(world, capfd):
    train(**world.arguments(steps=1))
    assert capfd.readouterr() == ("", "")
    train(**world.arguments(steps=1, progress=True))
    assert "step 1/1  in 0:00  reward" in capfd.readouterr().err


class Judge:
    """Learns the running sum of outcomes, in order; keeps the tasks it was shown."""

    def __init__(self):
        self.value, self.shown = 0.0, []

    def learn(self, groups, *, step):
        self.shown.append((step, [one.group.task.id for one in groups]))
        for one in groups:
            self.value = 0.5 * self.value + float(one.scores.outcome.sum())
        return {"value": self.value}

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


def test_learners_learn_once_a_step_from_all_groups_and_are_resumed(world, tmp_path):
    whole, first, second = Judge(), Judge(), Judge()
    fixed = {"select": lambda rated: list(rated)[:1], "learners": [whole]}
    expected = train(**world.arguments(**fixed, steps=4))
    assert whole.shown[1] == (1, ["t3", "t4", "t0"]) and [step for step, _ in whole.shown] == [0, 1, 2, 3]
    train(**world.arguments(**fixed | {"learners": [first]}, steps=2, out=tmp_path))
    result = train(**world.arguments(**fixed | {"learners": [second]}, steps=4, out=tmp_path, resume=True))
    assert [m["learner/judge/value"] for m in result.metrics] == [m["learner/judge/value"] for m in expected.metrics]
    assert [step for step, _ in second.shown] == [2, 3] and second.value == whole.value


def test_a_learner_sees_the_groups_of_every_round_together(world):
    judge = Judge()
    few = {"select": lambda rated: list(rated)[::3], "rounds": 2, "steps": 1, "learners": [judge]}
    train(**world.arguments(**few))
    assert judge.shown == [(0, ["t0", "t1", "t2", "t3", "t4", "t0"])]


def test_no_epoch_trains_nothing_and_is_recorded(world, tmp_path, recwarn):
    engine = world.make_engine()
    before = world.weights(engine)
    result = train(**world.arguments(engine=engine, epochs=0, steps=2, out=tmp_path))
    assert world.same(before, world.weights(engine)) and engine.version == 0 and not recwarn.list
    assert [one["optimiser_steps"] for one in result.metrics] == [0, 0] and "loss" not in result.metrics[0]
    assert result.metrics[0]["nothing_to_train"] == 0 and result.metrics[0]["groups/trained"] == 3
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [0, 1] and len(record.trajectories()) == 24


def test_transform_changes_advantages_of_selected_groups_in_loss_and_record(world, tmp_path):
    seen = []

    def louder(rated):
        seen.append([one.group.task.id for one in rated])
        tokens = [tuple(tuple(10 * a for a in own) for own in one.advantages.tokens) for one in rated]
        return [replace(one, advantages=replace(one.advantages, tokens=own)) for one, own in zip(rated, tokens)]

    def loss(policy, batch):
        largest.append(float(batch.adv_BT.abs().max()))
        return world.reinforce(policy, batch)

    largest = []
    options = {"steps": 1, "groups": 2, "rounds": 2, "loss": loss, "credit": world.centred, "minibatches": 1}
    options |= {"select": lambda rated: [one for one in rated if one.group.task.id != "t0"], "micro_batch_rows": 99}
    train(**world.arguments(**options, out=tmp_path / "plain"))
    train(**world.arguments(**options, transform=louder, out=tmp_path / "transformed"))
    assert seen == [["t1", "t2"]] and largest[1] == pytest.approx(10 * largest[0])
    found = []
    for name in ("plain", "transformed"):
        with RunRecord.open(tmp_path / name) as record:
            found.append(
                {g.group.task.id: max(float(a[0].max()) for a in g.advantages.tokens) for g in record.groups()}
            )
    ratio = {name: round(found[1][name] / found[0][name], 6) for name in found[0]}
    assert ratio == {"t0": 1, "t1": 10, "t2": 10, "t3": 1}


@pytest.mark.parametrize(
    "transform",
    [
        lambda rated: list(rated)[:-1],
        lambda rated: list(rated)[::-1],
        lambda rated: [replace(one, trained=~one.trained) for one in rated],
        lambda rated: [replace(one, part=1) for one in rated],
        lambda rated: [replace(one, advantages=replace(one.advantages, trains=one.advantages.tokens)) for one in rated],
    ],
)
def test_transform_that_selects_is_refused(world, transform):
    with pytest.raises(InputError, match="A transform changes advantages and nothing else"):
        train(**world.arguments(steps=1, transform=transform))


def test_sampling_by_step(world, tmp_path):
    train(**world.arguments(sampling=lambda step: world.Sampling(max_tokens=3 + step), steps=2, out=tmp_path))
    with RunRecord.open(tmp_path) as record:
        found = [
            {turn.sampling.max_tokens for one in record.trajectories(step=k) for turn in one.turns} for k in (0, 1)
        ]
    assert found == [{3}, {4}]
