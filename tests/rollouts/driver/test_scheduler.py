"""The driver with plans written by hand: what each kind of request and each way to end comes to."""

import contextlib
import threading

import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Partial, Sample, Spawn, Stopped, Work
from handaxe.rollouts.driver import Driver
from handaxe.rollouts.driver.workers import Workers

TURN = ParsedTurn("", (ToolCall("t", {}, "c0"),))


class Engine:
    """Says as many ids as the request's seed: 0, 1, 2, ..., then 99."""

    version = 0

    def __init__(self):
        self.batches = []

    def sample(self, requests):
        self.batches.append([(r.seed, 0 if r.prefix is None else len(r.prefix.ids)) for r in requests])
        return [say(r, r.sampling.max_tokens, self.version) for r in requests]


def say(request, count, version):
    whole = [*range(request.seed), 99]
    begun = request.prefix or Partial([], [], [], [])
    count = min(count, request.sampling.max_tokens)
    new = whole[len(begun.ids) : count]
    ids = [*begun.ids, *new]
    zeros = [0.0] * len(ids)
    finish = "stop" if len(ids) == len(whole) else "length"
    return Completion(ids, zeros, zeros, [*begun.version, *[version] * len(new)], finish, seconds=1.0)


class Streaming(Engine):
    """The same, one token a poll."""

    def stream(self):
        return Stream(self)


class Stream:
    def __init__(self, engine):
        self.engine, self.rows, self.tickets, self.closed = engine, {}, 0, False

    def __len__(self):
        return len(self.rows)

    def submit(self, request):
        if request.seed < 0:
            raise InputError("a negative seed")
        self.tickets += 1
        self.rows[self.tickets - 1] = [request, request.prefix.ids[-1] + 2 if request.prefix else 1]
        return self.tickets - 1

    def poll(self, wait=0.0):
        over = []
        self.engine.batches.append([row[0].seed for row in self.rows.values()])
        for ticket, row in list(self.rows.items()):
            said = say(row[0], row[1], self.engine.version)
            row[1] += 1
            if said.finish == "stop" or len(said.ids) == row[0].sampling.max_tokens:
                over.append((ticket, said))
                del self.rows[ticket]
        return over

    def interrupt(self, ticket):
        request, count = self.rows.pop(ticket)
        return Partial(*say(request, count - 1, self.engine.version)[:4])

    def close(self):
        self.closed = True
        self.rows.clear()


class Env:
    def __init__(self, step=lambda: None):
        self._step = step

    def step(self, turn, *, seed):
        self._step()
        return EnvReply()


def sample(length, most=1000, prefix=None):
    return Sample([1], Sampling(max_tokens=most), length, frozenset({99}), prefix=prefix)


def attempt(name):
    return Attempt(Task(name, ()), None, None, Sampling(), name, 0, 0, 100)


def driver(engine=None, plans=(), **settings):
    made = Driver(engine or Engine(), **settings)
    for number, plan in enumerate(plans):
        made.add(attempt(f"a{number}"), lambda attempt, plan=plan: plan())
    return made


def play(plan, engine=None, **settings):
    made = driver(engine, [plan], **settings)
    (over,) = made.advance()
    assert made.live == 0 and made.advance() == []
    made.close()
    return over.trajectories


BOTH = pytest.mark.parametrize("lockstep", [False, True])
ENGINES = pytest.mark.parametrize("engine", [Engine, Streaming])


@BOTH
@ENGINES
def test_every_request_is_answered(engine, lockstep):
    def plan():
        said = yield sample(3)
        done = yield Work(lambda: "worked")
        reply = yield Act(Env(), TURN, 0)
        return [said.ids, done, reply]

    assert play(plan, engine(), lockstep=lockstep) == [[0, 1, 2, 99], "worked", EnvReply()]


@BOTH
def test_an_exception_of_work_is_raised_in_the_plan(lockstep):
    def plan():
        out = []
        for kind in (OSError, SystemExit):
            try:
                yield Work(lambda: (_ for _ in ()).throw(kind("gone")))  # noqa: B023
            except Exception as error:
                out.append((type(error), str(error)))
        return out

    assert play(plan, lockstep=lockstep) == [(OSError, "gone"), (InfrastructureError, "SystemExit: gone")]


