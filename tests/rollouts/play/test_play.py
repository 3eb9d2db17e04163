"""Stops, endings and environments that die; what `linear` and `fork` test is not repeated here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core import records
from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Ending, Message, ToolCall
from handaxe.core.requests import Act, Completion, EnvReply, Partial, Stopped, Work
from handaxe.models.chat_formats.compact import END, Compact
from handaxe.rollouts.budget import SPEAKER, Budget, Remaining
from handaxe.rollouts.driver import run
from handaxe.rollouts.driver.run_plan import do_work, run_plan
from handaxe.rollouts.linear import linear
from handaxe.rollouts.play import Play, Rules

STOPPED = Ending("truncated", "stopped")


def said(ids, finish="stop", seconds=0.5):
    n = len(ids)
    return Completion(list(ids), [-0.5] * n, [-0.5] * n, [3] * n, finish, seconds, 1.0)


BYE = [*b"9", END]


class Script:
    """Says its lines, one a turn; keeps the requests."""

    def __init__(self, *lines):
        self.lines, self.asked = list(lines), []

    def __call__(self, name, request):
        self.asked.append(request)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Completion) else said(line)


def played(dice, rules, *lines, act=None, work=do_work, **options):
    script = Script(*lines)
    dice.Counter.made.clear()
    answers = {} if act is None else {"act": act}
    plan = Play(dice.attempt(max_tokens=64, **options), rules).plan()
    (trajectory,) = run_plan(plan, sample=script, work=work, **answers)
    records.check(trajectory)
    return trajectory, script


# --- budgets ---------------------------------------------------------------------------------------------------


def two_calls(dice):
    """The ids of a turn with two calls of this world's tool."""
    return Compact().encode_turn(
        Message("assistant", "", (ToolCall("add", {"x": "3"}), ToolCall("add", {"x": "44"}))), [dice.ADD]
    )


def one_call(dice):
    return Compact().encode_turn(Message("assistant", "", (ToolCall("add", {"x": "34"}),)), [dice.ADD])


def test_calls_beyond_the_budget_are_not_executed(dice):
    """Two of three fit: the second turn's first call is answered, its second is not, and the attempt is over."""
    rules = Rules(budget=Budget(calls=2))
    found, _ = played(dice, rules, one_call(dice), two_calls(dice))
    assert found.ending == Ending("truncated", "budget")
    assert [len(turn.parsed.calls) for turn in found.turns] == [1, 2]
    assert [len(turn.replies) for turn in found.turns] == [1, 1]
    assert found.env == {"sums": [0, 2, 3]} and found.messages[-1].call_id == "t1c0"


def test_a_turn_without_calls_is_allowed_after_the_last_call(dice):
    rules = Rules(budget=Budget(calls=1))
    assert played(dice, rules, one_call(dice), BYE)[0].ending == Ending("completed")
    found, _ = played(dice, rules, one_call(dice), one_call(dice))
    assert found.ending == Ending("truncated", "budget") and not found.turns[1].replies
    assert len(dice.Counter.made[0].asked) == 1, "the environment does not hear of a turn none of whose calls fit"
    found, _ = played(dice, Rules(budget=Budget(calls=0)), one_call(dice))
    assert found.ending == Ending("truncated", "budget") and found.env == {"sums": [0]}


def test_an_environment_done_before_the_cut_calls_decides_the_ending(dice):
    for ending in (None, Ending("infra_error", "it died")):

        def act(name, request, ending=ending):
            return EnvReply(done=True, ending=ending)

        found, _ = played(dice, Rules(budget=Budget(calls=1)), two_calls(dice), act=act)
        assert found.ending == (ending or Ending("completed"))


def test_seconds_and_cost_are_checked_before_a_turn(dice):
    """A turn with its reply takes 0.75 s and costs 3."""
    for budget, turns in (
        (Budget(seconds=0.75), 1),
        (Budget(seconds=0.76), 2),
        (Budget(cost=3.0), 1),
        (Budget(cost=6.5), 3),
    ):
        found, _ = played(dice, Rules(budget=budget), *[one_call(dice)] * 4)
        assert len(found.turns) == turns and found.ending == Ending("truncated", "budget")
    assert played(dice, Rules(budget=Budget(seconds=0.1)), BYE)[0].ending == Ending("completed")


def test_remaining_budget_is_shown_and_never_trained(dice):
    rules = Rules(max_turns=3, budget=Budget(tokens=60, calls=2, seconds=9, cost=20), tell_budget=True)
    line = one_call(dice)
    found, script = played(dice, rules, line, line, BYE)
    told = [m for m in found.messages if m.name == SPEAKER]
    left = 60 - len(line)
    assert [m.content for m in told] == [
        f"You have left: 2 turns, {left} tokens, 1 call, 8.2 seconds, a cost of 17.",
        f"You have left: 1 turn, {left - len(line)} tokens, 0 calls, 7.5 seconds, a cost of 14.",
    ]
    assert [m.role for m in found.messages] == [
        *("user", "assistant", "tool", "user", "assistant", "tool", "user", "assistant")
    ]
    (sequence,) = found.sequences
    assert "You have left: 1 turn" in Compact().decode(script.asked[2].ids)
    at = Compact().decode(sequence.ids[~sequence.mask])
    assert at.count("You have left") == 2 and sequence.mask.sum() == 2 * len(line) + len(BYE)
    assert [call.id for call in found.calls] == [reply.call_id for reply in found.replies]


