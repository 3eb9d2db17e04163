from dataclasses import replace

import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending
from handaxe.core.requests import Sample, Stopped, Work
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import Forced, fork

KEYS = ("ids", "author", "turn", "logp", "behaviour_logp", "version")


def played(dice, play):
    (trajectory,) = run_plan(play.plan(), sample=dice.roll)
    records.check(trajectory)
    return trajectory


def trunk(dice, seed, *, rules=None, format=None, **options):
    play = Play(dice.attempt(seed, format=format and getattr(dice, format)(), **options), rules or RULES)
    return play, played(dice, play)


RULES = Rules(max_turns=4, snapshots=True)
TELLING = Rules(max_turns=4, budget=Budget(tokens=40, calls=3, seconds=99), tell_budget=True, snapshots=True)


def places(trajectory):
    return [Branch(trajectory.id, s, t) for s, q in enumerate(trajectory.sequences) for t in range(len(q) + 1)]


def forkable(trajectory, at):
    """The slow statement of where a fork is possible: a turn of that sequence is cut in two, answered, or follows."""
    return any(
        turn.sequence == at.sequence and (at.token < turn.stop or (at.token == turn.stop and turn.finish == "stop"))
        for turn in trajectory.turns
    )


def same(a, b):
    for one, other in zip(a.sequences, b.sequences, strict=True):
        for key in KEYS:
            np.testing.assert_array_equal(getattr(one, key), getattr(other, key), err_msg=key)
    assert a.messages == b.messages and a.replies == b.replies and a.ending == b.ending and a.env == b.env
    assert [t.parsed for t in a.turns] == [t.parsed for t in b.turns] and a.tools == b.tools
    assert [(t.sequence, t.start, t.stop, t.seed) for t in a.turns] == [
        (t.sequence, t.start, t.stop, t.seed) for t in b.turns
    ]


@pytest.mark.parametrize("rules", [RULES, TELLING], ids=["plain", "telling"])
@pytest.mark.parametrize("format", [None, "Rewriting"], ids=["appended", "rewritten"])
@pytest.mark.parametrize("seed", range(6))
def test_a_fork_with_the_trunks_seed_repeats_the_trunk(dice, seed, format, rules):
    play, whole = trunk(dice, seed, rules=rules, format=format)
    tried = 0
    for at in places(whole):
        if not forkable(whole, at):
            with pytest.raises(InputError, match="nothing"):
                fork(play, at, id="b", seed=seed)
            continue
        branch = fork(play, at, id="b", seed=seed)
        again = played(dice, branch)
        same(again, whole)
        assert again.id == "b" and again.branch_of.token >= at.token and again.branch_of[:2] == at[:2]
        tried += 1
    assert tried >= 3


def test_seeds_cover_rewrites_calls_and_endings(dice):
    found = [trunk(dice, seed, format="Rewriting")[1] for seed in range(6)]
    assert {len(one.sequences) for one in found} >= {1, 2} and max(len(one.turns) for one in found) == 4
    assert any(len(turn.parsed.calls) > 1 for one in found for turn in one.turns)
    assert {one.ending.kind for one in found} == {"completed", "truncated"}


def long_trunk(dice, **options):
    """A trunk of three turns or more that were answered."""
    for seed in range(50):
        play, whole = trunk(dice, seed, **options)
        if len(whole.turns) >= 3 and all(turn.replies for turn in whole.turns[:2]):
            return play, whole
    raise AssertionError


def test_a_fork_with_another_seed_shares_the_prefix_only(dice):
    play, whole = long_trunk(dice)
    turn, differ = whole.turns[1], 0
    for token in range(turn.start, turn.stop + 1):
        at = Branch(whole.id, 0, token)
        branch = played(dice, fork(play, at, id="b", seed=99))
        assert branch.branch_of == at and branch.seed == 99
        for key in KEYS:
            mine, theirs = getattr(branch.sequences[0], key)[:token], getattr(whole.sequences[0], key)[:token]
            np.testing.assert_array_equal(mine, theirs)
        assert branch.turns[0] == whole.turns[0] and branch.turns[1].start == turn.start
        assert branch.env["sums"][:2] == whole.env["sums"][:2]
        assert branch.sequences[0].mask[turn.start : token].all(), "the shared tokens are the branch's own"
        differ += list(branch.sequences[0].ids) != list(whole.sequences[0].ids)
    assert differ > 2


def test_a_fork_at_the_end_of_a_turn_gets_a_new_tool_reply(dice):
    """The reply holds the turn's seed, so a fork after the whole turn reads another one."""
    play, whole = long_trunk(dice)
    turn = whole.turns[0]
    replies = {
        played(dice, fork(play, Branch(whole.id, 0, turn.stop), id="b", seed=seed)).replies[0].content
        for seed in range(30)
    }
    assert len(replies) == 7 and {r.split(".")[0] for r in replies} == {whole.replies[0].content.split(".")[0]}


