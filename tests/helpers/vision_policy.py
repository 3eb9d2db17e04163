"""A small policy with vision, for tests. Weights are so large that a wrong image shows in the logits."""

import torch

from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=264, width=32, layers=2, heads=4, max_length=96, patch=8)


def vision_model(dtype=torch.float64, model_class=TinyModel, config=CONFIG):
    """A model of random weights from a fixed seed."""
    model = TinyModel.new(config, seed=1)
    with torch.no_grad():
        model.module.embed.weight.mul_(8)
        if model.module.vision is not None:
            for parameter in model.module.vision.parameters():
                parameter.mul_(3)
    return model_class(model.module.to(dtype))


class PaddedVision(TinyModel):
    """The model without a slot cache: static batching reads every row again for each token."""

    def slots(self):
        return None

    def prefill(self, rows, room, images=()):
        del room
        return self._logits(rows, images), ([list(row) for row in rows], images)

    def decode(self, ids_B, cache):
        rows, images = cache
        rows = [[*row, token] for row, token in zip(rows, ids_B.tolist())]
        return self._logits(rows, images), (rows, images)

    def keep(self, cache, rows):
        return [cache[0][row] for row in rows.tolist()], cache[1]

    def _logits(self, rows, images):
        states = [self.hidden(torch.tensor([row]), torch.ones(1, len(row)).bool(), images)[0, -1] for row in rows]
        return self.head(torch.stack(states))
