"""A world small enough to train in for a few steps within a test: roles that fit the loop, with and without state."""

import os
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import torch

from handaxe.core.batch import LossOut
from handaxe.core.errors import InfrastructureError, VerifierError
from handaxe.core.records import Advantages, Message, Sampling, Scores, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import Completion, EnvReply
from handaxe.curricula.in_order import in_order
from handaxe.curricula.task_pool import task_pool
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.losses.dpo import dpo
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.agent0.frontier import frontier
from handaxe.papers.agent0.proposing import proposing
from handaxe.papers.agent0.reinforce_second import reinforce_second
from handaxe.papers.portool.tree import tree
from handaxe.papers.tool_star.best_against_worst import best_against_worst
from handaxe.rollouts.branch_chance import branch_chance
from handaxe.rollouts.branching import branching
from handaxe.rollouts.linear import linear
from handaxe.testing.crash import kill_self_at
from handaxe.testing.scripted_engine import encode_reply
from handaxe.tools.calculator import calculator
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.training.loop.train import train
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.stages.context import make_site
from handaxe.training.stages.prefer import prefer
from handaxe.training.stages.reinforce import reinforce as reinforce_stage
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.run_stages import run_stages
from handaxe.training.stages.sources import played, scripted
from handaxe.training.stages.teach import teach

FORMAT = Compact()
SCHEMA = ToolSchema("add", "Add numbers.", {"type": "object", "properties": {"numbers": {"type": "string"}}})


def task(name, **metadata):
    return Task(name, (Message("user", f"{name}?"),), answer=name, metadata=metadata)


class Tasks:
    """Goes around a list; remembers the sum of the rewards it was shown."""

    def __init__(self, tasks):
        self.tasks, self.seen = tasks, 0.0

    def next(self, step, count):
        return [self.tasks[(3 * step + i) % len(self.tasks)] for i in range(count)] if self.tasks else []

    def observe(self, groups):
        self.seen += sum(float(one.scores.outcome.sum()) for one in groups)

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


class Chat:
    """Answers calls with their arguments and is done when there is no call. `metadata["fault"]` of the task makes
    every third step die."""

    def __init__(self, task):
        self.task, self.calls = task, 0

    def start(self):
        return self.task.messages, (SCHEMA,)

    def step(self, turn, *, seed):
        if self.task.metadata.get("fault") and seed % 3 == 0:
            raise InfrastructureError("the sandbox died")
        if not turn.calls:
            return EnvReply(done=True)
        self.calls += len(turn.calls)
        texts = [str(call.arguments.get("numbers", "")) for call in turn.calls]
        replies = tuple(ToolReply(c.id, c.name, text, seconds=0.001) for c, text in zip(turn.calls, texts))
        return EnvReply(tuple(Message("tool", text) for text in texts), replies)

    def report(self):
        return {"calls": self.calls}

    def snapshot(self):
        return self.calls

    def restore(self, state):
        self.calls = state

    def close(self):
        pass


def small_bytes(group):
    """Reward: the share of sampled ids below 100."""
    values = np.array([float(np.mean([s.ids[s.mask] < 100 for s in t.sequences])) for t in group])
    return Scores(values, channels={"small": values, "twice": 2 * values})


class Baseline:
    """Credit: reward minus a running mean, so that a lost state shows in every later advantage."""

    def __init__(self):
        self.mean = np.zeros(1)

    def __call__(self, group, scores):
        known = np.isfinite(scores.outcome)
        centred = np.where(known, scores.outcome - self.mean, 0.0)
        self.mean = 0.9 * self.mean + 0.1 * scores.outcome[known].mean()
        return Advantages(tuple(tuple(a * s.mask for s in t.sequences) for a, t in zip(centred, group)))

    def state_dict(self):
        return {"mean": self.mean}

    def load_state_dict(self, state):
        self.mean = state["mean"]


def centred(group, scores):
    known = np.isfinite(scores.outcome)
    values = np.where(known, scores.outcome - scores.outcome[known].mean(), 0.0)
    return Advantages(tuple(tuple(a * s.mask for s in t.sequences) for a, t in zip(values, group)))


