import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyConfig, TinyNet
from handaxe.papers.dllm_agent.denoiser import MASK, NOTHING, Denoiser
from handaxe.papers.dllm_agent.unmasking import choose_tokens, unmask_turns

STOP = 1


class Sure:
    """A model that writes the ids 5 6 7 1 1 ... from position 3 on, with given confidences."""

    def __init__(self, confidence):
        self.confidence = confidence
        self.inputs = []

    def extend(self, cache, ids, before, position, visible):
        self.inputs.append(ids[0].tolist())
        return position[..., None].double(), ((None, None),)

    def log_probs(self, hidden):
        place = hidden[:, 0].long() + 1 - 3
        written = torch.tensor([5, 6, 7])
        logp = torch.full((len(place), 9), -9.0)
        for row, own in enumerate(place.tolist()):
            token = int(written[own]) if own < 3 else STOP
            logp[row, token] = torch.tensor(self.confidence[min(own, len(self.confidence) - 1)]).log()
        return logp


def test_tokens_above_the_threshold_are_chosen_and_at_least_one():
    logp = torch.tensor([[0.95, 0.05], [0.5, 0.5], [0.1, 0.9]]).log()
    masked = torch.tensor([True, True, True])
    assert choose_tokens(logp, masked, threshold=0.9)[0].tolist() == [True, False, True]
    assert choose_tokens(logp, masked, threshold=0.99)[0].tolist() == [True, False, False]
    chosen, ids = choose_tokens(logp, torch.tensor([False, True, False]), threshold=0.9)
    assert chosen.tolist() == [False, True, False] and ids.tolist() == [0, 0, 1]


def test_a_sure_block_takes_one_pass_and_one_of_the_context():
    model = Sure([0.99])
    (turn,) = unmask_turns(model, [[2, 3, 4]], size=6, stop=frozenset({STOP}), threshold=0.9, most=20)
    assert (turn.ids, turn.stopped, turn.forwards) == ([5, 6, 7, STOP], True, 2)
    assert model.inputs == [[2, 3], [4, *[MASK] * 6]]


def test_unsure_tokens_are_unmasked_singly_in_the_order_of_confidence():
    model = Sure([0.5, 0.8, 0.6, 0.7])
    (turn,) = unmask_turns(model, [[2, 3, 4]], size=4, stop=frozenset({STOP}), threshold=0.9, most=20)
    assert (turn.ids, turn.forwards) == ([5, 6, 7, STOP], 5)
    assert model.inputs[2:] == [[4, MASK, 6, MASK, MASK], [4, MASK, 6, MASK, STOP], [4, MASK, 6, 7, STOP]]
    assert turn.logp == pytest.approx(torch.tensor([0.5, 0.8, 0.6, 0.7]).log().tolist())


def test_a_block_without_a_stop_id_is_followed_by_another():
    model = Sure([0.99])
    (turn,) = unmask_turns(model, [[2, 3, 4]], size=2, stop=frozenset({STOP}), threshold=0.9, most=20)
    assert (turn.ids, turn.stopped, turn.forwards) == ([5, 6, 7, STOP], True, 4)
    (cut,) = unmask_turns(model, [[2, 3, 4]], size=2, stop=frozenset({STOP}), threshold=0.9, most=3)
    assert (cut.ids, cut.stopped) == ([5, 6, 7], False)


def test_a_threshold_of_one_unmasks_a_token_a_pass_as_an_oracle_of_whole_passes_does():
    torch.manual_seed(3)
    model = Denoiser(TinyNet(TinyConfig(vocab_size=20, width=16, layers=2, heads=2))).double()
    (turn,) = unmask_turns(model, [[4, 5, 6]], size=3, stop=frozenset({STOP}), threshold=1.0, most=3)
    block = [MASK, MASK, MASK]
    visible = torch.ones(6, 6, dtype=torch.bool).tril()
    visible[2:] = True
    while MASK in block:
        ids = torch.tensor([[4, 5, 6, *block]])
        before = torch.tensor([[NOTHING, 4, 5, 6, *block[:-1]]])
        p = model(ids, before, torch.arange(6)[None], visible[None])[0, 2:5].exp().max(-1)
        place = max((n for n in range(3) if block[n] == MASK), key=lambda n: p.values[n].item())
        block[place] = int(p.indices[place])
    assert turn.ids == (block[: block.index(STOP) + 1] if STOP in block else block)


@pytest.mark.parametrize("wrong", [{"size": 0}, {"most": 0}, {"threshold": 0.0}, {"threshold": 1.1}])
def test_bad_settings_are_refused(wrong):
    with pytest.raises(InputError, match="threshold in"):
        unmask_turns(None, [[2]], **{"size": 2, "stop": frozenset({STOP}), **wrong})
    with pytest.raises(InputError, match="not empty"):
        unmask_turns(None, [[]], size=2, stop=frozenset({STOP}))
