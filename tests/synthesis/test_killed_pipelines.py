"""Real pipelines: a run that is killed at a commit continues to the files of an uninterrupted run."""

import json
from zlib import crc32

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.methods.lookup import find
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.synthesis.context import PipelineContext

FILES = ("tasks.jsonl", "provenance.jsonl", "card.json")
SHOP = {"domain": "retail", "user": "requests", "brief": True}
PIPELINES = {
    "questions": ("arithmetic", {}, {}, ""),
    "solutions": ("arithmetic", {}, {}, ""),
    "judgements of pairs": ("fact_chains", {}, {}, ""),
    "judgements of steps": ("fact_chains", {}, {"of": "steps", "samples": 2}, ""),
    "duetqa": ("paged_hops", {}, {}, "bm25s"),
    "asearcher_tasks": ("library", {}, {}, "bm25s"),
    "orbit_rubrics": ("hops", {}, {"samples": 2}, "bm25s"),
    "mua_users": ("tau2", SHOP, {"tries": 1}, "tau2"),
}
"""Pipeline, with a further word -> world, its options, options of the pipeline, and a package."""


def ready(name, desk=None):
    """A function (folder, progress) that runs the pipeline."""
    world, given, options, package = PIPELINES[name]
    if package:
        pytest.importorskip(package)
    made = find("worlds", world)(**given)
    context = PipelineContext(made, "", made.env(made.tools), made.tasks("test", 20, 0), desk)
    pipeline = find("pipelines", name.split()[0])(context, batch=32, **options)
    small = type(pipeline)(pipeline.name, pipeline.steps, pipeline.batch, chunk=8, about=pipeline.about)
    return lambda out, progress=None: small.run(out=out, count=12, workers=2, progress=progress, most_rounds=3)


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


class Killed(BaseException):
    """Ends a run at a commit."""


def killed(run, out, boundary):
    """Run up to a commit; tests/synthesis/test_pipeline.py ends whole processes."""
    left = boundary

    def die(state):
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    with pytest.raises(Killed):
        run(out, die)


def check(run, folder):
    seen = []
    whole = run(folder / "whole", seen.append)
    assert whole.drafts and len(seen) >= 6
    for boundary in (1, len(seen) // 2, len(seen) - 1):
        cut = folder / f"cut-{boundary}"
        killed(run, cut, boundary)
        assert not (cut / "tasks.jsonl").exists()
        report = run(cut)
        assert contents(cut) == contents(folder / "whole") and report.known > 0


@pytest.mark.parametrize("name", PIPELINES)
def test_a_killed_run_continues_to_the_same_files(name, tmp_path):
    check(ready(name), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["judgements of pairs", "judgements of steps"])
def test_a_killed_run_with_a_served_model_continues_to_the_same_files(name, tmp_path):
    """The verdicts are those of a digest of the task."""
    verdicts = ("no", "yes") if name.endswith("steps") else ("A", "B")

    def answer(body):
        task = body["messages"][-1]["content"].splitlines()[1]
        return reply(json.dumps({"rationale": "It fits.", "verdict": verdicts[crc32(task.encode()) % 2]}))

    with ChatServer(answer) as server:
        engine = OpenAICompatible(server.url, model="m", format=Transcript(), attempts=1, timeout=5.0)
        served = PolicyAnswerer(engine, Transcript(), name="served")

        def run(out, progress=None):
            return ready(name, AskDesk(served))(out, progress)

        check(run, tmp_path)
        engine.close()
