import numpy as np
import pytest
import torch
from helpers.reward_models import make_engine

from handaxe.core.records import Author
from handaxe.papers.themis.token_means import token_means
from handaxe.testing.make_records import make_trajectory


class Fixed:
    """An engine whose measure of token t is a given number, in all rows."""

    pad_id = 0

    def __init__(self, values):
        self._values = values

    def forward(self, batch, *, names):
        assert tuple(names) == ("head/reward",)
        length = batch.ids_BT.shape[1]
        return {"head/reward": torch.tensor(self._values)[:length].expand(len(batch), length)[..., None]}


def conversations(*layouts):
    return [make_trajectory(layouts=own, id=str(n), sample=n) for n, own in enumerate(layouts)]


def test_the_mean_by_hand():
    """The first token is left out: (0.3 + 0.6 - 0.3) / 3; the other conversation ends a token earlier: 0.45."""
    engine = Fixed([9.0, 0.3, 0.6, -0.3])
    found = token_means(engine, conversations(["Utpp"], ["Utp"]), name="head/reward")
    assert found == pytest.approx([0.2, 0.45])


def test_an_author_selects_tokens():
    """Tool tokens are the fourth and the seventh; a conversation without one is 0."""
    engine = Fixed([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    found = token_means(engine, conversations(["UtpTtpTp"], ["Utp"]), name="head/reward", author=Author.TOOL)
    assert found == pytest.approx([4.5, 0.0])


def test_no_conversation_has_no_mean():
    assert token_means(Fixed([]), [], name="head/reward").shape == (0,)


@pytest.mark.parametrize("author", [None, Author.TOOL])
def test_log_probs_equal_a_slow_loop(author):
    """Two sequences of one conversation count as one."""
    engine = make_engine(double=True)
    own = conversations(["UtpTtpp"], ["UtpTTp", "UtTpp"])
    expected = []
    for one in own:
        values = []
        for sequence in one.sequences:
            ids_1T = torch.tensor(sequence.ids, dtype=torch.long)[None]
            hidden_TD = engine.model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool))[0]
            logp_TV = engine.model.head(hidden_TD).detach().log_softmax(-1)
            for t in range(1, len(sequence)):
                if author is None or sequence.author[t] == author:
                    values.append(float(logp_TV[t - 1, int(sequence.ids[t])]))
        expected.append(sum(values) / len(values))
    assert np.allclose(token_means(engine, own, name="logp", author=author), expected, atol=1e-6)