@BOTH
@pytest.mark.parametrize("kind", [OSError, SystemExit])
def test_an_exception_of_an_environment_ends_its_rollout(lockstep, kind):
    def plan():
        return [(yield Act(Env(lambda: (_ for _ in ()).throw(kind("gone"))), TURN, 0))]

    (reply,) = play(plan, lockstep=lockstep)
    assert reply.done and reply.ending.kind == "infra_error" and reply.ending.reason == f"{kind.__name__}: gone"


@BOTH
@pytest.mark.parametrize("where", ["engine", "plan", "submit", "work", "nothing known"])
def test_an_exception_of_engine_or_plan_closes_all_plans_and_is_raised(lockstep, where):
    class Dying(Streaming):
        def sample(self, requests):
            if where == "engine" and self.batches:
                raise MemoryError("no room")
            return super().sample(requests)

        def stream(self):
            streams.append(Stream(self))
            if where == "engine":
                streams[0].poll = lambda wait: (_ for _ in ()).throw(MemoryError("no room"))
            return streams[0]

    def good():
        try:
            yield sample(2)
            yield Act(Env(lambda: release.wait(0.5 if lockstep else 30)), TURN, 0)
        finally:
            closed.append(1)

    def bad():
        yield sample(1)
        if where == "plan":
            raise MemoryError("a bug")
        if where == "work":
            yield Work(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        if where == "nothing known":
            yield "a text"
        yield sample(-1)

    closed, streams, release = [], [], threading.Event()
    executor = Workers(2)
    made = driver(Dying(), [good, good, bad], lockstep=lockstep, workers=executor)
    kinds = {"work": KeyboardInterrupt, "nothing known": TypeError, "submit": InputError}
    if lockstep and where == "submit":
        made.close()
        return  # a batch has no submission that could be refused
    with pytest.raises(kinds.get(where, MemoryError)):
        while True:
            made.advance()
    release.set()
    assert closed == [1, 1] and made.live == 0 and made.advance() == []
    assert len(executor) == 0 and all(stream.closed for stream in streams)
    made.close()


def test_keyboard_interrupt_closes_all_plans():
    class Interrupted(Engine):
        def sample(self, requests):
            raise KeyboardInterrupt

    def plan():
        try:
            yield Work(lambda: None)
            yield sample(2)
        finally:
            closed.append(1)

    closed, before = [], set(threading.enumerate())
    made = driver(Interrupted(), [plan] * 3)
    with pytest.raises(KeyboardInterrupt):
        made.advance()
    assert closed == [1] * 3 and made.live == 0
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
        assert not thread.is_alive()


def test_equal_and_unknown_ids_are_errors():
    made = driver(plans=[lambda: (yield sample(1))])
    with pytest.raises(InputError, match="two live attempts are called 'a0'"):
        made.add(attempt("a0"), lambda attempt: iter(()))
    with pytest.raises(InputError, match="no live attempt 'b'"):
        made.tokens("b")
    made.close()


# --- stopping ------------------------------------------------------------------------------------------------------


def stoppable(request, log, cleanup=True):
    def plan():
        try:
            yield from request()
        except Stopped as stopped:
            log.append(stopped.partial)
        if cleanup:
            yield Work(lambda: log.append("cleaned"))
        return ["kept"]

    return plan


@BOTH
def test_stopping_a_sampling_plan_returns_its_partial_turn(lockstep):
    def speak():
        yield sample(9)

    def short():
        yield sample(2)
        return ["short"]

    log = []
    made = driver(Streaming(), [stoppable(speak, log), short], lockstep=lockstep)
    if not lockstep:
        assert [over.attempt.id for over in made.advance()] == ["a1"]
    (over,) = made.stop(["a0", "unknown", "a0"])
    assert over.attempt.id == "a0" and over.trajectories == ["kept"] and made.stop(["a0"]) == []
    assert log[1:] == ["cleaned"] and log[0].ids == ([] if lockstep else [0, 1, 2])
    made.close()


def test_in_lockstep_plans_resume_together_in_order_of_add():
    """In order of `add`, though the second ends first; and a stream is left when nobody is live."""
    engine, order, streams = Streaming(), [], []
    engine.stream = lambda: streams.append(Stream(engine)) or streams[-1]

    def speaks(name, *lengths):
        def plan():
            for length in lengths:
                yield sample(length)
                order.append((name, len(engine.batches)))
            return []

        return plan

    made = driver(engine, [speaks("a", 5, 1), speaks("b", 2, 3)], lockstep=True)
    while made.live:
        made.advance()
    assert order == [("a", 6), ("b", 6), ("a", 10), ("b", 10)]
    assert [stream.closed for stream in streams] == [True, False] and streams[0].tickets == 4
    made.close()
    assert streams[1].closed and made.advance() == [] and len(streams) == 2


def test_stop_interrupts_an_act_and_waits_for_work():
    """The work can only be done after the plan that acts was told, whose tool never answers."""
    release, begun, told = threading.Event(), threading.Event(), threading.Event()

    def act():
        try:
            yield Act(Env(lambda: begun.set() or release.wait(60)), TURN, 0)
        except Stopped as stopped:
            told.set()
            return [stopped.partial]

    def work():
        try:
            answered.append((yield Work(lambda: told.wait(60))))
            yield sample(3)
        except Stopped as stopped:
            return [stopped.partial]

    def other():
        yield Work(lambda: begun.wait(60))
        return []

    answered, executor = [], Workers(3)
    made = driver(plans=[act, work, other], workers=executor)
    assert [over.attempt.id for over in made.advance()] == ["a2"]
    overs = made.stop(["a1", "a0"])
    assert [over.trajectories for over in overs] == [[Partial([], [], [], [])], [None]]
    assert answered == [True] and not release.is_set() and executor.abandoned == 1
    release.set()
    made.close()


@BOTH
def test_stop_reaches_a_new_plan_before_its_first_request(lockstep):
    def start():
        yield Work(lambda: log.append("made"))

    log = []
    made = driver(plans=[stoppable(start, log)], lockstep=lockstep)
    (over,) = made.stop(["a0"])
    assert over.trajectories == ["kept"] and log == [None, "cleaned"]
    made.close()


def test_a_plan_that_ignores_a_stop_gives_nothing_or_an_error():
    def deaf():
        yield sample(2)

    def stubborn():
        while True:
            with contextlib.suppress(Stopped):
                yield sample(2)

    made = driver(plans=[deaf])
    assert made.stop(["a0"])[0].trajectories == [] and made.live == 0
    made.add(attempt("b"), lambda attempt: stubborn())
    with pytest.raises(RuntimeError, match="was stopped and yields"):
        made.stop(["b"])
    assert made.live == 0


def test_other_plans_continue_during_a_cleanup():
    """The stopped plan's cleanup waits for another attempt to end."""
    ended = threading.Event()

    def slow():
        try:
            yield sample(50)
        except Stopped:
            assert (yield Work(lambda: ended.wait(60)))
        return ["slow"]

    def quick():
        yield sample(5)
        ended.set()
        return ["quick"]

    made = driver(Streaming(), [slow, quick])
    assert made.stop(["a0"])[0].trajectories == ["slow"]
    assert [over.trajectories for over in made.advance()] == [["quick"]]
    made.close()


# --- segments ------------------------------------------------------------------------------------------------------


def speaker(length):
    def plan():
        said = yield sample(length - 1)  # and the id that ends it
        return [said]

    return plan


@BOTH
@ENGINES
def test_segments_match_the_example_of_agentmath(engine, lockstep):
    """Lengths 5, 12 and 30 in segments of 10: one ends in each, two are carried over, then one (AgentMath)."""
    engine = engine()
    made = driver(engine, [speaker(5), speaker(12), speaker(30)], lockstep=lockstep)
    ended, carried, versions = [], [], []
    for version in range(3):
        engine.version = version
        made.segment(tokens=10, calls=None)
        while over := made.advance():
            ended.append([(version, one.attempt.id) for one in over])
            versions.append(over[0].trajectories[0].version)
        carried.append(
            (made.live, made.held, [made.tokens(f"a{n}") for n in range(3) if f"a{n}" in made._scheduler.live])
        )
    assert ended == [[(0, "a0")], [(1, "a1")], [(2, "a2")]]
    assert carried == [(2, 2, [10, 10]), (1, 1, [20]), (0, 0, [])]
    assert versions[2] == [0] * 10 + [1] * 10 + [2] * 10
    made.close()


@BOTH
@ENGINES
def test_segments_have_no_effect_on_tokens(engine, lockstep):
    def plan():
        first = yield sample(6)
        yield Act(Env(), TURN, 0)
        second = yield sample(20, most=15, prefix=Partial([0, 1], [0.0] * 2, [0.0] * 2, [7] * 2))
        return [first.ids, second.ids, second.finish, second.version[:3]]

    whole = play(plan, engine(), lockstep=lockstep)
    assert whole == [[*range(6), 99], [*range(15)], "length", [7, 7, 0]]
    for tokens in (1, 3, 7):
        made, over = driver(engine(), [plan], lockstep=lockstep), []
        while not over:
            made.segment(tokens=tokens, calls=None)
            over = made.advance()
        assert over[0].trajectories == whole
        made.close()


def test_a_lifted_limit_resumes_and_seconds_add_up():
    made = driver(plans=[speaker(12)])
    made.segment(tokens=5, calls=None)
    assert made.advance() == [] and made.held == 1
    made.segment(tokens=None, calls=None)
    (over,) = made.advance()
    assert over.trajectories[0].seconds == 2.0 and len(over.trajectories[0].ids) == 12
    made.close()
    for limits in ({"tokens": 0, "calls": None}, {"tokens": None, "calls": 0}):
        with pytest.raises(InputError, match="never ends"):
            made.segment(**limits)


def test_a_new_segment_within_a_turn_counts_from_its_start():
    """Three tokens are written under the first limit; the second begins there and leaves exactly five."""
    made = driver(Streaming(), [speaker(20), speaker(3)])
    made.segment(tokens=10, calls=None)
    assert [over.attempt.id for over in made.advance()] == ["a1"]
    assert made.tokens("a0") == 0, "not counted before the turn is over or interrupted"
    made.segment(tokens=5, calls=None)
    assert made.tokens("a0") == 3
    assert made.advance() == [] and made.tokens("a0") == 8
    made.close()


@BOTH
def test_segments_limit_calls(lockstep):
    def plan():
        log = []
        for calls in (1, 1, 2, 5, 0):
            yield sample(1)
            yield Act(Env(), ParsedTurn("", (ToolCall("t", {}, "c"),) * calls), 0)
            log.append((segment[0], calls))
        return log

    made, segment, over = driver(plans=[plan], lockstep=lockstep), [0], []
    while not over:
        segment[0] += 1
        made.segment(tokens=None, calls=3)
        over = made.advance()
    # two single calls leave one, too few for two; five are more than any segment allows, and stand alone
    assert over[0].trajectories == [(1, 1), (1, 1), (2, 2), (3, 5), (4, 0)]
    made.close()


def test_held_rollouts_resume_first():
    engine = Engine()
    made = driver(engine, [speaker(8), speaker(2), speaker(9)])
    made.segment(tokens=5, calls=None)
    while made.advance():
        pass
    made.add(attempt("new"), lambda attempt: speaker(3)())
    made.segment(tokens=5, calls=None)
    made.advance()
    assert engine.batches == [[(7, 0), (1, 0), (8, 0)], [(7, 5), (8, 5), (2, 0)]]
    made.close()


def test_stopping_a_held_rollout_returns_its_partial_turn():
    log = []

    def speak():
        yield sample(9)

    made = driver(plans=[stoppable(speak, log)])
    made.segment(tokens=4, calls=None)
    assert made.advance() == []
    assert made.stop(["a0"])[0].trajectories == ["kept"] and made.held == 0
    assert log[0].ids == [0, 1, 2, 3]
    made.close()


# --- as many environments as may be open ---------------------------------------------------------------------------


class Few:
    """A factory of which `most` environments may be open; the plans count for it."""

    def __init__(self, most):
        self.most, self.open, self.seen, self.order = most, 0, [], []

    def __call__(self, task):
        self.open += 1
        self.seen.append(self.open)

    def player(self, name, length):
        def plan():
            try:
                yield Work(lambda: self(None), self)
                yield sample(length)
                yield Act(Env(), TURN, 0)
                yield sample(length)
            except Stopped:
                self.order.append(f"stopped {name}")
                return [name]
            yield Work(self.close)
            self.order.append(name)
            return [name]

        return plan

    def close(self):
        self.open -= 1


@BOTH
@ENGINES
def test_rollouts_wait_for_a_limited_environment(engine, lockstep):
    """One thread, so that a plan that waited in it would stop those that it waits for."""
    few, free = Few(2), Few(99)
    plans = [few.player(k, 3 + k % 2) for k in range(7)] + [free.player(f"free{k}", 2) for k in range(3)]
    made = driver(engine(), plans, lockstep=lockstep, workers=1)
    over = [one for _ in range(99) if made.live for one in made.advance()]
    assert sorted(str(one.trajectories[0]) for one in over) == sorted([*"0123456", "free0", "free1", "free2"])
    assert max(few.seen) == 2 and max(free.seen) == 3 and few.open == free.open == 0
    made.close()


@BOTH
def test_a_rollout_stopped_while_queued_takes_no_slot(lockstep):
    few = Few(1)
    made = driver(Streaming(), [few.player(k, 4) for k in range(4)], lockstep=lockstep)
    if not lockstep:
        made._round()
    stopped = made.stop(["a2", "a1"])
    assert [one.trajectories for one in stopped] == [[2], [1]]
    while made.live:
        made.advance()
    assert few.seen == [1, 1] and few.open == 0 and few.order[-2:] == [0, 3]
    made.close()


def test_held_rollouts_keep_their_slot():
    few = Few(1)
    made = driver(plans=[few.player(k, 6) for k in range(2)])
    made.segment(tokens=3, calls=None)
    assert made.advance() == [] and (made.live, made.held, few.seen) == (2, 1, [1])
    made.segment(tokens=None, calls=None)
    while made.live:
        made.advance()
    assert few.seen == [1, 1] and few.order == [0, 1]
    made.close()


# --- plans within plans --------------------------------------------------------------------------------------------


@BOTH
@ENGINES
def test_spawned_plans_belong_to_the_rollout(engine, lockstep):
    def part(length, inner=()):
        said = yield sample(length)
        if inner:
            return [len(said.ids), (yield Spawn(inner, ("x",)))]
        return [len(said.ids)]

    def plan():
        first = yield Spawn((), ())
        answers = yield Spawn((part(4), part(2, (part(1),)), part(9)), ("a", "b", "c"))
        tokens.append(made.tokens("a0"))
        return [first, answers]

    tokens = []
    made = driver(engine(), [plan], lockstep=lockstep)
    (over,) = made.advance()
    assert over.trajectories == [[], [[5], [3, [[2]]], [10]]] and tokens == [20]
    made.close()


@BOTH
def test_stopping_a_rollout_stops_its_spawned_plans_first(lockstep):
    def part(length):
        try:
            yield sample(length)
        except Stopped as stopped:
            order.append(length)
            return [len(stopped.partial.ids)]
        return ["whole"]

    def plan():
        try:
            yield Spawn((part(1), part(20), part(30)), ("a", "b", "c"))
        except Stopped as stopped:
            order.append("spawner")
            return list(stopped.spawned)

    order = []
    made = driver(Streaming(), [plan, speaker(4)], lockstep=lockstep)
    if lockstep:
        (over,) = made.stop(["a0"])
        assert over.trajectories == [[], [], []] and order == ["spawner"]
    else:
        assert [over.attempt.id for over in made.advance()] == ["a1"]
        (over,) = made.stop(["a0"])
        assert over.trajectories == [["whole"], [3], [3]] and order == [20, 30, "spawner"]
    made.close()


def test_closing_closes_spawned_plans():
    def part():
        try:
            yield Act(Env(), TURN, 0)
            yield sample(5)
        finally:
            order.append("part")

    def plan():
        try:
            yield Spawn((part(), part()), ("a", "b"))
        finally:
            order.append("plan")

    order = []
    made = driver(plans=[plan])
    made.segment(tokens=2, calls=None)
    assert made.advance() == [] and made.held == 1
    made.close()
    assert order == ["part", "part", "plan"]
