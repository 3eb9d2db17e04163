"""`handaxe eval POLICY --benchmark NAME`: play the held-out tasks of a benchmark, and print its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from handaxe import engines
from handaxe.commands.output import console, note, write_json
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.engines.openai.address import is_address, split_address
from handaxe.engines.openai.engine import Price
from handaxe.evaluation.benchmarks.benchmark import Benchmark, BenchmarkTable, PartResult
from handaxe.evaluation.benchmarks.play import load_parts, play_benchmark
from handaxe.methods.hardware import Machines, closing_engine, make_engine
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import check_options, load
from handaxe.view.benchmark_table import benchmark_table

__all__ = ["run_benchmark"]

TOKENS_AS_COST = Price(1e6, 1e6)
"""The cost of a turn of a chat server is the number of tokens that the server counted."""


class _Played(NamedTuple):
    engine: Engine
    format: ChatFormat
    served: bool


def run_benchmark(
    benchmark: Benchmark,
    policy: str,
    *,
    server: str,
    server_model: str,
    server_key_env: str,
    tasks: int | None,
    trials: int | None,
    seed: int,
    device: str,
    machines: Machines,
    json: Path | None,
) -> int:
    """Play a benchmark, print its table, and write table and results to a file; returns the exit code.

    Args:
        benchmark: the definition.
        policy: argument of `load`, or ADDRESS#NAME for a model of a chat server.
        server, server_model, server_key_env: address, model and key of a chat server that is played instead of policy.
        tasks: most tasks of a part; None: all.
        trials: rollouts per task; None: those of the benchmark.
        seed: of the rollouts.
        device: of a local policy.
        machines: processes that compute.
        json: file, or None.

    Raises:
        InputError: a package of the benchmark is missing, or there is no such policy.
    """
    if is_address(policy):
        server, server_model = split_address(policy, option="handaxe eval")
        if machines:
            raise InputError("a chat server computes on its own machine: leave --trainers and --servers out")
    if not server:
        check_options(policy)
    load_parts(benchmark)
    terminal = console()
    with _engine(policy, server, server_model, server_key_env, device, machines) as played:
        note(terminal, "benchmark", f"{benchmark.name}, {policy if not server else repr(played.engine)}")
        results = play_benchmark(benchmark, **played._asdict(), tasks=tasks, trials=trials, seed=seed)
    table = benchmark.table(results)
    terminal.print(benchmark_table(table, title=_title(benchmark, results, trials)))
    settings = {"trials": trials or benchmark.trials, "seed": seed, "policy": policy if not server else server_model}
    write_json(json, _body(benchmark, table, results, settings))
    return 0


@contextmanager
def _engine(
    policy: str, server: str, server_model: str, key_env: str, device: str, machines: Machines
) -> Iterator[_Played]:
    if server:
        served = engines.OpenAICompatible(
            server, model=server_model, format=Transcript(), key_env=key_env, price=TOKENS_AS_COST
        )
        with closing(served):
            yield _Played(served, served.format, True)
        return
    loaded = load(policy)
    engine = make_engine(engines.LocalEngine, loaded.model, machines, {"max_rows": 64, "device": device})
    with closing_engine(engine):
        yield _Played(engine, loaded.format, False)


def _title(benchmark: Benchmark, results: Mapping[str, PartResult], trials: int | None) -> str:
    played = sum(len(part.tasks) for part in results.values())
    size = sum(part.size for part in results.values())
    count = trials or benchmark.trials
    each = "1 trial" if count == 1 else f"{count} trials"
    return f"{benchmark.name}: {played:,} of {size:,} held-out tasks, {each} each"


def _body(
    benchmark: Benchmark, table: BenchmarkTable, results: Mapping[str, PartResult], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """JSON of a benchmark: table, limits, and the results of each task; cost counts tokens of a chat server."""
    limits = {name: getattr(benchmark, name) for name in ("max_turns", "max_tokens", "room", "temperature")}
    parts = {
        name: {"size": part.size, "context": part.context, "tasks": [asdict(task) for task in part.tasks]}
        for name, part in results.items()
    }
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {
        "benchmark": benchmark.name,
        "settings": {**settings, **limits},
        "table": rows,
        "notes": list(table.notes),
        "parts": parts,
    }
