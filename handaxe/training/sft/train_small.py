"""Train the shipped small checkpoint from scratch: `python -m handaxe.training.sft.train_small --out FOLDER`.

    demonstrations --learn_pieces--> vocabulary --encode--> tokens --SFT--> checkpoint --bfloat16--> FOLDER/model

Every part is stored in FOLDER. The same command continues a killed run: a step reads only its number and the last
checkpoint, so the weights equal those of an uninterrupted run on the same machine and number of threads.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro
from torch.nn import functional as F

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.models.tiny import PIECES, TinyConfig, TinyModel
from handaxe.ops.seeds import generator
from handaxe.training.sft.small_mixture import SETTINGS, Setting, StoredSequences, encode, load_demonstrations, texts

__all__ = ["SMALL", "Training", "train_small"]

SMALL = TinyConfig(vocab_size=2048, width=256, layers=4, heads=8, max_length=4096, kv_heads=2)
"""Sizes of the small model: 3.80M parameters."""
MICRO = 4096
"""Most ids of a micro-batch, padding included, unless one sequence has more."""
SHOWN = 20
"""Steps between two lines of progress."""


@dataclass(frozen=True)
class Training:
    """Settings of the training.

    Attributes:
        steps: optimiser steps; a continued run may change the number before the decay has begun.
        tokens: least number of ids of a step, context included.
        early_steps: first steps, which draw from early settings alone.
        rate: peak learning rate, after a linear warm-up over `warmup` steps.
        decay: share of the steps with a linear decay to 0, at the end.
        seed: of weights, demonstrations and draws.
        bfloat16: compute the layers in bfloat16; weights and optimiser stay float32.
    """

    steps: int = 1050
    tokens: int = 4096
    early_steps: int = 250
    rate: float = 3e-3
    warmup: int = 50
    decay: float = 0.5
    weight_decay: float = 0.05
    seed: int = 0
    bfloat16: bool = True

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step."""
        left = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.rate * min(1.0, (step + 1) / self.warmup, left)

    def fixed(self) -> dict[str, object]:
        """Return the settings that a continued run cannot change."""
        return {name: value for name, value in asdict(self).items() if name not in ("steps", "decay")}


def train_small(
    *,
    out: Path,
    training: Training = Training(),
    config: TinyConfig = SMALL,
    only: tuple[str, ...] = (),
    most: int | None = None,
    minutes: float = 3.0,
) -> TinyModel:
    """Train a fresh model on demonstrations of all worlds; continues what the folder holds.

    Args:
        out: folder of demonstrations, vocabulary, checkpoint, log and model.
        training: steps, rates and seed.
        config: sizes of the model; `vocab_size` is that of the vocabulary to learn.
        only: names of settings; default: all of `small_mixture.SETTINGS`.
        most: demonstrations of a setting, for a short training; None: those of the mixture.
        minutes: wall-clock minutes between two checkpoints.

    Returns:
        The model, as written in bfloat16 to out/model.

    Raises:
        InputError: an extra is missing, a name is unknown, or the folder holds a run with other settings.
    """
    settings = _chosen(only)
    format, tokens = _prepare(settings, out, config, training.seed, most)
    run = _Run(out, training, config, format.vocabulary, settings)
    saved = time.monotonic()
    for step in range(run.step, training.steps):
        run.take(_draw(settings, tokens, training, step))
        if time.monotonic() - saved > 60 * minutes:
            run.save()
            saved = time.monotonic()
    run.save()
    run.model.save(out / "model", dtype=torch.bfloat16)
    print(f"wrote {out / 'model'}", flush=True)
    return TinyModel.load(out / "model")


def _chosen(only: Sequence[str]) -> list[Setting]:
    names = [one.name for one in SETTINGS]
    if unknown := [name for name in only if name not in names]:
        raise InputError(f"no setting is named {unknown[0]!r}: choose from {', '.join(names)}")
    return [one for one in SETTINGS if not only or one.name in only]


def _prepare(
    settings: Sequence[Setting], out: Path, config: TinyConfig, seed: int, most: int | None
) -> tuple[Pieces, list[StoredSequences]]:
    """Make demonstrations and vocabulary, or load them; return the format and the tokens of each setting."""
    shown = list[StoredSequences]()
    for setting in settings:
        begun = time.monotonic()
        count = setting.count if most is None else min(most, setting.count)
        shown.append(load_demonstrations(replace(setting, count=count), out / "demonstrations", seed=seed))
        print(f"{setting.name}: {len(shown[-1])} sequences, {time.monotonic() - begun:.1f} s", flush=True)
    file = out / PIECES
    if not file.exists():
        vocabulary = learn_pieces((text for one in shown for text in texts(one)), size=config.vocab_size)
        part = file.with_suffix(".part")
        part.write_text(vocabulary)
        part.replace(file)
    format = Pieces(file.read_text())
    tokens = [encode(one, format, context=config.max_length) for one in shown]
    sizes = [sum(len(one.ids_N) for one in group) for group in (shown, tokens)]
    print(f"{format.vocab_size} pieces, {sizes[0]} bytes, {sizes[1]} ids", flush=True)
    return format, tokens