def test_a_fork_within_other_tokens_shares_them_whole(dice):
    play, whole = long_trunk(dice)
    first, second = whole.turns[:2]
    for token in (0, 1, first.start):
        (track,) = fork(play, Branch(whole.id, 0, token), id="b", seed=1).sequences
        assert track.ids == list(whole.sequences[0].ids[: first.start])
    for token in range(first.stop + 1, second.start + 1):
        branch = played(dice, fork(play, Branch(whole.id, 0, token), id="b", seed=1))
        assert branch.branch_of == Branch(whole.id, 0, second.start) and branch.replies[0] == whole.replies[0]


def test_the_shared_part_of_a_turn_is_the_prefix_of_the_request(dice):
    play, whole = long_trunk(dice)
    turn, asked = whole.turns[1], []

    def speak(name, request):
        asked.append(request)
        return dice.roll(name, request)

    run_plan(fork(play, Branch(whole.id, 0, turn.start + 3), id="b", seed=7).plan(), sample=speak)
    sequence = whole.sequences[0]
    assert asked[0].ids == list(sequence.ids[: turn.start]) and asked[0].turn == 1
    assert asked[0].prefix.ids == list(sequence.ids[turn.start : turn.start + 3])
    np.testing.assert_allclose(asked[0].prefix.logp, sequence.logp[turn.start : turn.start + 3], rtol=1e-6)
    assert asked[0].prefix.version == [5] * 3 and asked[0].sampling == turn.sampling
    assert all(request.prefix is None for request in asked[1:])


def test_forks_can_be_forked(dice):
    play, whole = long_trunk(dice)
    at = Branch(whole.id, 0, whole.turns[1].start + 1)
    for seed in range(40):
        first = fork(play, at, id="b0", seed=seed)
        branch = played(dice, first)
        if len(branch.turns) == 4:
            break
    deep = Branch("b0", 0, branch.turns[2].start + 1)
    again = played(dice, fork(first, deep, id="b1", seed=seed))
    same(again, branch)
    assert again.branch_of == deep
    early = Branch("b0", 0, branch.turns[0].start)
    assert played(dice, fork(first, early, id="b2", seed=3)).sequences[0].ids[0] == whole.sequences[0].ids[0]
    same(played(dice, fork(first, Branch("b0", 0, at.token - 1), id="b3", seed=seed)), branch_at(dice, play, at, seed))


def branch_at(dice, play, at, seed):
    return played(dice, fork(play, at._replace(token=at.token - 1), id="x", seed=seed))


def test_a_fork_counts_the_shared_turns_in_its_budget(dice):
    play, whole = long_trunk(dice, rules=replace(RULES, budget=Budget(tokens=40)))
    asked = []

    def speak(name, request):
        asked.append(request.sampling.max_tokens)
        return dice.roll(name, request)

    turn = whole.turns[2]
    run_plan(fork(play, Branch(whole.id, 0, turn.start + 1), id="b", seed=9).plan(), sample=speak)
    spent = sum(t.stop - t.start for t in whole.turns[:2])
    assert asked[0] == min(14, 40 - spent), "the turn's limit counts from its first token"


def test_a_live_play_is_forked_between_two_turns(dice):
    seed = long_trunk(dice)[1].seed
    play = Play(dice.attempt(seed), RULES)
    made = []

    def turns():
        while (ending := (yield from play.turn())) is None:
            made.append(fork(play, Branch("t/0", 0, len(play.sequences[-1].ids)), id=f"b{len(made)}", seed=seed))
            made.append(fork(play, Branch("t/0", 0, play.turns[-1].stop - 1), id=f"b{len(made)}", seed=seed))
        return ending

    def plan():
        return [(yield from play.run(turns()))]

    (whole,) = run_plan(plan(), sample=dice.roll)
    assert len(made) >= 2
    for branch in made:
        same(played(dice, branch), whole)


def test_places_outside_the_play_are_errors(dice):
    play, whole = long_trunk(dice)
    last = whole.turns[-1]
    for at, message in {
        Branch("other", 0, 5): "is not of 't/0'",
        Branch("t/0", 1, 5): "there is no such place",
        Branch("t/0", 0, len(whole.sequences[0]) + 1): "there is no such place",
        Branch("t/0", 0, -1): "there is no such place",
    }.items():
        with pytest.raises(InputError, match=message):
            fork(play, at, id="b", seed=0)
    assert last.stop <= len(whole.sequences[0])
    plain = Play(dice.attempt(0), Rules())
    run_plan(plain.plan(), sample=dice.roll)
    with pytest.raises(InputError, match="snapshots=True"):
        fork(plain, Branch("t/0", 0, 5), id="b", seed=0)


