"""Measures what the rollout driver costs a turn, with everything around it as cheap as can be.

A scripted engine, chat format and environment that do next to nothing are played by thousands of attempts at once, all
live from the first turn to the last. One turn is one Sample and one Act. Printed, as one line of JSON:

    turn_us         wall time over turns, with the `linear` rollout: driver, bookkeeping of the rollout and its records
    turn_async_us   the same with an environment that offers `astep`
    turn_tool_us    the same with the environment `tool_chat` and a tool that does nothing: checking the call, the
                    tool's context and its limits are in it
    driver_us       the same with plans that only yield requests: the driver, its hand-over to threads, and the doubles
    *_cpu_us        processor time instead of wall time, of all threads: what to read on a machine that is busy
    doubles_us      what of `driver_us` are the scripted engine and environment, called in a loop without a driver
"""

import argparse
import gc
import json
import os
import platform
import statistics
import time
from pathlib import Path

from handaxe.core.records import Author, Message, ParsedTurn, Sampling, Task, ToolCall, ToolReply
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Rendered, Sample
from handaxe.envs.tool_chat import tool_chat
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.tools.decorator import tool

CALL = ParsedTurn("", (ToolCall("noop", {}, "c0"),), (), "noop")
REPLY = EnvReply((Message("tool", "ok", call_id="c0", name="noop"),), (ToolReply("c0", "noop", "ok"),))
SAID = Completion([7, 8, 9, 2], [-0.5] * 4, [-0.5] * 4, [0] * 4, "stop")
OPENING = Rendered([1] * 16, [int(Author.USER)] * 16)
GLUE = Rendered([3] * 8, [int(Author.TOOL)] * 8)


class Format:
    stop_ids, header_ids = frozenset({2}), frozenset()

    def start(self, messages, tools):
        return OPENING

    def extend(self, history, new, last_ids, tools):
        return GLUE

    def parse(self, ids, tools):
        return CALL


class Engine:
    version = 0
    max_length = 1 << 20
    pad_id = 0

    def sample(self, requests):
        return [SAID] * len(requests)


class Env:
    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        return REPLY

    def report(self):
        return {}

    def close(self):
        pass


class AsyncEnv(Env):
    async def astep(self, turn, *, seed, threads):
        return REPLY


@tool
def noop() -> str:
    """Do nothing."""
    return "ok"


def bare(turns):
    """A rollout that keeps no record."""

    def rollout(attempt):
        env = Env(attempt.task)
        sampling = attempt.sampling
        ids = [1] * 16
        for k in range(turns):
            yield Sample(ids, sampling, k, Format.stop_ids, turn=k)
            yield Act(env, CALL, k)
        return []

    return rollout


def attempts(count, env):
    task, format = Task("t", (Message("user", "go"),)), Format()
    return [Attempt(task, env, format, Sampling(), f"t/{n}", n, n, 1 << 20) for n in range(count)]


def per_turn(rollout, live, turns, workers, lockstep, env=Env):
    made, engine = attempts(live, env), Engine()
    gc.collect()
    begin, cpu = time.perf_counter(), time.process_time()
    run(made, rollout, engine, workers=workers, lockstep=lockstep)
    took = time.perf_counter() - begin, time.process_time() - cpu
    return [seconds / (live * turns) * 1e6 for seconds in took]


def doubles(live, turns):
    engine, env = Engine(), Env(None)
    begin = time.perf_counter()
    for _ in range(turns):
        engine.sample([None] * live)
        for _ in range(live):
            env.step(CALL, seed=0)
    return (time.perf_counter() - begin) / (live * turns) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", type=int, default=10_000, help="attempts alive at the same time")
    parser.add_argument("--turns", type=int, default=8, help="turns of each")
    parser.add_argument("--workers", type=int, default=8, help="threads of the driver")
    parser.add_argument("--runs", type=int, default=5, help="runs, of which the median is given, with all of them")
    parser.add_argument("--lockstep", action="store_true", help="measure the driver's rounds instead")
    parser.add_argument("--quick", action="store_true", help="a thousand attempts, once")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.live, arguments.runs = 1000, 1
    live = arguments.live
    turns = arguments.turns
    same = (arguments.workers, arguments.lockstep)
    played = {
        "turn": (linear(max_turns=turns), Env),
        "turn_async": (linear(max_turns=turns), AsyncEnv),
        "turn_tool": (linear(max_turns=turns), tool_chat([noop])),
        "driver": (bare(turns), Env),
    }
    measured = {"doubles_us": [doubles(live, turns) for _ in range(arguments.runs)]}
    for name, (rollout, env) in played.items():
        took = [per_turn(rollout, live, turns, *same, env=env) for _ in range(arguments.runs)]
        measured[f"{name}_us"], measured[f"{name}_cpu_us"] = map(list, zip(*took, strict=True))
    out = {name: round(statistics.median(values), 1) for name, values in measured.items()}
    out["runs"] = {name: [round(value, 1) for value in values] for name, values in measured.items()}
    out |= {"live": live, "turns": turns, "workers": arguments.workers, "lockstep": arguments.lockstep}
    out |= {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(out))
    if arguments.out:
        arguments.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
