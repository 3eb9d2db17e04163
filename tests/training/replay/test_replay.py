"""Whatever was recorded plays again to the same record; whatever was tampered with is told, and where."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Branch, Ending, Group, Message, Sampling
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply, Measure, Partial, Stopped
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.cleaner.repairing import repairing
from handaxe.rollouts.budget import Budget
from handaxe.rollouts.driver.run_plan import do_act, do_work, run_plan
from handaxe.rollouts.forking import forking
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.resample_failed_turn import resample_failed_turn
from handaxe.training.replay import Setup, group_attempts, replay


@pytest.fixture(scope="module")
def dice():
    """The world that the tests of rollouts play in."""
    from helpers import dice as module

    return module


def middles(trunk):
    """A fork within every turn and one at the end of the first."""
    places = [Branch(trunk.id, turn.sequence, turn.start + 1) for turn in trunk.turns]
    return [*places, *(Branch(trunk.id, t.sequence, t.stop) for t in trunk.turns[:1] if t.finish == "stop")]


def measuring(attempt):
    """Asks, after every turn, what the model says of what it just wrote, and ends where that is odd."""
    play = Play(attempt, Rules())

    def turns():
        while (ending := (yield from play.turn())) is None:
            last = play.turns[-1]
            found = yield from play.measure(Measure(play.sequences[-1].ids[: last.stop], last.start, ("entropy",)))
            if sum(found["entropy"]) % 2 > 1.5:
                return Ending("completed", "odd")
        return ending

    return [(yield from play.run(turns()))]


def weigh(name, request):
    """A model's answer, made of the ids."""
    return {name: [id * 0.1 + 1 / 3 for id in request.ids[request.start :]] for name in request.names}


ROLLOUTS = {
    "measuring": measuring,
    "linear": linear(),
    "telling": linear(budget=Budget(tokens=40, calls=3, seconds=9, cost=30), tell_budget=True),
    "few calls": linear(budget=Budget(calls=1)),
    "short": linear(max_turns=2, budget=Budget(seconds=0.8)),
    "forking": forking(at=middles),
    "forking and telling": forking(at=middles, max_turns=Rules(budget=Budget(tokens=50, seconds=3), tell_budget=True)),
}


def act(name, request):
    """As a driver does it: whatever an environment dies of ends its attempt."""
    try:
        return do_act(name, request)
    except Stopped:
        raise
    except Exception as error:
        return EnvReply(done=True, ending=Ending("infra_error", f"{type(error).__name__}: {error}"))