def test_remaining_budget_has_custom_text_and_is_not_shown_after_the_last_turn(dice):
    seen = []
    rules = Rules(max_turns=2, tell_budget=lambda left: seen.append(left) or "hurry")
    found, _ = played(dice, rules, one_call(dice), one_call(dice))
    assert seen == [Remaining(1)] and found.ending == Ending("truncated", "turns")
    assert [m.content for m in found.messages if m.name == SPEAKER] == ["hurry"]


# --- stops -----------------------------------------------------------------------------------------------------


def partial(ids):
    return Partial(list(ids), [-0.5] * len(ids), [-0.5] * len(ids), [4] * len(ids))


def test_a_stopped_turn_is_recorded_without_executing_its_calls(dice):
    line = one_call(dice)
    for cut in range(1, len(line)):
        found, _ = played(dice, Rules(), line, Stopped(partial(line[:cut])))
        assert found.ending == STOPPED and [t.finish for t in found.turns] == ["stop", "length"]
        assert found.turns[1].stop - found.turns[1].start == cut and not found.turns[1].replies
        assert found.sequences[0].version[-1] == 4 and found.env == {"sums": [0, 2]}
        assert [env.closed for env in dice.Counter.made] == [1]


@pytest.mark.parametrize("nothing", [None, Partial([], [], [], [])])
def test_a_turn_stopped_before_its_first_token_is_not_recorded(dice, nothing):
    found, _ = played(dice, Rules(), one_call(dice), Stopped(nothing))
    assert found.ending == STOPPED and len(found.turns) == 1 and found.messages[-1].role == "tool"


def test_a_stop_during_a_tool_call_keeps_the_turn(dice):
    """What it would report then is not its final state, so it is not asked."""

    def act(name, request):
        raise Stopped

    found, _ = played(dice, Rules(), one_call(dice), act=act)
    assert found.ending == STOPPED and len(found.turns) == 1 and not found.replies and found.env == {}
    assert [env.closed for env in dice.Counter.made] == [1]


def test_a_stop_during_setup_records_no_turn(dice):
    """Nobody waits for the work any more; where it is done all the same, it closes what it made."""
    dropped = []

    def work(name, request):
        dropped.append(request)
        raise Stopped

    found, _ = played(dice, Rules(), work=work)
    assert found.ending == STOPPED and found.turns == () and len(dropped) == 1
    with pytest.raises(RuntimeError, match="is over"):
        dropped[0].call()
    assert dice.Counter.made == []


def test_a_stop_during_closing_keeps_the_ending(dice):
    """Whether the work that was dropped has been done or not, the report is there and the environment closed once."""
    for done in (True, False):
        count = []

        def work(name, request, done=done, count=count):
            count.append(request)
            if len(count) == 2:
                if done:
                    request.call()
                raise Stopped
            return request.call()

        found, _ = played(dice, Rules(), BYE, work=work)
        assert found.ending == Ending("completed") and found.env == {"sums": [0]} and len(count) == 3
        assert [env.closed for env in dice.Counter.made] == [1]


def test_a_stop_during_a_snapshot_keeps_the_turn(dice):
    count = []

    def work(name, request):
        count.append(request)
        if len(count) == 2:
            raise Stopped
        return request.call()

    found, _ = played(dice, Rules(snapshots=True), one_call(dice), work=work)
    assert found.ending == STOPPED and len(found.turns) == 1 and len(found.replies) == 1
    assert [env.closed for env in dice.Counter.made] == [1]


# --- environments that die -------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["__init__", "start", "report", "snapshot"])
def test_a_failing_environment_ends_its_rollout(dice, where):
    def die(self, *arguments):
        raise OSError("no sandbox left")

    Fragile = type("Fragile", (dice.Counter,), {where: die})
    found, script = played(dice, Rules(snapshots=True), one_call(dice), BYE, env=Fragile)
    assert found.ending == Ending("infra_error", "OSError: no sandbox left")
    assert len(script.asked) == {"report": 2}.get(where, 0)
    assert [env.closed for env in dice.Counter.made] == ([1] if where != "__init__" else [])


def test_a_later_snapshot_failure_ends_the_rollout(dice):
    class Fragile(dice.Counter):
        def snapshot(self):
            if len(self.sums) > 1:
                raise OSError("disk full")
            return super().snapshot()

    found, _ = played(dice, Rules(snapshots=True), one_call(dice), env=Fragile)
    assert found.ending == Ending("infra_error", "OSError: disk full") and len(found.replies) == 1


def test_a_failing_external_policy_ends_the_rollout(dice):
    found, _ = played(dice, Rules(), one_call(dice), InfrastructureError("the server is gone"))
    assert found.ending == Ending("infra_error", "InfrastructureError: the server is gone")
    assert len(found.turns) == 1 and [env.closed for env in dice.Counter.made] == [1]