def reinforce(policy, batch):
    weight = torch.where(batch.mask_BT, batch.adv_BT, 0.0)
    value = -(weight * torch.where(batch.mask_BT, policy.logp_BT, 0.0)).sum() / batch.denominators.tokens
    return LossOut(value, {"tokens": float(batch.mask_BT.sum()), "adv_max": float(batch.adv_BT.max())})


def undecided(name):
    """small_bytes, except that it cannot decide about siblings whose id ends in `name`."""

    def reward(group):
        for one in group:
            if one.id.endswith(name):
                raise VerifierError("cannot decide", trajectory=one.id)
        return small_bytes(group)

    return reward


def make_model(seed=0):
    return TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=seed)


def make_engine(*, seed=0, double=False, **options):
    model = make_model(seed)
    if double:
        model.module.double()
    return LocalEngine(model, **options)


class Talking:
    """A trainable engine that says what `script(request)` says, under its own log-probs of zero. It has no stream."""

    def __init__(self, script, **options):
        self.inner = LocalEngine(make_model(), **options)
        self.script = script

    def __getattr__(self, name):
        if name in ("inner", "stream"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def sample(self, requests):
        out = []
        for request in requests:
            ids = encode_reply(FORMAT, self.script(request), [SCHEMA])
            zeros = [0.0] * len(ids)
            out.append(Completion(ids, zeros, zeros, [self.version] * len(ids), "stop"))
        return out


def calls_then_answers(request):
    """One call in the first turn; then an answer whose length depends on the seed."""
    return ToolCall("add", {"numbers": "1 2"}) if request.turn == 0 else "3" * (1 + request.seed % 3) + "zz"


HOLDERS = {"updates": Updates, "async_config": AsyncConfig, "run": RunConfig}
HELD = {name: {field.name for field in fields(kind)} for name, kind in HOLDERS.items()}


def calculating(*, answers, **changes):
    """The arguments of three steps with a calculator, on questions with their answers, one after the other."""
    tasks = [Task(text, (Message("user", text),), answer) for text, answer in answers.items()]
    roles = {
        "env": tool_chat([calculator]),
        "tasks": in_order(tasks, shuffle=False),
        "rollout": linear(max_turns=3),
        "sampling": Sampling(max_tokens=24),
        "steps": 3,
        "groups": 2,
        "group_size": 2,
        "learning_rate": 1e-3,
        "minibatches": 1,
    }
    return arguments(**roles, **changes)


def arguments(**changes):
    """The arguments of a small run in lockstep; three groups of four, four steps. Fields of Updates, AsyncConfig and
    RunConfig are arguments, too, so that a test changes one by its name."""
    base = {
        "engine": make_engine(),
        "format": FORMAT,
        "env": Chat,
        "tasks": Tasks([task(f"t{i}") for i in range(5)]),
        "rollout": linear(max_turns=2),
        "reward": small_bytes,
        "credit": Baseline(),
        "loss": reinforce,
        "sampling": Sampling(max_tokens=6),
        "steps": 4,
        "groups": 3,
        "group_size": 4,
        "learning_rate": 0.01,
        "minibatches": 2,
        "micro_batch_rows": 5,
        "progress": False,
        "workers": 2,
        "lockstep": True,
    } | changes
    held = {name: kind(**{n: base.pop(n) for n in HELD[name] if n in base}) for name, kind in HOLDERS.items()}
    return base | {name: value for name, value in held.items() if name not in base}


def weights(engine):
    return {name: value.clone() for name, value in engine.model.module.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def resume(folder, steps, pause=0.0):
    """What a child process runs: go on with the run in `folder` and leave the final weights there. The pause, in the
    reward, makes it take its time."""
    torch.set_num_threads(1)

    def slow(group):
        time.sleep(pause)
        return small_bytes(group)

    engine = make_engine()
    out = Path(folder)
    result = train(**arguments(engine=engine, reward=slow, steps=steps, out=out, resume=True, checkpoint_every=2))
    if not result.stopped:
        torch.save(weights(engine), out / "final.pt")


class Waits(Chat):
    """Chat whose every answer takes a few milliseconds, more for some tasks than for others."""

    def step(self, turn, *, seed):
        time.sleep(0.002 * (seed % 3) * len(self.task.id))
        return super().step(turn, seed=seed)


def resume_ahead(folder, steps, pause):
    """As `resume`, two steps ahead and with tools that take their time."""
    torch.set_num_threads(1)

    def slow(group):
        time.sleep(pause)
        return small_bytes(group)

    tasks = in_order([task(f"t{i}") for i in range(3 * steps)], shuffle=False)
    ahead = {"staleness": 2, "lockstep": False, "env": Waits, "tasks": tasks, "reward": slow, "groups": 2}
    train(**arguments(steps=steps, out=Path(folder), resume=True, checkpoint_every=2, **ahead))


def resume_first_come(folder, steps, kill):
    """As `resume_ahead`, first come first trained; it dies before the reward of its `kill`-th group, 0 is never."""
    torch.set_num_threads(1)
    die = kill_self_at(kill)

    def reward(group):
        die()
        return small_bytes(group)

    tasks = in_order([task(f"t{i}") for i in range(3 * steps)], shuffle=False)
    ahead = {"staleness": 2, "race": True, "lockstep": False, "env": Waits, "tasks": tasks, "groups": 2}
    train(**arguments(steps=steps, out=Path(folder), resume=True, checkpoint_every=1, reward=reward, **ahead))


def growing(name, **changes):
    """Roles of a run whose attempts branch, or grow as a tree; a tool takes its time."""
    chance = branch_chance(vocabulary=264)
    rollouts = {"branching": branching(chance=chance, total=6, from_start=3), "tree": tree(total=5, fork_most=3)}
    roles = {"engine": Talking(calls_and_answers), "env": Waits, "rollout": rollouts[name], "credit": centred}
    return arguments(**roles, groups=2, group_size=1, sampling=Sampling(max_tokens=24), **changes)


def calls_and_answers(request):
    """A call in two turns of three, else an answer; both depend on the seed."""
    return ToolCall("add", {"numbers": str(request.seed % 50)}) if request.seed % 3 else "3" * (1 + request.seed % 4)


def resume_growing(folder, steps, at, name):
    """As `resume`, of such a run, which kills itself while a tool answers for the `at`-th time, 0: never."""
    torch.set_num_threads(1)
    die = kill_self_at(at)

    class Deadly(Waits):
        def step(self, turn, *, seed):
            if turn.calls:
                die()
            return super().step(turn, seed=seed)

    changes = {"reward": small_bytes, "steps": steps, "out": Path(folder), "resume": True, "checkpoint_every": 2}
    roles = growing(name, **changes) | {"env": Deadly}
    if not train(**roles).stopped:
        torch.save(weights(roles["engine"]), Path(folder) / "final.pt")


def resume_saying(folder, steps, pause):
    """`resume`, with what it says on stderr in said.txt."""
    with open(Path(folder) / "said.txt", "w") as file:
        os.dup2(file.fileno(), 2)
        resume(folder, steps, pause)
        sys.stderr.flush()


def conversations(count=6):
    """Scripted attempts: a call, its reply, an answer."""
    call = ToolCall("add", {"numbers": "1"})
    said = (Message("assistant", "", (call,)), Message("tool", "1"), Message("assistant", "11"))
    return [
        trajectory_from_messages(FORMAT, (Message("user", f"{i}?"), *said), (SCHEMA,), id=str(i)) for i in range(count)
    ]


def site(**changes):
    """A site of the roles of `arguments`."""
    roles = {name: arguments()[name] for name in ("env", "rollout", "reward", "sampling")}
    tasks = in_order([task(f"t{i}") for i in range(5)])
    base = {"engine": make_engine(reference=True), "format": FORMAT, "tasks": tasks, "seed": 7}
    return make_site(**base | roles | changes)


TRAIN = {"credit": centred, "loss": reinforce, "groups": 2, "group_size": 3, "learning_rate": 0.01}
PLAY = {"async_config": AsyncConfig(lockstep=True, workers=2)}
TRAIN |= PLAY


def stages(pause=0.0):
    """Teaching, reinforcement, and twice preference of what is played anew; the pause makes each step take its time."""

    def slow(call):
        def loss(policy, batch):
            time.sleep(pause)
            return call(policy, batch)

        return loss

    lessons = {"source": scripted(trajectories=conversations()), "batch_size": 2, "learning_rate": 0.01, "epochs": 2}
    source = played(groups=3, group_size=4, arguments=PLAY)
    pairs = {"source": source, "pairs": best_against_worst(), "batch_size": 1, "learning_rate": 0.01}
    return [
        teach(**lessons, loss=slow(cross_entropy())),
        reinforce_stage(arguments=TRAIN | {"steps": 3, "loss": slow(reinforce)}),
        repeat(stages=[prefer(**pairs, loss=slow(dpo()))], times=2),
    ]


def resume_stages(folder, pause):
    """What a child process runs: go on with the stages in `folder`, and leave the final weights there."""
    torch.set_num_threads(1)
    here = site(out=Path(folder) / "run", resume=True)
    result = run_stages(stages(pause), here)
    if not result.stopped:
        torch.save(weights(here.engine), Path(folder) / "final.pt")


def resume_shared(folder, pause, seed, name):
    """What a child process runs: a run of its own that begins with a stage that all share."""
    torch.set_num_threads(1)
    os.environ["HANDAXE_CACHE"] = str(Path(folder) / "cache")
    lessons = scripted(trajectories=conversations())

    def loss(policy, batch):
        time.sleep(pause)
        return CROSS_ENTROPY(policy, batch)

    here = site(out=Path(folder) / name, resume=True, seed=seed)
    run_stages([], here, shared=[teach(source=lessons, batch_size=2, learning_rate=0.01, epochs=3, loss=loss)])
    torch.save(weights(here.engine), Path(folder) / f"{name}.pt")


CROSS_ENTROPY = cross_entropy()


OPENING = task("ask")


def read_anything(text):
    """Whatever was written is a question; about every second text of an untrained policy is another one."""
    return Task(f"asked-{sum(text.encode()) % 7}", (Message("user", text),))


def speaking():
    """A stage after which the policy says a number and stops, most of the time."""
    said = [(Message("user", f"{name}?"), Message("assistant", text)) for name in ("ask", "t0") for text in "345"]
    lessons = [trajectory_from_messages(FORMAT, both, (SCHEMA,), id=str(i)) for i, both in enumerate(said)]
    return teach(source=scripted(trajectories=lessons), batch_size=6, learning_rate=0.03, epochs=40)


def speaking_site(**changes):
    """A site whose policy has been taught so."""
    here = site(**changes)
    speaking()(here._replace(out=None, resume=False))
    here.engine.version = 0
    return here


def by_ids(group):
    """Reward: tells most texts apart."""
    return Scores(np.array([float(sum(int(s.ids[s.mask].sum()) for s in t.sequences) % 5) for t in group]))


def two_policies(begun=lambda: False):
    """A second policy, and two rounds in which it asks, tasks are made of its questions, and the policy learns them.
    Where something is `begun` when an attempt is rewarded, the process kills itself."""

    def fatal(group):
        if begun():
            kill_self_at(1)()
        return by_ids(group)

    second = AuxLearner(reference=True)
    asks = proposing(read=read_anything, solve=linear(max_turns=2), samples=2)
    asking = {**PLAY, "tasks": in_order([OPENING]), "rollout": asks, "reward": fatal}
    learning = {"credit": centred, "loss": reinforce, "learning_rate": 0.01, "groups": 1, "group_size": 3, "steps": 2}
    rounds = [
        reinforce_second(second=second, aux_name="solver", arguments=asking | learning),
        frontier(second=second, aux_name="solver", low=0.0, high=1.0, steps=2, group_size=4, arguments=asking),
        reinforce_stage(arguments=TRAIN | {"steps": 2, "reward": fatal, "learners": (second,)}),
    ]
    return second, [speaking(), repeat(stages=rounds, times=2)]


def resume_two_policies(folder, phase):
    """What a child process runs: go on with these stages in `folder`, and leave the weights of both there. It kills
    itself at the first reward of a phase, "" for none."""
    torch.set_num_threads(1)
    second, rounds = two_policies(lambda: bool(phase) and (Path(folder) / "run" / phase / "record.sqlite").exists())
    here = site(out=Path(folder) / "run", resume=True, tasks=task_pool([task(f"t{i}") for i in range(5)]))
    if not run_stages(rounds, here).stopped:
        torch.save([weights(here.engine), weights(second.engine)], Path(folder) / "final.pt")
