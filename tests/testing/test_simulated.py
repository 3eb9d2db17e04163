import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import Streams
from handaxe.core.records import ParsedTurn, Sampling, Task
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Sample, Work
from handaxe.rollouts.driver import Driver
from handaxe.testing.simulated import SimulatedClock, SimulatedEngine, SimulatedWorkers

STOP = 7


class Turns:
    """Engine without stream that samples as many tokens as a request's first id."""

    version, max_length, pad_id = 0, 1000, 0

    def sample(self, requests):
        return [self._say(request) for request in requests]

    def _say(self, request):
        n = min(request.ids[0], request.sampling.max_tokens)
        ids = [*range(100, 100 + request.ids[0] - 1), STOP][:n]
        finish = "stop" if n == request.ids[0] else "length"
        return Completion(ids, [-0.5] * n, [-0.25] * n, [self.version] * n, finish)


class Answers:
    def step(self, turn, *, seed):
        if seed == 13:
            raise ValueError("unlucky")
        return EnvReply(done=True)


def request(tokens, *more, **changes):
    return Sample([tokens, *more], Sampling(max_tokens=50), 0, frozenset({STOP}))._replace(**changes)


def engine(inner=None, *, decode=lambda rows: 1.0, **costs):
    clock = SimulatedClock()
    return SimulatedEngine(inner or Turns(), clock, decode=decode, **costs), clock


def attempt(name):
    return Attempt(Task(name, ()), None, None, Sampling(), name, 0, 0, 1000)


# --- clock and workers ---------------------------------------------------------------------------------------------


def test_clock_rejects_negative_seconds():
    clock = SimulatedClock()
    clock.advance(1.5)
    clock.advance(0)
    assert clock.now == 1.5
    for bad in (-1, float("nan")):
        with pytest.raises(InputError, match="time cannot pass"):
            clock.advance(bad)


def test_answers_arrive_at_their_time():
    clock = SimulatedClock()
    workers = SimulatedWorkers(clock, lambda act: {1: 5.0, 2: 1.0, 13: 1.0}[act.seed])
    for ticket, seed in enumerate((1, 2, 13)):
        workers.submit(ticket, Act(Answers(), ParsedTurn(""), seed))
    assert workers.ready(0) == [] and clock.now == 0
    assert workers.ready(0.5) == [] and clock.now == 0.5
    (first, answer), (second, failed) = workers.ready(None)  # of the same time: in the order of submission
    assert (clock.now, first, second) == (1, 1, 2) and answer.value.done and isinstance(failed.error, ValueError)
    assert len(workers) == 1
    assert [ticket for ticket, _ in workers.ready(100)] == [0] and clock.now == 5  # it waits no longer than it must
    assert workers.ready(None) == [] and clock.now == 5


def test_forgotten_answer_is_not_delivered():
    clock = SimulatedClock()
    workers = SimulatedWorkers(clock, lambda request: 1.0)
    done = []
    workers.submit(0, Work(lambda: done.append(0)))
    workers.submit(1, workers.takes(3))
    workers.forget(0)
    assert [ticket for ticket, _ in workers.ready(None)] == [1] and clock.now == 3 and done == [0]
    workers.submit(2, workers.takes(3))
    workers.close()
    assert len(workers) == 0 and workers.ready(None) == []


# --- engine and stream ---------------------------------------------------------------------------------------------


def test_poll_is_a_decoding_step_of_all_rows():
    simulated, clock = engine(decode=lambda rows: 1 + rows / 10)
    stream = simulated.stream()
    assert isinstance(simulated, Streams) and stream.poll() == [] and clock.now == 0
    assert [stream.submit(request(n)) for n in (1, 3)] == [0, 1]
    ((ticket, short),) = stream.poll()
    assert (ticket, short.ids, clock.now) == (0, [STOP], pytest.approx(1.2)) and len(stream) == 1
    assert stream.poll() == []
    ((ticket, long),) = stream.poll()
    assert (ticket, long.ids, clock.now) == (1, [100, 101, STOP], pytest.approx(1.2 + 2 * 1.1)) and len(stream) == 0


def test_batch_takes_the_time_of_its_longest_completion():
    simulated, clock = engine()
    assert [len(one.ids) for one in simulated.sample([request(2), request(5), request(1)])] == [2, 5, 1]
    assert clock.now == 5


