"""GRPO with a tool that returns an image, in plain torch: examples/from_scratch.py, for a policy that sees.

The world: a card of 4 x 4 noisy pixels shows a digit, or lies face down in half of the tasks. The policy answers with
the digit, or writes CALL and is shown the other side. An image is one token. Its id, VOCABULARY + n, says which image
it is, so rows are plain lists of ids; the policy has no logit for such an id, and the loss never asks for one.
tests/examples/test_from_scratch_images.py trains the same world with the library and compares the weights, seed for
seed.

    python examples/from_scratch_images.py          some twenty seconds on two cores
"""

import numpy as np
import torch
from from_scratch import ASK, CALL, MAX_TURNS, TOOL, VOCABULARY, Decoder, derive_seed, sample
from torch import nn
from torch.nn import functional as F

GLYPHS = (0xF99F, 0x6227, 0xE24F, 0xE62E, 0xAAF2, 0xF87E, 0x8EAE, 0xF244)  # 0 to 7, a bit a pixel
ALBUM = []  # pixels [4, 4] uint8 of image n


class Seeing(nn.Module):
    """Embedding of words by id, and of images by a linear layer over their pixels."""

    def __init__(self, width):
        super().__init__()
        self.word, self.pixels = nn.Embedding(VOCABULARY, width), nn.Linear(16, width)

    def forward(self, ids_BT):
        image_BT = ids_BT >= VOCABULARY
        seen_M = [ALBUM[n - VOCABULARY] for n in ids_BT[image_BT].tolist()]
        pixels_MP = torch.tensor(np.array(seen_M).reshape(-1, 16)).to(self.pixels.weight) / 64 - 1
        return self.word(ids_BT.where(~image_BT, 0)).index_put((image_BT,), self.pixels(pixels_MP))


def seeing_decoder(width=32):
    model = Decoder(width)
    model.token = Seeing(width)
    return model


def drawn(glyph, noise):
    """Pixels of a glyph, or of nothing (None), under noise from a seed."""
    light = np.array([0 if glyph is None else 200 * (GLYPHS[glyph] >> 15 - k & 1) for k in range(16)])
    return (light + np.random.Generator(np.random.Philox(key=noise)).integers(0, 50, 16)).astype(np.uint8).reshape(4, 4)


def sides_of(digit, covered, noise):
    """Pixels of the table, and of the tool's reply."""
    return drawn(None if covered else digit, noise), drawn(digit, noise + 1)


def image_id(pixels):
    ALBUM.append(pixels)
    return VOCABULARY + len(ALBUM) - 1


def tasks_of(seed, step, count):
    """Cards of a step: digit, whether it lies face down, and seed of the noise."""
    rng = np.random.Generator(np.random.Philox(key=derive_seed("tasks", seed, step)))
    return [tuple(map(int, one)) for one in rng.integers(0, [len(GLYPHS), 2, 10**6], (count, 3))]


def rollouts_of(model, tasks, seeds):
    """One [ids, mask, old_logp, reward] a task; tokens of the tool's image have mask 0, as all that is not sampled."""
    rollouts = [[[image_id(sides_of(*task)[0]), ASK], [0, 0], [0.0, 0.0], 0.0] for task in tasks]
    live = list(range(len(tasks)))
    for turn in range(MAX_TURNS):
        said = sample(model, [rollouts[i][0] for i in live], [derive_seed(seeds[i], turn) for i in live])
        for i, token, logp in zip(live, *said):
            ids, mask, old_logp, _ = rollouts[i]
            rollouts[i] = [[*ids, token], [*mask, 1], [*old_logp, logp], float(token == tasks[i][0])]
        live = [i for i, token in zip(live, said[0]) if token == CALL]
        if not live or turn + 1 == MAX_TURNS:
            return rollouts
        for i in live:
            ids, mask, old_logp, _ = rollouts[i]
            reply = [TOOL, image_id(sides_of(*tasks[i])[1])]
            rollouts[i] = [[*ids, *reply], [*mask, 0, 0], [*old_logp, 0.0, 0.0], 0.0]
    return rollouts


def loss_of(model, rollouts, group_size, clip=0.2, eps=1e-6):
    """GRPO, as in from_scratch.py, for ids beyond the vocabulary."""
    reward_NG = torch.tensor([r[3] for r in rollouts], dtype=torch.float64).view(-1, group_size)
    adv_B = ((reward_NG - reward_NG.mean(1, keepdim=True)) / (reward_NG.std(1, keepdim=True) + eps)).flatten()
    padded = [nn.utils.rnn.pad_sequence([torch.tensor(r[k]) for r in rollouts], True) for k in range(3)]
    ids_BT, mask_BT, old_logp_BT = padded
    logp_BTV = model(ids_BT)[:, :-1].log_softmax(-1)
    target_BT = ids_BT[:, 1:].clamp(max=VOCABULARY - 1)  # images are masked
    ratio_BT = (F.pad(logp_BTV.gather(-1, target_BT[..., None])[..., 0], (1, 0)) - old_logp_BT).exp()
    adv_B1 = adv_B.to(logp_BTV.dtype)[:, None]
    loss_BT = -torch.minimum(ratio_BT * adv_B1, ratio_BT.clamp(1 - clip, 1 + clip) * adv_B1)
    return ((loss_BT * mask_BT).sum(1) / mask_BT.sum(1)).mean()


def train(model, *, steps=200, groups=32, group_size=8, learning_rate=1e-3, seed=0, report=print):
    """The whole loop."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(steps):
        ALBUM.clear()
        tasks = [task for task in tasks_of(seed, step, groups) for _ in range(group_size)]
        names = [f"{i // group_size}:{task}" for i, task in enumerate(tasks)]
        seeds = [derive_seed(seed, step, name, i % group_size) for i, name in enumerate(names)]
        rollouts = rollouts_of(model, tasks, seeds)
        optimiser.zero_grad()
        loss_of(model, rollouts, group_size).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 10 == 9:
            right = [np.mean([r[3] for r, task in zip(rollouts, tasks) if task[1] == side]) for side in (0, 1)]
            calls = np.mean([CALL in r[0] for r in rollouts])
            report(f"step {step + 1:4d}   right {right[0]:.2f}, face down {right[1]:.2f}   called {calls:.2f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    train(seeing_decoder())
