import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.records import Author
from handaxe.core.requests import Completion, Rendered
from handaxe.rollouts.play.sequence_builder import SequenceBuilder, extend_sequences

SPANS = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 500), min_size=1, max_size=6)), max_size=8)


@given(SPANS)
def test_appended_tokens_are_unchanged_and_in_order(spans):
    """Any sampled ids, however strange a tokenisation, are never encoded again; the mask counts them exactly."""
    builder, said = SequenceBuilder(Rendered([1, 2], [Author.TEMPLATE, Author.USER])), [1, 2]
    for turn, (sampled, ids) in enumerate(spans):
        if sampled:
            logp = [-0.1 * (1 + i) for i in range(len(ids))]
            start, stop = builder.append_sampled(Completion(ids, logp, logp, [turn] * len(ids), "stop"), turn=turn)
            assert said + ids == builder.ids and (start, stop) == (len(said), len(said) + len(ids))
        else:
            builder.append_rendered(Rendered(ids, [Author.TOOL] * len(ids)), turn=turn)
        said += ids
    sequence = builder.build()
    assert sequence.ids.tolist() == said
    assert sequence.mask.sum() == sum(len(ids) for sampled, ids in spans if sampled)
    assert np.all(sequence.logp[~sequence.mask] == 0) and np.all(sequence.version[~sequence.mask] == -1)
    assert np.all(sequence.logp[sequence.mask] < 0)


def test_a_format_cannot_write_policy_tokens():
    builder = SequenceBuilder(Rendered([1], [Author.USER]))
    with pytest.raises(ValueError, match="may not claim"):
        builder.append_rendered(Rendered([2], [Author.POLICY]), turn=0)


@pytest.mark.parametrize(("context", "fresh", "lengths"), [(13, False, [13]), (12, False, None), (3, True, [10, 3])])
def test_a_reply_extends_the_last_sequence_or_begins_one_within_the_context(context, fresh, lengths):
    sequences = [SequenceBuilder(Rendered([1] * 10, [Author.USER] * 10))]
    part = Rendered([2] * 3, [Author.TOOL] * 3, fresh=fresh)
    assert extend_sequences(sequences, part, turn=0, context=context) == (lengths is not None)
    assert [len(one.ids) for one in sequences] == (lengths or [10])
