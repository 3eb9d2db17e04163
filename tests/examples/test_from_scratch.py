"""examples/from_scratch.py, written without the library, gives the weights of the library, seed for seed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from handaxe.core.records import Author, Message, ParsedTurn, Sampling, Task, ToolCall, ToolReply
from handaxe.core.requests import EnvReply, Rendered
from handaxe.credit.group_norm import group_norm
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.training.loop.config import RunConfig
from handaxe.training.loop.train import train

PATH = Path(__file__).parents[2] / "examples" / "from_scratch.py"
spec = importlib.util.spec_from_file_location("from_scratch", PATH)
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


class OneToken:
    """Chat format with one token per turn."""

    stop_ids, header_ids = frozenset(range(page.VOCABULARY)), frozenset()

    def start(self, messages, tools):
        return Rendered([*map(int, messages[0].content.split()), page.ASK], [Author.USER] * 2 + [Author.TEMPLATE])

    def extend(self, history, new, last_ids, tools):
        return Rendered([page.TOOL, int(new[0].content)], [Author.TEMPLATE, Author.TOOL])

    def parse(self, ids, tools):
        calls = (ToolCall("ask", {}, "c0"),) if ids[0] == page.CALL else ()
        return ParsedTurn("" if calls else str(ids[0]), calls)

    def encode_turn(self, message, tools):
        return [page.CALL] if message.calls else [int(message.content)]

    def decode(self, ids):
        return " ".join(map(str, ids))


class LastDigit:
    """Environment of the example."""

    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, ()

    def step(self, turn, *, seed):
        if not turn.calls:
            return EnvReply(done=True)
        reply = ToolReply(turn.calls[0].id, "ask", str(self.task.answer))
        return EnvReply((Message("tool", reply.content),), (reply,))

    def report(self):
        return {}

    def snapshot(self):
        return None

    def restore(self, state):
        del state

    def close(self):
        pass


class UncachedModel:
    """Decoder of the example as `core.model_api.Model`, without a cache: every token reads the whole rows."""

    pad_id, vocab_size, max_length = 0, page.VOCABULARY, page.LENGTH + 1

    def __init__(self, module):
        self.module, self.hidden_size = module, page.VOCABULARY

    def hidden(self, ids_BT, attend_BT):
        return self.module(ids_BT)  # the decoder's last layer gives logits

    def head(self, hidden):
        return hidden

    def prefill(self, rows, room):
        return torch.stack([self.module(torch.tensor([row]))[0, -1] for row in rows]), [list(row) for row in rows]

    def decode(self, ids_B, cache):
        return self.prefill([[*row, token] for row, token in zip(cache, ids_B.tolist())], 0)

    def keep(self, cache, rows):
        return [cache[i] for i in rows.tolist()]

    def save(self, folder):
        torch.save(self.module.state_dict(), folder / "weights.pt")


class SameTasks:
    """Curriculum of the example's questions."""

    def next(self, step, count):
        pairs = enumerate(page.tasks_of(0, step, count))
        return [Task(f"{i}:{a},{b}", (Message("user", f"{a} {b}"),), page.answer(a, b)) for i, (a, b) in pairs]

    def observe(self, groups):
        pass

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


@outcome
def right(trajectory):
    return float(trajectory.final_text == str(trajectory.task.answer))


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_example_and_library_train_equal_weights(tmp_path, double):
    torch.manual_seed(1)
    start = page.Decoder(width=16)
    ours, theirs = page.Decoder(width=16), page.Decoder(width=16)
    ours.load_state_dict(start.state_dict())
    theirs.load_state_dict(start.state_dict())
    page.train(theirs, steps=8, groups=4, group_size=6, seed=0, report=lambda line: None)
    train(
        engine=LocalEngine(UncachedModel(ours), clip_norm=1.0, weight_decay=0.0),
        format=OneToken(),
        env=LastDigit,
        tasks=SameTasks(),
        rollout=linear(max_turns=page.MAX_TURNS),
        reward=right,
        credit=group_norm(std="sample", eps=1e-6),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        sampling=Sampling(max_tokens=1),
        steps=8,
        groups=4,
        group_size=6,
        learning_rate=3e-3,
        seed=0,
        run=RunConfig(out=tmp_path / "run", progress=False),
    )
    moved = max((a - b).abs().max().item() for a, b in zip(start.parameters(), ours.parameters()))
    difference = max((a - b).abs().max().item() for a, b in zip(theirs.parameters(), ours.parameters()))
    assert moved > 1e-2 and difference < 1e-6


def test_example_learns_to_call_the_tool(capsys):
    """Seventy steps from random weights, without demonstrations."""
    torch.manual_seed(0)
    lines = []
    page.train(page.Decoder(), steps=70, groups=16, group_size=8, report=lines.append)
    first, last = (float(line.split("right ")[1].split()[0]) for line in (lines[0], lines[-1]))
    assert last > first + 0.2, lines
    assert float(lines[-1].split("tool ")[1]) > 0.5
    assert len(PATH.read_text().splitlines()) <= 155 and "handaxe" not in PATH.read_text().split('"""')[2]
    assert np.isfinite(last)