def test_the_first_of_two_failures_decides_the_ending(dice):
    class Fragile(dice.Counter):
        def report(self):
            raise OSError("and no report")

    def act(name, request):
        return EnvReply(done=True, ending=Ending("infra_error", "it died"))

    found, _ = played(dice, Rules(), one_call(dice), act=act, env=Fragile)
    assert found.ending == Ending("infra_error", "it died")
    found, _ = played(dice, Rules(), Stopped(), env=Fragile)
    assert found.ending == STOPPED


def test_input_errors_are_raised_after_closing(dice):
    class Picky(dice.Counter):
        def start(self):
            raise InputError("it offers a tool that is not there")

    with pytest.raises(InputError, match="not there"):
        played(dice, Rules(), env=Picky)
    assert [env.closed for env in dice.Counter.made] == [1]

    class Refusing(Compact):
        def start(self, messages, tools):
            raise InputError("the template refuses")

    with pytest.raises(InputError, match="refuses"):
        played(dice, Rules(), format=Refusing())
    assert [env.closed for env in dice.Counter.made] == [1]


def test_a_plan_that_is_closed_closes_its_environment(dice):
    for steps in range(1, 4):
        dice.Counter.made.clear()
        plan, answer = Play(dice.attempt(), Rules()).plan(), None
        for _ in range(steps):
            request = plan.send(answer)
            if isinstance(request, Work):
                answer = request.call()
            elif not isinstance(request, Act):
                answer = said(one_call(dice))
        plan.close()
        assert [env.closed for env in dice.Counter.made] == [1]


# --- of one's own ----------------------------------------------------------------------------------------------


def test_a_strategy_can_work_between_turns(dice):
    play, looked = Play(dice.attempt(max_tokens=64), Rules()), []

    def turns():
        while (ending := (yield from play.turn())) is None:
            looked.append((len(play.turns), len(play.messages), (yield Work(lambda: "done"))))
            if len(looked) == 2:
                return Ending("completed", "enough")
        return ending

    (found,) = run_plan((lambda: (yield from wrapped(play, turns())))(), sample=Script(*[one_call(dice)] * 3))
    assert looked == [(1, 3, "done"), (2, 5, "done")] and found.ending == Ending("completed", "enough")
    assert found.env == {"sums": [0, 2, 4]} and play.done


def wrapped(play, turns):
    return [(yield from play.run(turns))]


def test_requests_to_an_engine_are_not_changed_later(dice):
    _, script = played(dice, Rules(), one_call(dice), BYE)
    first, second = script.asked
    assert len(first.ids) < len(second.ids) and second.ids[: len(first.ids)] == first.ids
    assert second.ids[len(first.ids) :][: len(one_call(dice))] == one_call(dice)


# --- facts and notes -------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


class Dice:
    """An engine that rolls the dice of this world."""

    version, max_length, pad_id = 5, 400, 0

    def __init__(self, dice):
        self.dice, self.asked = dice, []

    def sample(self, requests):
        self.asked += requests
        return [self.dice.roll("", request) for request in requests]


@given(facts=st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=4, max_size=4), seed=st.integers(0, 99))
def test_facts_are_recorded_and_reach_no_token(dice, facts, seed):
    class Telling(dice.Counter):
        """Says the next facts with every reply."""

        def step(self, turn, *, seed):
            reply = super().step(turn, seed=seed)
            return reply._replace(facts=facts[len(self.asked) - 1])

    engine, silent = Dice(dice), Dice(dice)
    ((told,),) = run([dice.attempt(seed, env=Telling)], linear(), engine)
    ((plain,),) = run([dice.attempt(seed)], linear(), silent)
    answered = len(told.turns) - (told.turns[-1].finish != "stop")
    assert [turn.facts for turn in told.turns] == facts[:answered] + [{}] * (len(told.turns) - answered)
    assert all(turn.facts == {} for turn in plain.turns)
    assert told.messages == plain.messages and told.ending == plain.ending and engine.asked == silent.asked
    for one, other in zip(told.sequences, plain.sequences, strict=True):
        assert {name: array.tolist() for name, array in vars(one).items() if name != "features"} == {
            name: array.tolist() for name, array in vars(other).items() if name != "features"
        }


def test_notes_are_recorded_and_reach_no_token(dice):
    def noting(attempt):
        play = Play(attempt, Rules())
        play.notes["plan"] = "a secret"

        def turns():
            while True:
                play.notes.setdefault("lengths", []).append(len(play.sequences[-1].ids))
                ending = yield from play.turn()
                if ending is not None:
                    return ending

        return [(yield from play.run(turns()))]

    (noted,) = run_plan(noting(dice.attempt(3)), sample=dice.roll)
    (plain,) = run_plan(linear()(dice.attempt(3)), sample=dice.roll)
    starts = [turn.start for turn in plain.turns]
    assert noted.notes == {"plan": "a secret", "lengths": starts} and plain.notes == {}
    assert noted.messages == plain.messages
    assert [list(one.ids) for one in noted.sequences] == [list(one.ids) for one in plain.sequences]