def test_a_cut_turn_is_resampled_but_not_continued(dice):
    play, whole = trunk(dice, 3, max_tokens=4)
    assert whole.ending == Ending("truncated", "length")
    turn = whole.turns[-1]
    with pytest.raises(InputError, match="ended there for 'length'"):
        fork(play, Branch(whole.id, 0, turn.stop), id="b", seed=0)
    same(played(dice, fork(play, Branch(whole.id, 0, turn.stop - 1), id="b", seed=3)), whole)


@pytest.mark.parametrize("lacks", ["snapshot", "restore"])
def test_an_environment_without_snapshots_is_an_error(dice, lacks):
    def refuse(self, *state):
        raise NotImplementedError

    Bare = type("Bare", (dice.Counter,), {lacks: refuse})
    play = Play(dice.attempt(1, env=Bare), RULES)
    with pytest.raises(InputError, match=r"Bare cannot be forked .*give it snapshot\(\) and restore\(state\)"):
        played(dice, play)
        run_plan(fork(play, Branch("t/0", 0, 5), id="b", seed=0).plan(), sample=dice.roll)
    assert all(env.closed == 1 for env in dice.Counter.made if isinstance(env, Bare))


def test_a_stopped_fork_keeps_its_partial_turn(dice):
    play, whole = long_trunk(dice)
    turn = whole.turns[1]
    at = Branch(whole.id, 0, turn.start + 3)

    def stop(name, request):
        raise Stopped

    (branch,) = run_plan(fork(play, at, id="b", seed=0).plan(), sample=stop)
    records.check(branch)
    assert branch.ending == Ending("truncated", "stopped") and len(branch.turns) == 2
    assert branch.sequences[0].ids.tolist() == whole.sequences[0].ids[: at.token].tolist()


@pytest.mark.parametrize("offset", [0, 2, None])
def test_a_fork_stopped_during_setup_keeps_the_shared_turns(dice, offset):
    """None stands for the end of the turn, which is said then and not answered."""
    play, whole = long_trunk(dice)
    turn = whole.turns[1]
    token = turn.stop if offset is None else turn.start + offset

    def stop(name, request):
        raise Stopped

    (branch,) = run_plan(fork(play, Branch(whole.id, 0, token), id="b", seed=0).plan(), sample=dice.roll, work=stop)
    records.check(branch)
    assert branch.ending == Ending("truncated", "stopped") and branch.env == {}
    assert branch.sequences[0].ids.tolist() == whole.sequences[0].ids[:token].tolist()
    assert [t.finish for t in branch.turns] == {0: ["stop"], 2: ["stop", "length"], None: ["stop", "stop"]}[offset]


def test_a_fork_opens_and_closes_with_one_work_each(dice):
    play, whole = long_trunk(dice)
    requests = []
    plan = fork(play, Branch(whole.id, 0, whole.turns[-1].start), id="b", seed=0).plan()
    run_plan(
        plan,
        sample=lambda n, r: requests.append(r) or dice.roll(n, r),
        work=lambda n, r: requests.append(r) or r.call(),
    )
    assert isinstance(requests[0], Work) and isinstance(requests[1], Sample) and isinstance(requests[-1], Work)


def test_a_fork_has_the_facts_and_notes_of_the_shared_turns(dice):
    class Telling(dice.Counter):
        """Says its sum with every reply."""

        def step(self, turn, *, seed):
            return super().step(turn, seed=seed)._replace(facts={"sum": self.sums[-1]})

    def numbered(play):
        def turns():
            while True:
                play.notes.setdefault("begun", []).append(len(play.turns))
                ending = yield from play.turn()
                if ending is not None:
                    return ending

        return (lambda: [(yield from play.run(turns()))])()

    play = Play(dice.attempt(0, env=Telling), RULES)
    (whole,) = run_plan(numbered(play), sample=dice.roll)
    assert whole.notes == {"begun": [0, 1, 2, 3]} and all("sum" in turn.facts for turn in whole.turns[:-1])
    turn = whole.turns[2]
    branch = fork(play, Branch(whole.id, turn.sequence, turn.start + 1), id="b", seed=9)
    assert branch.notes == {"begun": [0, 1]}
    (forked,) = run_plan(numbered(branch), sample=dice.roll)
    assert [one.facts for one in forked.turns[:2]] == [one.facts for one in whole.turns[:2]]
    assert forked.notes == {"begun": [0, 1, *range(2, len(forked.turns))]}
    assert whole.notes == {"begun": [0, 1, 2, 3]}, "the fork writes into notes of its own"


