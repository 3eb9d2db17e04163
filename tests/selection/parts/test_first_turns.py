from helpers.step_play import WORDS, play

from handaxe.selection.parts.first_turns import first_turns


def test_first_turns_ends_with_the_tokens_of_the_turn():
    one = next(one for one in play(WORDS) if len(one.turns) == 3)
    cut = first_turns(one, 2)
    stop = one.turns[1].stop
    assert len(cut.turns) == 2 and len(cut.sequences[0]) == stop and cut.sequences[0].mask[-1]
    assert cut.sequences[0].ids.tolist() == one.sequences[0].ids[:stop].tolist()
    assert first_turns(one, 3).num_tokens == one.num_tokens