def test_prefix_is_charged_once_until_the_weights_change():
    simulated, clock = engine(read=0.01, decode=lambda rows: 0.0)
    simulated.sample([request(2, 3, 4)])
    assert clock.now == pytest.approx(0.03)
    simulated.sample([request(2, 3, 4, 100, STOP, 50)])  # the next turn: what was said is read already
    assert clock.now == pytest.approx(0.04)
    simulated.inner.version += 1
    simulated.sample([request(2, 3, 4)])
    assert clock.now == pytest.approx(0.07)


def test_live_rows_are_charged_again_after_a_step():
    simulated, clock = engine(read=0.01, decode=lambda rows: 0.0)
    stream = simulated.stream()
    stream.submit(request(3, 5))
    stream.poll()
    simulated.inner.version += 1
    stream.poll()
    assert clock.now == pytest.approx(0.04)
    ((_, done),) = stream.poll()
    assert done.version == [0, 1, 1]


def test_interrupted_turn_continues():
    simulated, clock = engine()
    stream = simulated.stream()
    ticket = stream.submit(request(4))
    stream.poll()
    begun = stream.interrupt(ticket)
    assert begun == ([100], [-0.5], [-0.25], [0]) and len(stream) == 0
    simulated.inner.version += 1
    stream.submit(request(4, prefix=begun))
    assert stream.poll() == [] and stream.poll() == []
    ((ticket, whole),) = stream.poll()
    assert ticket == 1 and whole.ids == [100, 101, 102, STOP] and whole.version == [0, 1, 1, 1]
    assert clock.now == 4  # three more tokens after the first


@pytest.mark.exact
def test_completions_equal_the_engine_inside(world):
    """Uses the real stream of the engine inside, if there is one."""
    inner, plain = world.make_engine(double=True), world.make_engine(double=True)
    simulated, clock = engine(inner, decode=lambda rows: 0.5)
    requests = [Sample([5, 6, 7 + k], Sampling(max_tokens=4 + k), k, frozenset({3})) for k in range(3)]
    for one, other in zip(simulated.sample(requests), plain.sample(requests)):
        assert one.ids == other.ids and one.logp == pytest.approx(other.logp, abs=1e-9)
    assert clock.now >= 0.5
    assert (simulated.max_length, simulated.pad_id) == (plain.max_length, plain.pad_id)


@pytest.mark.exact
def test_training_equals_the_engine_inside_and_takes_time(world):
    results = []
    for wrap in (lambda one: one, lambda one: SimulatedEngine(one, clock, decode=lambda rows: 0.0, train=3.0)):
        clock, inner = SimulatedClock(), world.make_engine()
        world.train(**world.arguments(engine=wrap(inner), steps=2, lockstep=True))
        results.append(world.weights(inner))
    assert world.same(*results) and clock.now == 12  # two minibatches a step


# --- the worked examples -------------------------------------------------------------------------------------------


def play(tools, *, lockstep):
    """Run rollouts with decoding steps of a second and given tool times; returns the end of each."""
    simulated, clock = engine()
    workers = SimulatedWorkers(clock, lambda act: float(act.seed))
    over = {}

    def rollout(attempt):
        for k, seconds in enumerate(tools[attempt.id]):
            yield request(1, turn=k)
            yield Act(Answers(), ParsedTurn(""), seconds)
        over[attempt.id] = clock.now
        return []

    driver = Driver(simulated, workers=workers, lockstep=lockstep)
    for name in tools:
        driver.add(attempt(name), rollout)
    while driver.live:
        driver.advance()
    driver.close()
    return over


def test_asynchronous_tools_overlap_as_in_verltool():
    tools = {"A": [1, 1, 1], "B": [5, 1, 1]}
    assert play(tools, lockstep=True) == {"A": 10, "B": 10}
    assert play(tools, lockstep=False) == {"A": 6, "B": 10}
    tools = {"A": [5, 1, 1], "B": [1, 5, 1]}
    assert max(play(tools, lockstep=True).values()) == 14
    assert max(play(tools, lockstep=False).values()) == 10


def test_partial_rollouts_shorten_a_step_as_in_agentmath():
    simulated, clock = engine()
    driver = Driver(simulated, workers=SimulatedWorkers(clock, lambda request: 0.0))

    def rollout(attempt):
        yield request(int(attempt.id))
        return []

    for tokens in (5, 12, 30):
        driver.add(attempt(str(tokens)), rollout)
    history = []
    while driver.live:
        driver.segment(tokens=10, calls=None)
        start, ended = clock.now, []
        while more := driver.advance():
            ended += [one.attempt.id for one in more]
        history.append((ended, driver.live, clock.now - start))
    driver.close()
    assert history == [(["5"], 2, 10), (["12"], 1, 10), (["30"], 0, 10)]