def _draw(
    settings: Sequence[Setting], tokens: Sequence[StoredSequences], training: Training, step: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw the sequences of a step, shortest first.

    A setting's chance is weight / mean length, so that its share of the ids is its weight. The draw depends on seed and
    step alone.
    """
    chance = np.array([one.weight / max(1.0, group.lengths().mean()) for one, group in zip(settings, tokens)])
    if step < training.early_steps and any(one.early for one in settings):
        chance = chance * np.array([one.early for one in settings])
    rng = generator("small", training.seed, step)
    drawn = list[tuple[np.ndarray, np.ndarray]]()
    size = 0
    while size < training.tokens:
        group = tokens[int(rng.choice(len(settings), p=chance / chance.sum()))]
        drawn.append(group[int(rng.integers(len(group)))])
        size += len(drawn[-1][0])
    return sorted(drawn, key=lambda one: len(one[0]))


class _Run:
    """Model, optimiser and step of a training, in a folder."""

    def __init__(self, out: Path, training: Training, config: TinyConfig, vocabulary: str, settings: Sequence[Setting]):
        self.out = out
        self.training = training
        self.step = 0
        names = [one.name for one in settings]
        self.about = {"training": training.fixed(), "config": config.values(), "settings": names}
        if (found := _last_checkpoint(out)) is None:
            self.model = TinyModel.new(config, seed=training.seed)
        else:
            self._check(found)
            self.model = TinyModel.load(found)
        self.model.pieces = vocabulary
        self.optimizer = torch.optim.AdamW(
            self.model.module.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=training.weight_decay
        )
        if found is not None:
            self.optimizer.load_state_dict(torch.load(found / "optimizer.pt", weights_only=True))
            self.step = int(json.loads((found / "state.json").read_text())["step"])
        self._losses = list[float]()
        self._ids = 0
        self._begun = time.monotonic()

    def take(self, drawn: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Take one optimiser step on sequences, with the mean loss of the policy's ids."""
        total = sum(int(mask[1:].sum()) for _, mask in drawn)
        loss = 0.0
        for ids_BT, mask_BT in _micro_batches(drawn, self.model.pad_id):
            summed = _summed_loss(self.model, ids_BT, mask_BT, self.training.bfloat16)
            (summed / total).backward()
            loss += float(summed.detach()) / total
        parameters = list(self.model.module.parameters())
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.training.rate_at(self.step)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self._losses.append(loss)
        self._ids += sum(len(ids) for ids, _ in drawn)
        if self.step % SHOWN == 0 or self.step == self.training.steps:
            self._show()

    def save(self) -> None:
        """Write a checkpoint and remove the one before; a kill leaves one of the two whole."""
        before = _last_checkpoint(self.out)
        fresh, part = self.out / f"checkpoint-{self.step:06d}", self.out / "checkpoint.part"
        if before == fresh:
            return
        shutil.rmtree(part, ignore_errors=True)
        self.model.save(part)
        torch.save(self.optimizer.state_dict(), part / "optimizer.pt")
        (part / "state.json").write_text(json.dumps({"step": self.step, **self.about}, indent=1) + "\n")
        os.replace(part, fresh)
        if before is not None:
            shutil.rmtree(before)

    def _check(self, folder: Path) -> None:
        found = json.loads((folder / "state.json").read_text())
        for name, value in self.about.items():
            if found[name] != json.loads(json.dumps(value)):
                raise InputError(
                    f"{self.out} holds a training with other {name}, {found[name]} and not {value}: give the same, or "
                    "another --out"
                )

    def _show(self) -> None:
        seconds = time.monotonic() - self._begun
        mean, rate = float(np.mean(self._losses)), self._ids / seconds
        left = (self.training.steps - self.step) * seconds / len(self._losses) / 60
        line = f"step {self.step}/{self.training.steps} loss {mean:.4f} {rate:.0f} ids/s {left:.0f} min left"
        print(line, flush=True)
        with (self.out / "log.jsonl").open("a") as log:
            log.write(json.dumps({"step": self.step, "loss": mean, "ids_per_second": rate}) + "\n")
        self._losses.clear()
        self._ids = 0
        self._begun = time.monotonic()


def _last_checkpoint(out: Path) -> Path | None:
    return max(out.glob("checkpoint-*"), default=None)


def _micro_batches(
    drawn: Sequence[tuple[np.ndarray, np.ndarray]], pad_id: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield right-padded ids and masks [B, T] of sequences in ascending order of length."""
    rows = list[tuple[np.ndarray, np.ndarray]]()
    ahead: list[tuple[np.ndarray, np.ndarray] | None] = [*drawn, None]
    for one in ahead:
        if rows and (one is None or (len(rows) + 1) * len(one[0]) > MICRO):
            shape = len(rows), len(rows[-1][0])
            ids_BT = torch.full(shape, pad_id, dtype=torch.int64)
            mask_BT = torch.zeros(shape, dtype=torch.bool)
            for number, (ids, mask) in enumerate(rows):
                ids_BT[number, : len(ids)] = torch.from_numpy(ids.astype(np.int64))
                mask_BT[number, : len(ids)] = torch.from_numpy(mask)
            yield ids_BT, mask_BT
            rows = []
        if one is not None:
            rows.append(one)


def _summed_loss(model: TinyModel, ids_BT: torch.Tensor, mask_BT: torch.Tensor, bfloat16: bool) -> torch.Tensor:
    """Compute the sum of -log p over the masked ids, each given the ids before."""
    with torch.autocast(ids_BT.device.type, torch.bfloat16, enabled=bfloat16):
        hidden_BTD = model.hidden(ids_BT, torch.ones_like(mask_BT))
        logits_MV = model.head(hidden_BTD[:, :-1][mask_BT[:, 1:]])
    return F.cross_entropy(logits_MV.float(), ids_BT[:, 1:][mask_BT[:, 1:]], reduction="sum")


if __name__ == "__main__":
    tyro.cli(train_small)
