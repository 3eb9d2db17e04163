"""A verifier's conversation with the tools of `table_steps`, with given texts and calls."""

from dataclasses import replace

import numpy as np

from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.tattoo.grounded_calls import grounded_call
from handaxe.papers.tattoo.table_steps import TableStep, table_steps, verifier_task
from handaxe.worlds.parts.demonstrate import demonstrate

CELLS = {"a1": 37, "a2": 61, "a3": 12, "b1": 45, "b2": 22, "b3": 90, "c1": 81, "c2": 50, "c3": 66}
STEPS = [
    TableStep("retrieval", "a3", "a3", "12", "12"),
    TableStep("schema", "45+50", "b1+c2", "93", "95"),
    TableStep("reasoning", "93+12", "93+12", "105", "105"),
]
WORLD = table_steps()


def verification(*turns, logp=0.0):
    """Play turns (text, checks) with the real tools."""
    task = verifier_task("judged", CELLS, ("a3", "b1", "c2"), STEPS)
    messages = [Message("assistant", text, tuple(grounded_call(check) for check in checks)) for text, checks in turns]
    one = demonstrate(WORLD.env(WORLD.tools), task, lambda task, facts: messages[facts["turn"]], format=Compact())
    sequence = one.sequences[0]
    return replace(one, sequences=(replace(sequence, logp=np.where(sequence.mask, logp, 0).astype(np.float32)),))
