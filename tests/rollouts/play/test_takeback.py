import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Ending
from handaxe.core.requests import Completion, Partial, Splice
from handaxe.core.usage import Usage
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.takeback import SPLICE_NOTE, Takeback, note_splice, spliced_usage


@pytest.fixture
def env(dice):
    class Restored(dice.Counter):
        def restore(self, state):
            self.sums = list(state)

    return Restored


def play_with(dice, env, strategy, *, snapshots=True, seed=3):
    """Trajectory, completions of the engine and the play of a strategy (play, takeback) -> ending."""
    play, sampled = Play(dice.attempt(seed, env=env), Rules(max_turns=4, snapshots=snapshots)), []

    def sample(name, request):
        sampled.append(dice.roll(name, request))
        return sampled[-1]

    def plan():
        return [(yield from play.run(strategy(play, Takeback(play))))]

    (found,) = run_plan(plan(), sample=sample)
    return found, sampled, play


def spoken(play):
    turn = play.turns[-1]
    return Completion(*play.sequences[turn.sequence].span(turn.start, turn.stop), "stop")


def test_spliced_turn_replaces_the_turn_taken_back(dice, env):
    def strategy(play, takeback):
        yield from play.turn()
        first = spoken(play)
        yield from takeback.rewind(0)
        assert play.turns == [] and len(play.messages) == 1 and play.sequences[-1].ids == play.sequences[0].ids
        ending = yield from takeback.splice_turn(first, own=1)
        assert takeback.was_spliced(0) and not takeback.was_spliced(1)
        return ending or Ending("truncated", "turns")

    made, (sampled,), _ = play_with(dice, env, strategy)
    turn = made.turns[0]
    authors = made.sequences[0].author[turn.start : turn.stop].tolist()
    assert authors == [Author.POLICY] + [Author.FORCED] * (len(sampled.ids) - 1)
    assert turn.seed == derive_seed(3, 0) and list(made.notes) == [SPLICE_NOTE]
    usage = spliced_usage(made.notes, 0)
    assert usage.tokens == 0 and usage.calls == len(turn.parsed.calls) and usage.cost == 1.0 + 2.0 * usage.calls
    assert made.usage.tokens == len(sampled.ids), "every sampled token counts once"


def test_resampled_turn_keeps_its_prefix_and_the_seed_of_its_place(dice, env):
    def strategy(play, takeback):
        yield from play.turn()
        first = play.turns[0]
        prefix = play.sequences[0].span(first.start, first.start + 1)
        yield from takeback.rewind(0)
        ending = yield from takeback.resample_turn(prefix, seed=99)
        return ending or Ending("truncated", "turns")

    made, (first, second), _ = play_with(dice, env, strategy)
    turn = made.turns[0]
    assert second.ids[0] == first.ids[0] and made.sequences[0].ids[turn.start : turn.stop].tolist() == second.ids
    assert turn.seed == derive_seed(3, 0) and not made.sequences[0].forced.any()
    assert made.usage.tokens == len(first.ids) + len(second.ids) - 1, "the prefix was sampled once"


def test_replaced_turn_hands_its_usage_to_the_turn_in_its_place(dice, env):
    """Two replacements of one turn: the second note holds the usage of both turns taken back."""

    def strategy(play, takeback):
        yield from play.turn()
        for _ in range(2):
            said = spoken(play)
            yield from takeback.rewind(0)
            ending = yield from takeback.splice_turn(said, own=0)
        return ending or Ending("truncated", "turns")

    made, _, _ = play_with(dice, env, strategy)
    calls = len(made.turns[0].parsed.calls)
    assert spliced_usage(made.notes, 0).cost == (1.0 + 2.0 * calls) + 2.0 * calls
    assert spliced_usage(made.notes, 0).calls == 2 * calls and made.usage.calls == 3 * calls


def test_turn_that_exceeds_the_limits_is_not_resampled(dice, env):
    def strategy(play, takeback):
        yield from play.turn()
        first = play.turns[0]
        whole = play.sequences[0].span(first.start, first.stop)
        yield from takeback.rewind(0)
        filled = Partial(*(list(part) * 20 for part in whole))
        ending = yield from takeback.resample_turn(filled, seed=1)
        assert ending == Ending("truncated", "length") and play.turns == []
        return ending

    made, sampled, _ = play_with(dice, env, strategy)
    assert len(sampled) == 1 and made.usage.tokens == len(sampled[0].ids), "nothing was settled"


def test_rewind_without_snapshot_or_turn_is_refused(dice, env):
    def strategy(play, takeback):
        yield from play.turn()
        yield from takeback.rewind(0 if not play.rules.snapshots else 7)
        return Ending("completed")

    for snapshots in (False, True):
        with pytest.raises(InputError, match="there is no snapshot, or no turn"):
            play_with(dice, env, strategy, snapshots=snapshots)


def test_environment_that_cannot_be_restored_ends_the_rollout(dice, env):
    class Broken(env):
        def restore(self, state):
            raise OSError("gone")

    def strategy(play, takeback):
        yield from play.turn()
        return (yield from takeback.rewind(0))

    made, _, _ = play_with(dice, Broken, strategy)
    assert made.ending.kind == "infra_error" and len(made.turns) == 1


def test_note_of_a_splice_round_trips():
    notes = {}
    note_splice(notes, 2, Splice(3, Usage(5, 1, 0.5, 2.0)))
    assert spliced_usage(notes, 2) == Usage(5, 1, 0.5, 2.0) and spliced_usage(notes, 0) is None
