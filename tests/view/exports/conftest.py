import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.records import Ending, Message, ToolCall, ToolReply, ToolSchema
from handaxe.testing.make_records import make_trajectory
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.chosen import chosen
from handaxe.view.record_search import Where, search

ROWS = Path(__file__).parents[2] / "training" / "record" / "test_rows.py"
HOSTILE = "<script>alert(1)</script> \x1b[2J \u202eevil <|im_end|> \ud800 \x00"


@pytest.fixture(scope="session")
def rows():
    spec = importlib.util.spec_from_file_location("record_rows", ROWS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def talk(rows):
    """Two attempts with a call each, one of which fails; the other, of hostile words, is right."""
    record = rows.recorded()
    tools = (ToolSchema("search", "Find <b>it</b>.", {"type": "object", "properties": {"query": {"type": "string"}}}),)
    siblings = []
    for k, said in enumerate((HOSTILE, "408")):
        call = ToolCall("search", {"query": said, "n": (1, 2)}, f"c{k}")
        reply = ToolReply(f"c{k}", "search", said, "ok" if k else "failed", seconds=0.5, cost=0.25)
        one = make_trajectory(texts=["", said], calls=[[call], []], replies=[[reply], []])
        messages = (Message("system", "Be brief."), Message("user", "?"), *one.messages[1:])
        siblings.append(replace(one, id=f"talk/{k}", sample=k, tools=tools, messages=messages, seconds=1.5))
    siblings[1] = replace(siblings[1], ending=Ending("truncated", "turns"))
    tokens = tuple(tuple(np.where(s.mask, v, 0.0) for s in t.sequences) for v, t in zip((0.5, 0.0), siblings))
    scores = replace(
        record.scores,
        outcome=np.array([1.0, 0.0]),
        turns=None,
        turn_channels={},
        channels={"right": np.array([1.0, 0])},
    )
    task = replace(record.group.task, id="talk", messages=(Message("system", "Be brief."), Message("user", "?")))
    group = replace(record.group, task=task, trajectories=tuple(siblings), step=5)
    moved = (tuple(s.mask for s in siblings[0].sequences), None)
    return recorded_group(
        group, scores, replace(record.advantages, tokens=tokens, returns=None), trained=[True, False],
        left_out_by=("", "mask_overlong"), ages=np.array([0.0, 2.0]), moved=moved,
    )  # fmt: skip


@pytest.fixture(scope="session")
def folder(rows, tmp_path_factory):
    """A run of two steps: the groups of `test_rows` and the one above."""
    folder = tmp_path_factory.mktemp("run")
    with RunRecord(folder) as record:
        first = rows.recorded()
        record.write_step(4, [first, rows.with_what_is_new(first)], {"optimiser_steps": 1.0})
        record.write_step(5, [talk(rows)], {"optimiser_steps": 1.0})
    return folder


@pytest.fixture
def everything(folder):
    with RunRecord.open(folder) as record:
        return list(chosen(record, [one.key for one in search(record, Where())]))
