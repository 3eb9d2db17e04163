import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending
from handaxe.core.requests import Spawn, Stopped
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import fork
from handaxe.rollouts.play.rounds import Rounds

RULES = Rules(max_turns=4, snapshots=True)
STOPPED = Ending("truncated", "stopped")


def together(dice, seeds, seen=None):
    """Some attempts in rounds; `seen` gets what each had played after each round."""
    rounds = Rounds()

    def plan():
        try:
            for seed in seeds:
                rounds.add(Play(dice.attempt(seed, id=f"t/{seed}"), RULES))
            while rounds.active:
                yield from rounds.next()
                if seen is not None:
                    seen.append([len(play.turns) for play in rounds.plays])
        except Stopped:
            yield from rounds.stop()
        finally:
            rounds.close()
        return rounds.trajectories

    return plan()


def test_plays_take_one_turn_a_round_and_equal_single_plays(dice):
    seen = []
    found = run_plan(together(dice, range(6), seen), sample=dice.roll)
    for seed, one in zip(range(6), found, strict=True):
        (alone,) = run_plan(Play(dice.attempt(seed), RULES).plan(), sample=dice.roll)
        assert one.sequences[0].ids.tolist() == alone.sequences[0].ids.tolist()
        assert (one.ending, one.env, one.replies) == (alone.ending, alone.env, alone.replies)
    lengths = [len(one.turns) for one in found]
    assert seen == [[min(n, r) for n in lengths] for r in range(1, max(lengths) + 1)] and max(lengths) > 2


def test_a_round_spawns_the_unfinished_plays(dice):
    plan, spawns, answer = together(dice, range(6)), [], None
    for _ in range(5):
        try:
            request = plan.send(answer)
        except StopIteration:
            break
        assert isinstance(request, Spawn)
        spawns.append(request.ids)
        answer = [run_plan(one, sample=dice.roll) for one in request.plans]
    assert spawns[0] == tuple(f"t/{seed}" for seed in range(6))
    assert all(set(later) <= set(sooner) for sooner, later in zip(spawns, spawns[1:])) and len(spawns[-1]) < 6


def test_open_plays_can_be_forked_and_dropped_ones_are_stopped(dice):
    rounds, play = Rounds(), Play(dice.attempt(3), RULES)

    def plan():
        yield from rounds.open(play)
        assert play.turns == [] and play.sequences and rounds.active == [play]
        rounds.add(fork(play, Branch("t/0", 0, 0), id="t/0/1", seed=5))
        yield from rounds.next()
        yield from rounds.drop(play)
        while rounds.active:
            yield from rounds.next()
        return rounds.trajectories

    dice.Counter.made.clear()
    dropped, other = run_plan(plan(), sample=dice.roll)
    assert dropped.ending == STOPPED and len(dropped.turns) == 1 and dropped.env["sums"]
    assert other.branch_of == Branch("t/0", 0, len(other.sequences[0].ids[: other.turns[0].start]))
    assert [env.closed for env in dice.Counter.made] == [1, 1]


@pytest.mark.parametrize("asked", range(14))
def test_stopped_plays_return_their_turns(dice, asked):
    """The request of number `asked` raises Stopped; run_plan goes on with the round's others."""
    count = iter(range(1000))

    def speak(name, request):
        if next(count) == asked:
            raise Stopped
        return dice.roll(name, request)

    dice.Counter.made.clear()
    found = run_plan(together(dice, range(4)), sample=speak)
    assert len(found) == 4 and any(one.ending == STOPPED for one in found) == (next(count) > asked)
    for one in found:
        records.check(one)
    assert all(env.closed == 1 for env in dice.Counter.made)


def test_a_plan_that_is_closed_closes_every_environment(dice):
    dice.Counter.made.clear()
    plan = together(dice, range(3))
    request = next(plan)
    for one in request.plans:
        run_plan(one, sample=dice.roll)
    plan.send([[], [], []])
    plan.close()
    assert [env.closed for env in dice.Counter.made] == [1, 1, 1]


def test_an_exception_of_an_environment_ends_its_own_play(dice):
    class Dying(dice.Counter):
        def start(self):
            if len(dice.Counter.made) % 2:
                raise OSError("no sandbox")
            return super().start()

    dice.Counter.made.clear()
    rounds = Rounds()
    for seed in range(4):
        rounds.add(Play(dice.attempt(seed, env=Dying, id=f"t/{seed}"), RULES))

    def plan():
        while rounds.active:
            yield from rounds.next()
        return rounds.trajectories

    kinds = [one.ending.kind for one in run_plan(plan(), sample=dice.roll)]
    assert [kind == "infra_error" for kind in kinds] == [True, False, True, False]


def test_environments_with_a_limit_are_errors(dice):
    class Few:
        most = 2

        def __call__(self, task):
            return dice.Counter(task)

    with pytest.raises(InputError, match="only 2 of these may be open"):
        run_plan(Rounds().open(Play(dice.attempt(1, env=Few()), RULES)), sample=dice.roll)
