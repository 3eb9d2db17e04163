"""GRPO with a tool, in plain torch and nothing else: what handaxe does, on one page.

The world: "a b ?" asks for the last digit of 3 a + 7 b. The policy answers with one token, a digit, or writes CALL and
reads the tool's reply; it begins knowing neither the sum nor the tool. tests/examples/test_from_scratch.py trains the
same world with the library and compares the weights, seed for seed.

    python examples/from_scratch.py          a few seconds on two cores
"""

import hashlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CALL = 10
ASK = 11
TOOL = 12
VOCABULARY = 13
LENGTH, MAX_TURNS = 6, 2  # a b ? CALL <tool> d, where the tool's reply is TOOL and a digit: six ids before the last


class Decoder(nn.Module):
    """One layer of causal attention and one feed-forward layer: [B, T] ids to [B, T, V] logits."""

    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.place = nn.Embedding(LENGTH + 1, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.hidden = nn.Linear(width, 4 * width)
        self.out = nn.Linear(4 * width, width)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids_BT):
        x_BTD = self.token(ids_BT) + self.place(torch.arange(ids_BT.shape[1]))
        q, k, v = self.qkv(x_BTD).chunk(3, -1)
        x_BTD = x_BTD + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x_BTD = x_BTD + self.out(F.gelu(self.hidden(x_BTD)))
        return self.head(x_BTD)


def derive_seed(*parts):
    """One seed for each (run, step, task, sample) and, from that, for each turn."""
    path = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=8).digest(), "big") >> 1


def tasks_of(seed, step, count):
    """Which questions (a, b) this step asks; the answer is the last digit of 3 a + 7 b."""
    rng = np.random.Generator(np.random.Philox(key=derive_seed("tasks", seed, step)))
    return [(int(a), int(b)) for a, b in rng.integers(0, 10, (count, 2))]


def answer(a, b):
    return (3 * a + 7 * b) % 10


@torch.no_grad()
def sample(model, rows, seeds):
    """One token a row by the inverse of the cumulative distribution, and its log-prob; rows are of equal length."""
    logp_BV = model(torch.tensor(rows))[:, -1].log_softmax(-1)
    u_B = torch.tensor([np.random.Generator(np.random.Philox(key=seed)).random(1)[0] for seed in seeds])
    cumulative_BV = logp_BV.exp().cumsum(-1, dtype=torch.float64)
    token_B = torch.searchsorted(cumulative_BV, u_B[:, None] * cumulative_BV[:, -1:], right=True)
    return token_B[:, 0].tolist(), logp_BV.gather(1, token_B)[:, 0].float().tolist()


def rollouts_of(model, tasks, seeds):
    """Token in, token out: the question, what was sampled, and what the tool said. Only sampled tokens have mask 1.

    Returns one [ids, mask, old_logp, reward] a task.
    """
    rollouts = [[[a, b, ASK], [0, 0, 0], [0.0, 0.0, 0.0], 0.0] for a, b in tasks]
    live = list(range(len(tasks)))
    for turn in range(MAX_TURNS):
        said = sample(model, [rollouts[i][0] for i in live], [derive_seed(seeds[i], turn) for i in live])
        for i, token, logp in zip(live, *said):
            ids, mask, old_logp, _ = rollouts[i]
            rollouts[i] = [[*ids, token], [*mask, 1], [*old_logp, logp], float(token == answer(*tasks[i]))]
        live = [i for i, token in zip(live, said[0]) if token == CALL]
        if not live or turn + 1 == MAX_TURNS:
            return rollouts
        for i in live:
            ids, mask, old_logp, _ = rollouts[i]
            rollouts[i] = [[*ids, TOOL, answer(*tasks[i])], [*mask, 0, 0], [*old_logp, 0.0, 0.0], 0.0]
    return rollouts


def loss_of(model, rollouts, group_size, clip=0.2, eps=1e-6):
    """GRPO: group-normalised advantages, PPO's clipped ratio, the mean over tokens and then over rollouts."""
    reward_NG = torch.tensor([r[3] for r in rollouts], dtype=torch.float64).view(-1, group_size)
    centred_NG = reward_NG - reward_NG.mean(1, keepdim=True)
    adv_B = (centred_NG / (reward_NG.std(1, keepdim=True) + eps)).flatten()
    length = max(len(r[0]) for r in rollouts)
    dtype = model.head.weight.dtype

    def pad(rows, kind):
        return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows], dtype=kind)

    ids_BT, mask_BT = pad([r[0] for r in rollouts], torch.long), pad([r[1] for r in rollouts], dtype)
    old_logp_BT = pad([r[2] for r in rollouts], dtype)
    logp_BTV = model(ids_BT)[:, :-1].log_softmax(-1)
    logp_BT = F.pad(logp_BTV.gather(-1, ids_BT[:, 1:, None])[..., 0], (1, 0))  # column t speaks of token t
    ratio_BT = (logp_BT - old_logp_BT).exp()
    adv_BT = adv_B.to(dtype)[:, None]
    loss_BT = -torch.minimum(ratio_BT * adv_BT, ratio_BT.clamp(1 - clip, 1 + clip) * adv_BT)
    return ((loss_BT * mask_BT).sum(1) / mask_BT.sum(1)).mean()


def train(model, *, steps=150, groups=16, group_size=8, learning_rate=3e-3, seed=0, report=print):
    """The whole loop."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(steps):
        tasks = [task for task in tasks_of(seed, step, groups) for _ in range(group_size)]
        names = [f"{i // group_size}:{a},{b}" for i, (a, b) in enumerate(tasks)]
        seeds = [derive_seed(seed, step, name, i % group_size) for i, name in enumerate(names)]
        rollouts = rollouts_of(model, tasks, seeds)
        loss = loss_of(model, rollouts, group_size)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 10 == 9:
            right = np.mean([r[3] for r in rollouts])
            calls = np.mean([CALL in r[0] for r in rollouts])
            report(f"step {step + 1:4d}   right {right:.2f}   called the tool {calls:.2f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    train(Decoder())