class StopAt:
    """Raises Stopped at the n-th request of all, once: with the first part of a turn when that is a Sample."""

    def __init__(self, dice, n):
        self.dice, self.left, self.stopped = dice, n, False

    def _due(self):
        self.left -= 1
        return self.left < 0

    def speak(self, name, request):
        said = self.dice.roll(name, request)
        if self._due():
            self.stopped = True
            begun = len(request.prefix.ids) if request.prefix else 0
            part = [array[: max(begun, len(said.ids) // 2)] for array in said[:4]]
            raise Stopped(Partial(*part))
        return said

    def act(self, name, request):
        if self._due():
            self.stopped = True
            raise Stopped
        return act(name, request)

    def work(self, name, request):
        if self._due() and not self.stopped:
            self.stopped = True
            raise Stopped
        return request.call()


def play(dice, rollout, seed, *, format=None, env=None, hooks=None, aux_policies=None, **options):
    attempt = dice.attempt(seed, format=format or Compact(), env=env or dice.Counter, **options)
    attempt = replace(attempt, aux_policies=aux_policies or {})
    answers = {"sample": dice.roll, "act": act, "work": do_work, "measure": weigh}
    if hooks:
        answers |= {"sample": hooks.speak, "act": hooks.act, "work": hooks.work}
    return Group(attempt.task, tuple(run_plan(rollout(attempt), name=attempt.id, **answers)))


def setup(dice, rollout, *, format=None, env=None, tools=False, context=400, aux_policies=None):
    sampling = dice.attempt(0).sampling
    return Setup(
        rollout,
        format or Compact(),
        env or dice.Counter,
        sampling,
        context,
        tools=tools,
        aux_policies=aux_policies or {},
    )


def differences(group, where):
    return [difference for one in replay(group, where) for difference in one.differences]


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("format", ["Compact", "Rewriting"])
@pytest.mark.parametrize("name", ROLLOUTS)
def test_what_was_recorded_plays_again_to_the_same(dice, name, format, tools):
    format = Compact() if format == "Compact" else dice.Rewriting()
    kinds = set()
    for seed in range(8):
        group = play(dice, ROLLOUTS[name], seed, format=format)
        found = replay(group, setup(dice, ROLLOUTS[name], format=format, tools=tools))
        assert [one.trajectory.id for one in found] == [t.id for t in group]
        assert [d for one in found for d in one.differences] == []
        kinds |= {(t.ending.kind, t.ending.reason) for t in group}
    assert len(kinds) > 1


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", ["telling", "forking"])
def test_attempts_that_were_stopped_at_any_request(dice, name, tools):
    for seed in (0, 3, 5):
        n = 0
        while True:
            hooks = StopAt(dice, n)
            group = play(dice, ROLLOUTS[name], seed, hooks=hooks)
            assert differences(group, setup(dice, ROLLOUTS[name], tools=tools)) == [], (seed, n)
            if not hooks.stopped:
                break
            n += 1
        assert n >= 4


REPAIRS = {
    "repairing": repairing(),
    "short": repairing(max_turns=3, retries=2),
    "few calls": repairing(max_turns=Rules(budget=Budget(calls=4))),
    "telling": repairing(max_turns=Rules(budget=Budget(tokens=60, calls=5), tell_budget=True)),
    "redrawing": resample_failed_turn(retries=2, back=2),
    "bounded": resample_failed_turn(
        retries=2, back=1, max_turns=Rules(budget=Budget(tokens=40, calls=5), tell_budget=True)
    ),
}


@pytest.fixture(scope="module")
def fickle(dice):
    """A counter whose calls fail by the turn's seed and by how much they add: a repair may fail where it is put."""

    class Fickle(dice.Counter):
        def step(self, turn, *, seed):
            reply = super().step(turn, seed=seed)
            fails = [(seed % 5 + len(call.arguments["x"])) % 2 == 0 for call in turn.calls]
            told = [replace(r, status="failed") if f else r for r, f in zip(reply.replies, fails)]
            return reply._replace(replies=tuple(told))

        def restore(self, state):
            self.sums = list(state)

    return Fickle


def repaired(one):
    return one.notes.get("repaired") or one.notes.get("redrawn") or ()


def failed_again(one):
    put = [repair["turn"] for repair in repaired(one)]
    return sum(any(reply.status != "ok" for reply in one.turns[k].replies) for k in put)


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", REPAIRS)
def test_repaired_turns_and_what_they_cost(dice, fickle, name, tools):
    """Also where the repaired turn fails once more, and where budgets count what was taken back."""
    repairs = again = 0
    for seed in range(120):
        group = play(dice, REPAIRS[name], seed, env=fickle)
        repairs += len(repaired(group[0]))
        again += failed_again(group[0])
        assert differences(group, setup(dice, REPAIRS[name], tools=tools, env=fickle)) == [], seed
    assert repairs > 8 and again > 2


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", ["repairing", "telling", "redrawing", "bounded"])
def test_repairs_that_were_stopped_at_any_request(dice, fickle, name, tools):
    """In a retry, before the turns are taken back, and while the repaired turn is carried out."""
    seeds = [seed for seed in range(100) if repaired(play(dice, REPAIRS[name], seed, env=fickle)[0])]
    for seed in seeds[:6]:
        for n in range(40):
            hooks = StopAt(dice, n)
            group = play(dice, REPAIRS[name], seed, env=fickle, hooks=hooks)
            assert differences(group, setup(dice, REPAIRS[name], tools=tools, env=fickle)) == [], (seed, n)
            if not hooks.stopped:
                break
        assert n >= 8


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize(("where", "after"), [("step", 1), ("step", 2), ("snapshot", 2), ("restore", 0)])
@pytest.mark.parametrize("name", ["repairing", "redrawing"])
def test_machinery_that_fails_in_a_repair(dice, fickle, where, after, tools, name):
    died = 0
    for seed in range(40):
        group = play(dice, REPAIRS[name], seed, env=dying(fickle, where, after))
        died += group[0].ending.kind == "infra_error"
        assert differences(group, setup(dice, REPAIRS[name], tools=tools, env=fickle)) == [], seed
    assert died


@pytest.fixture(scope="module")
def asking(dice):
    """A counter that asks a user about every call, once or twice by the turn's seed."""

    class Asking(dice.Counter):
        def step(self, turn, *, seed):
            if not turn.calls:
                return super().step(turn, seed=seed)
            self.turn, self.left = turn, 1 + seed % 2
            return EnvReply(aux_request=AuxRequest("user", (Message("user", "so?"),)))

        def on_aux_reply(self, turn, *, seed):
            self.left -= 1
            if self.left:
                return EnvReply(aux_request=AuxRequest("user", (Message("user", "really?"),)))
            reply = super().step(self.turn, seed=seed)
            return reply._replace(messages=(*reply.messages, Message("user", turn.text or ".")))

    return Asking


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", ["linear", "telling", "forking"])
def test_attempts_that_were_stopped_while_another_engine_spoke(dice, asking, name, tools):
    others = {"user": AuxChat(Compact(), Sampling(max_tokens=8), 400)}
    spoke = 0
    for seed in range(6):
        for n in range(80):
            hooks = StopAt(dice, n)
            group = play(dice, ROLLOUTS[name], seed, env=asking, hooks=hooks, aux_policies=others)
            found = differences(group, setup(dice, ROLLOUTS[name], tools=tools, env=asking, aux_policies=others))
            assert found == [], (seed, n)
            spoke += any(one.aux_turns for one in group if one.ending.reason == "stopped")
            if not hooks.stopped:
                break
    assert spoke > 5


def dying(counter, where, after):
    """An environment that dies there, in the `after`-th call."""

    def method(self, *arguments, **options):
        self.__dict__.setdefault("count", {}).setdefault(where, 0)
        self.count[where] += 1
        if self.count[where] > after:
            raise ConnectionError("the sandbox is gone")
        return getattr(super(Dying, self), where)(*arguments, **options)

    Dying = type("Dying", (counter,), {where: method})
    return Dying


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name", ["linear", "forking"])
@pytest.mark.parametrize(
    ("where", "after"),
    [("__init__", 0), ("start", 0), ("step", 0), ("step", 1), ("report", 0), ("snapshot", 0), ("snapshot", 1)],
)
def test_failures_of_the_machinery_are_played_from_the_record(dice, name, where, after, tools):
    """What dies then need not die now: the environment is whole again."""
    died = 0
    for seed in range(6):
        group = play(dice, ROLLOUTS[name], seed, env=dying(dice.Counter, where, after))
        died += any(t.ending.kind == "infra_error" for t in group)
        found = differences(group, setup(dice, ROLLOUTS[name], tools=tools))
        assert found == []
    assert died or (where == "snapshot" and name == "linear")


def test_attempts_tried_again_are_attempts_of_their_own(dice):
    first = play(dice, linear(), 0, env=dying(dice.Counter, "step", 0))
    again = play(dice, linear(), 5, id="t/0/retry-1")
    group = Group(first.task, (*again, *first))
    assert [len(one) for one in group_attempts(group)] == [1, 1]
    assert differences(group, setup(dice, linear())) == []


def test_an_attempt_that_a_verifier_could_not_decide(dice):
    for seed in range(6):
        group = play(dice, linear(), seed)
        judged = Group(group.task, tuple(replace(t, ending=Ending("verifier_error", "no idea")) for t in group))
        assert differences(judged, setup(dice, linear())) == []


# --- what is told ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(dice):
    """An attempt of three turns or more, the first two of which were answered."""
    for seed in range(50):
        group = play(dice, linear(), seed)
        if len(group[0].turns) >= 3 and all(turn.replies for turn in group[0].turns[:2]):
            return group
    raise AssertionError


def told(dice, group, trajectory, **options):
    (found,) = replay(Group(group.task, (trajectory,)), setup(dice, linear(), **options))
    return found.differences


def with_id(trajectory, token, value):
    (row,) = trajectory.sequences
    ids = row.ids.copy()
    ids[token] = value
    return replace(trajectory, sequences=(replace(row, ids=ids),))


def test_an_id_that_the_policy_did_not_write(dice, recorded):
    """In the opening, or in the reply before turn 1: turn 1 is asked something else, from that very token on."""
    one = recorded[0]
    for token, turn in ((1, 0), (one.turns[0].stop + 1, 1), (one.turns[1].start - 1, 1)):
        was = int(one.sequences[0].ids[token])
        (found,) = told(dice, recorded, with_id(one, token, 77))
        assert found[:4] == (one.id, "requests", "id 77", f"id {was}")
        assert (found.turn, found.sequence, found.token) == (turn, 0, token)
        assert found.place == f"turn {turn}, sequence 0, token {token}"


def test_an_id_after_the_last_turn_is_found_too(dice):
    for seed in range(50):
        group = play(dice, linear(budget=Budget(seconds=0.5)), seed)
        if group[0].ending.reason == "budget":
            break
    one, where = group[0], setup(dice, linear(budget=Budget(seconds=0.5)))
    last = len(one.sequences[0]) - 1
    (found,) = differences(Group(group.task, (with_id(one, last, 77),)), where)
    assert found.what == "ids" and (found.turn, found.token) == (0, last) and found.recorded == "ids 77"


def test_an_id_that_the_policy_wrote(dice, recorded):
    """The letter of a call: the turn is read as something else, and what was answered no longer fits."""
    one = recorded[0]
    turn = one.turns[0]
    found = told(dice, recorded, with_id(one, turn.start + 5, ord("z")))
    assert [d.what for d in found] == ["messages"] and "'z" in found[0].replayed


@pytest.mark.parametrize("kind", ["message", "reply", "ending", "seed", "logp", "turn", "author"])
def test_whatever_else_was_changed(dice, recorded, kind):
    one = recorded[0]
    (row,) = one.sequences
    turns, messages = list(one.turns), list(one.messages)
    reply = turns[0].replies[0]
    if kind == "message":
        messages[2] = Message("tool", "999", call_id=messages[2].call_id, name="add")
        changed, what, turn = replace(one, messages=tuple(messages)), "requests", 1
    elif kind == "reply":
        turns[0] = replace(turns[0], replies=(replace(reply, call_id="t9c9"), *turns[0].replies[1:]))
        changed, what, turn = replace(one, turns=tuple(turns)), "record", None
    elif kind == "ending":
        changed, what, turn = replace(one, ending=Ending("truncated", "budget")), "ending", None
    elif kind == "seed":
        turns[1] = replace(turns[1], seed=4)
        changed, what, turn = replace(one, turns=tuple(turns)), "requests", 1
    elif kind == "logp":
        changed, what, turn = replace(one, sequences=(replace(row, logp=row.logp + 1),)), "record", None
    elif kind == "turn":
        changed, what, turn = replace(one, turns=one.turns[:-1]), "record", None
    else:
        author = np.where(row.author == 1, 2, row.author)
        changed, what, turn = replace(one, sequences=(replace(row, author=author),)), "ids", None
    found = told(dice, recorded, changed)
    assert (found[0].what, found[0].turn) == (what, turn)


def test_a_reply_that_the_tools_give_otherwise_now(dice, recorded):
    class Other(dice.Counter):
        def step(self, turn, *, seed):
            reply = super().step(turn, seed=seed)
            return reply._replace(replies=tuple(replace(r, content=r.content + "!") for r in reply.replies))

    one = recorded[0]
    found = told(dice, recorded, one, env=Other, tools=True)
    assert found[0].what == "replies" and found[0].turn == 0 and found[0].replayed.endswith("!'")
    assert told(dice, recorded, one, env=Other) == ()


def test_a_state_that_the_tools_leave_otherwise_now(dice, recorded):
    class Other(dice.Counter):
        def report(self):
            return {"sums": "forgotten"}

    (found,) = told(dice, recorded, recorded[0], env=Other, tools=True)
    assert found.what == "state" and "forgotten" in found.replayed


def test_a_rollout_that_is_another_now(dice, recorded):
    one = recorded[0]
    (found,) = differences(recorded, setup(dice, linear(tell_budget=True)))
    assert found.what == "requests" and found.turn == 1
    assert {d.what for d in differences(recorded, setup(dice, linear(max_turns=1)))} == {
        "ids",
        "messages",
        "replies",
    } | ({"ending"} if one.ending != Ending("truncated", "turns") else set())
    (found,) = differences(recorded, setup(dice, linear(budget=Budget(tokens=3))))
    assert found.what == "requests" and found.replayed == "at most 3 are asked for"


def test_trajectories_that_are_missing_or_too_many(dice):
    for seed in range(50):
        group = play(dice, forking(at=middles), seed)
        if len(group) > 3:
            break
    less = Group(group.task, group.trajectories[:-1])
    found = differences(less, setup(dice, forking(at=middles)))[0]
    assert found.what == "replies" and found.recorded.startswith("no turn has seed")
    lone = differences(Group(group.task, group.trajectories[:2]), setup(dice, linear()))
    assert [d.replayed for d in lone] == ["no such trajectory is returned"]


def test_a_departure_spoils_the_forks_of_its_attempt_and_no_other(dice):
    group = play(dice, forking(at=middles), 0)
    other = play(dice, forking(at=middles), 5, id="t/1")
    token = group[0].turns[0].start - 1
    bad = [with_id(one, token, 77) for one in group]
    found = replay(Group(group.task, (*bad, *other)), setup(dice, forking(at=middles)))
    assert [bool(one.differences) for one in found] == [True] * len(group) + [False] * len(other)
    assert found[0].differences[0].what == "requests"


# --- what a rollout is told ------------------------------------------------------------------------------------


def test_an_attempt_is_told_its_step_and_place_as_it_was_then(dice):
    """Samples 4, 5, 6 of a task that was drawn twice; 5 was tried again. One alone is played as in the whole."""
    told_now = []

    def rollout(attempt):
        told_now.append((attempt.id, attempt.step, attempt.sibling, attempt.siblings))
        return linear()(attempt)

    names = {"t/4": 4, "t/5": 5, "t/5/retry-1": 5, "t/6": 6}
    played = [play(dice, linear(), seed, id=name) for seed, name in enumerate(names)]
    members = tuple(replace(one, sample=names[one.id]) for group in played for one in group)
    group = Group(played[0].task, members, step=7)
    replay(group, setup(dice, rollout))
    assert told_now == [("t/4", 7, 0, 3), ("t/5", 7, 1, 3), ("t/5/retry-1", 7, 1, 3), ("t/6", 7, 2, 3)]
    told_now.clear()
    (found,) = replay(group, setup(dice, rollout), only="t/6")
    assert found.trajectory.id == "t/6" and found.differences == () and told_now == [("t/6", 7, 2, 3)]


def test_facts_are_said_again(dice):
    """An answer from the record has the facts that were kept with the turn."""
    on_aux_reply = []

    def rollout(attempt):
        plan, answer = linear()(attempt), None
        try:
            while True:
                request = plan.send(answer)
                answer = yield request
                if isinstance(answer, EnvReply):
                    on_aux_reply.append(dict(answer.facts))
        except StopIteration as end:
            return end.value

    for seed in range(50):
        group = play(dice, linear(), seed)
        if len(group[0].turns) >= 3:
            break
    turns = tuple(replace(turn, facts={"turn": k}) for k, turn in enumerate(group[0].turns))
    replay(Group(group.task, (replace(group[0], turns=turns),)), setup(dice, rollout))
    assert on_aux_reply[:2] == [{"turn": 0}, {"turn": 1}]