WORDS = Forced([ord("2"), ord("2")], [-0.7, -0.1])


@pytest.mark.parametrize("offset", [-2, 0, 6])
def test_forced_tokens_start_at_the_fork_and_the_policy_continues(dice, offset):
    """-2 is a place in what the environment said: the words begin the next turn then."""
    play, whole = long_trunk(dice)
    turn, asked = whole.turns[1], []

    def speak(name, request):
        asked.append(request)
        return dice.roll(name, request)

    at = Branch(whole.id, 0, turn.start + offset)
    (branch,) = run_plan(fork(play, at, id="b", seed=7, forced=WORDS).plan(), sample=speak)
    records.check(branch)
    start = turn.start + max(0, offset)
    assert branch.branch_of == Branch(whole.id, 0, start)
    sequence, said = branch.sequences[0], branch.turns[1]
    assert sequence.ids[start : start + 2].tolist() == WORDS.ids == asked[0].prefix.ids[-2:]
    assert np.flatnonzero(sequence.forced).tolist() == [start, start + 1] and sequence.mask[start : start + 2].all()
    np.testing.assert_allclose(sequence.behaviour_logp[start : start + 2], WORDS.behaviour_logp, rtol=1e-6)
    assert not sequence.logp[start : start + 2].any() and (sequence.version[start : start + 2] == -1).all()
    for key in KEYS:
        mine, theirs = getattr(sequence, key)[:start], getattr(whole.sequences[0], key)[:start]
        np.testing.assert_array_equal(mine, theirs)
    drawn = slice(start + 2, said.stop)
    assert said.start == turn.start and (sequence.version[drawn] == 5).all() and said.stop > start + 2
    whole_turn = dice.roll("", asked[0])
    assert sequence.ids[said.start : said.stop].tolist() == whole_turn.ids, "draws count from the turn's first token"


def test_a_fork_of_a_fork_keeps_forced_tokens_and_authors(dice):
    play, whole = long_trunk(dice)
    at = Branch(whole.id, 0, whole.turns[1].start + 6)
    for seed in range(40):
        first = fork(play, at, id="b", seed=seed, forced=WORDS)
        branch = played(dice, first)
        if branch.turns[1].finish == "stop":
            break
    for token in (at.token + 1, at.token + 2, branch.turns[1].stop):
        again = played(dice, fork(first, Branch("b", 0, token), id="c", seed=seed))
        shared = again.sequences[0].forced[:token]
        np.testing.assert_array_equal(shared, branch.sequences[0].forced[:token])
        assert again.sequences[0].forced.sum() == shared.sum() == min(2, token - at.token)


def test_forced_tokens_that_fill_a_turn_end_it(dice):
    play, whole = long_trunk(dice)
    at = Branch(whole.id, 0, whole.turns[1].start)
    for count in (14, 15):
        words = Forced([ord("5")] * count, [-0.1] * count)
        branch = played(dice, fork(play, at, id="b", seed=7, forced=words))
        assert branch.ending == Ending("truncated", "length") and branch.turns[1].finish == "length"
        assert branch.turns[1].stop - branch.turns[1].start == branch.sequences[0].forced.sum() == 14


def test_invalid_forced_tokens_are_errors(dice):
    play, whole = long_trunk(dice)
    turn = whole.turns[1]
    for at, words, message in [
        (turn.start, Forced([], []), "0 ids and 0 log-probs"),
        (turn.start, Forced([1], [-0.1, -0.1]), "1 ids and 2 log-probs"),
        (turn.start, Forced([1, dice.END], [-0.1, -0.1]), "end the turn"),
        (turn.stop, WORDS, "its turn ends there"),
    ]:
        with pytest.raises(InputError, match=message):
            fork(play, Branch(whole.id, 0, at), id="b", seed=0, forced=words)


@pytest.mark.parametrize("turns", [1, 2, 9])
def test_turns_bounds_the_new_turns_of_a_fork(dice, turns):
    play, whole = long_trunk(dice)
    at = Branch(whole.id, 0, whole.turns[1].start + 1)
    found = [played(dice, fork(play, at, id="b", seed=seed, turns=turns)) for seed in range(12)]
    assert max(len(one.turns) for one in found) == min(4, 1 + turns)
    for one in found:
        cut = one.ending == Ending("truncated", "turns")
        assert not cut or len(one.sequences[0]) == one.turns[-1].stop, "nothing is written after its last turn"
    with pytest.raises(InputError, match="0 turns"):
        fork(play, at, id="b", seed=0, turns=0)
