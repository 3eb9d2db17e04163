"""examples/from_scratch_images.py, written without the library, gives the weights of the library, seed for seed."""

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from handaxe.core.images import Image
from handaxe.core.model_api import VisionModel
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

pytest.importorskip("PIL")
PATH = Path(__file__).parents[2] / "examples" / "from_scratch_images.py"


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PATH.parent))
        spec = importlib.util.spec_from_file_location("from_scratch_images", PATH)
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        yield made
        sys.modules.pop("from_scratch", None)


class OneToken:
    """Image processor of the example: an image is one token."""

    def token_ids(self, image):
        return image.ids(1)

    def expand(self, ids, images):
        return [0 if one >= 1 << 62 else one for one in ids]

    collapse = expand

    def describe(self):
        return {"kind": "one token"}


class Cards:
    """Chat format of the example, with one sampled token per turn."""

    header_ids, image_processor = frozenset(), OneToken()

    def __init__(self, page):
        self.page, self.stop_ids = page, frozenset(range(page.VOCABULARY))

    def start(self, messages, tools):
        (image,) = messages[0].images
        return Rendered([*image.ids(1), self.page.ASK], [Author.USER, Author.TEMPLATE])

    def extend(self, history, new, last_ids, tools):
        (image,) = new[0].images
        return Rendered([self.page.TOOL, *image.ids(1)], [Author.TEMPLATE, Author.TOOL])

    def parse(self, ids, tools):
        calls = (ToolCall("turn", {}, "c0"),) if ids[0] == self.page.CALL else ()
        return ParsedTurn("" if calls else str(ids[0]), calls)

    def encode_turn(self, message, tools):
        return [self.page.CALL] if message.calls else [int(message.content)]

    def decode(self, ids):
        return " ".join(map(str, ids))


def card_env(page):
    class Card:
        """Environment of the example."""

        def __init__(self, task):
            self.task = task

        def start(self):
            return self.task.messages, ()

        def step(self, turn, *, seed):
            if not turn.calls:
                return EnvReply(done=True)
            shown = Message.of("tool", Image.of(page.sides_of(*self.task.metadata["card"])[1]))
            reply = ToolReply(turn.calls[0].id, "turn", shown.content, images=shown.images)
            return EnvReply((shown,), (reply,))

        def report(self):
            return {}

        def snapshot(self):
            return None

        def restore(self, state):
            del state

        def close(self):
            pass

    return Card


class UncachedVision:
    """Decoder of the example as `core.model_api.Model` and `VisionModel`: every token reads the whole rows."""

    pad_id, max_length, image_processor = 0, 7, OneToken()
    trains_vision, whole_images = True, False

    def __init__(self, page, module):
        self.page, self.module = page, module
        self.vocab_size = self.hidden_size = page.VOCABULARY

    def hidden(self, ids_BT, attend_BT, images=()):
        page_BT = ids_BT.clone()
        for image in images:  # the example has an id for each image, and the library one for each of its tokens
            page_BT[ids_BT == image.ids(1)[0]] = self.page.image_id(image.pixels[:, :, 0])
        return self.module(page_BT)  # the decoder's last layer gives logits

    def head(self, hidden):
        return hidden

    def prefill(self, rows, room, images=()):
        last = [self.hidden(torch.tensor([row]), None, images)[0, -1] for row in rows]
        return torch.stack(last), ([list(row) for row in rows], images)

    def decode(self, ids_B, cache):
        rows, images = cache
        return self.prefill([[*row, token] for row, token in zip(rows, ids_B.tolist())], 0, images)

    def keep(self, cache, rows):
        return [cache[0][i] for i in rows.tolist()], cache[1]

    def save(self, folder):
        torch.save(self.module.state_dict(), folder / "weights.pt")

    def position_shift(self, ids, images):
        return 0

    def image_features(self, images):
        raise NotImplementedError("the example computes them in its forward")


class SameTasks:
    """Curriculum of the example's questions."""

    def __init__(self, page):
        self.page = page

    def next(self, step, count):
        made = []
        for i, card in enumerate(self.page.tasks_of(0, step, count)):
            asked = Message.of("user", Image.of(self.page.sides_of(*card)[0]))
            made.append(Task(f"{i}:{card}", (asked,), card[0], metadata={"card": list(card)}))
        return made

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


@pytest.mark.slow
def test_example_and_library_train_equal_weights(page, tmp_path, double):
    torch.manual_seed(1)
    start, ours, theirs = (page.seeing_decoder(width=16) for _ in range(3))
    with torch.no_grad():  # calls at once, so that no gradient cancels to rounding errors, which Adam would scale up
        start.head.bias[page.CALL] += 2
    ours.load_state_dict(start.state_dict())
    theirs.load_state_dict(start.state_dict())
    page.train(theirs, steps=6, groups=12, group_size=8, learning_rate=3e-3, report=lambda line: None)
    model = UncachedVision(page, ours)
    assert isinstance(model, VisionModel)
    result = train(
        engine=LocalEngine(model, clip_norm=1.0, weight_decay=0.0),
        format=Cards(page),
        env=card_env(page),
        tasks=SameTasks(page),
        rollout=linear(max_turns=page.MAX_TURNS),
        reward=right,
        credit=group_norm(std="sample", eps=1e-6),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        sampling=Sampling(max_tokens=1),
        steps=6,
        groups=12,
        group_size=8,
        learning_rate=3e-3,
        seed=0,
        run=RunConfig(out=tmp_path / "run", progress=False),
    )
    assert any(row["calls"] > 0 for row in result.metrics), "images of the tool are in some rows"
    moved = max((a - b).abs().max().item() for a, b in zip(start.parameters(), ours.parameters()))
    difference = max((a - b).abs().max().item() for a, b in zip(theirs.parameters(), ours.parameters()))
    assert moved > 1e-2 and difference < 1e-6
    assert (start.token.pixels.weight - ours.token.pixels.weight).abs().max() > 1e-3, "the layer over pixels trains"


def test_a_sampled_id_is_never_an_image(page):
    torch.manual_seed(0)
    page.ALBUM.clear()
    tasks = page.tasks_of(0, 0, 200)
    rollouts = page.rollouts_of(page.seeing_decoder(width=16), tasks, range(200))
    for ids, mask, _, _ in rollouts:
        assert all(one < page.VOCABULARY for one, sampled in zip(ids, mask) if sampled)
        assert all(not sampled for one, sampled in zip(ids, mask) if one >= page.VOCABULARY)
    assert {len(ids) for ids, *_ in rollouts} == {3, 6}
    loss = page.loss_of(page.seeing_decoder(width=16), rollouts, 4)
    assert torch.isfinite(loss)


@pytest.mark.slow
def test_example_learns_to_read_and_to_call(page):
    torch.manual_seed(0)
    lines = []
    page.train(page.seeing_decoder(), steps=150, report=lines.append)
    shown, hidden, calls = (float(part.split()[-1]) for part in lines[-1].replace("called", ", called").split(","))
    assert shown > 0.6 and hidden > 0.6 and calls > 0.5, lines
    text = PATH.read_text()
    assert len(text.splitlines()) <= 130 and "handaxe" not in text.split('"""')[2]
