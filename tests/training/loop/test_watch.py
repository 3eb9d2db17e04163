import pytest

from handaxe.core.errors import InfrastructureError, UnscoredError, VerifierError
from handaxe.core.records import Sampling, Scores
from handaxe.core.requests import Completion
from handaxe.models.chat_formats.compact import CALL, END
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord

CREDITED = {"steps": 5, "minibatches": 1, "sampling": Sampling(max_tokens=20)}


@pytest.fixture
def warned(world, tmp_path, capsys):
    """Trains in tmp_path / "run"; the warnings, as they were printed and as the record keeps them."""

    def run(**changes):
        out = tmp_path / "run"
        train(**world.arguments(**{**CREDITED, "credit": world.centred, "out": out, **changes}))
        printed = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
        with RunRecord.open(out) as record:
            kept = [f"warning: {event.text}" for event in record.events() if event.kind == "warning"]
            assert record.events()[-1].kind == "finished"
        assert printed == kept
        return printed

    return run


def same(world, value):
    def reward(group):
        return Scores(world.np.full(len(group), value if isinstance(value, float) else value(group)))

    return reward


class Babbles:
    """Says a call that is none."""

    def __init__(self, world):
        self.inner = world.LocalEngine(world.make_model())

    def __getattr__(self, name):
        if name in ("inner", "stream"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def sample(self, requests):
        ids = [CALL, *b"add", END]
        zeros = [0.0] * len(ids)
        return [Completion(ids, zeros, zeros, [self.version] * len(ids), "stop") for _ in requests]


def talks(world, words):
    return world.Talking(lambda request: words if isinstance(words, str) else words(request))


def test_warning_names_equal_rewards_of_1(world, warned):
    (line,) = warned(reward=same(world, 1.0), engine=talks(world, "yes"))
    assert line == (
        "warning: nothing is learned: in 3 steps, 1 to 3, every advantage was 0. All 36 rollouts scored 1: take harder "
        "tasks, or a reward that separates good rollouts"
    )


@pytest.mark.parametrize(
    ("words", "changes", "cause"),
    [
        (
            "no",
            {},
            "scored 0: none of them called a tool. A call that is never made is never rewarded: teach the tools first",
        ),
        ("no", {"sampling": Sampling(temperature=0.0)}, "sampled at temperature 0, so siblings are equal"),
        ("calls", {}, "scored 0: take easier tasks, reward partial success, or teach the policy"),
    ],
)
def test_warning_names_the_cause_of_rewards_of_0(world, warned, words, changes, cause):
    said = talks(world, "no" if words == "no" else world.calls_then_answers)
    (line,) = warned(reward=same(world, 0.0), engine=said, **changes)
    assert cause in line


def test_attempts_that_are_cut_off(world, warned):
    (line,) = warned(reward=same(world, 0.0), sampling=Sampling(max_tokens=1))
    assert "were cut at their limit of tokens: allow more tokens a turn, or teach shorter rollouts" in line


def test_malformed_calls(world, warned):
    (line,) = warned(reward=same(world, 0.0), engine=Babbles(world))
    assert "36 made a malformed call and none a good one" in line


def test_some_tasks_always_and_some_never(world, warned):
    (line,) = warned(reward=same(world, lambda group: float(group.task.id == "t0")), engine=talks(world, "yes"))
    assert "Siblings always score equally: 2 groups all scored 1, 7 all 0. Play larger groups" in line


def test_scores_that_the_credit_makes_nothing_of(world, warned):
    def nothing(group, scores):
        return world.centred(group, Scores(world.np.zeros(len(group))))

    (line,) = warned(credit=nothing)
    assert "Scores differ within groups, but the credit makes no difference of them" in line


def test_a_step_in_between_that_learns_something_begins_the_count_anew(world, warned):
    calls = []

    def reward(group):
        calls.append(group)
        values = world.np.zeros(len(group))
        values[0] = len(calls) == 7  # in the third step of three groups each
        return Scores(values)

    assert warned(reward=reward, engine=talks(world, "no")) == []


def test_a_run_that_trains_nothing_is_not_told_that_nothing_is_learned(world, warned):
    assert warned(reward=same(world, 1.0), epochs=0) == []


def test_a_failing_tool_is_told_once_and_its_share_stands_in_the_line(world, tmp_path, capsys):
    class Fails(world.Chat):
        def step(self, turn, *, seed):
            if seed % 3 == 0:
                raise InfrastructureError("no \x1b[2J index")
            return super().step(turn, seed=seed)

    said = talks(world, world.calls_then_answers)
    train(**world.arguments(env=Fails, engine=said, steps=3, out=tmp_path, progress=True))
    shown = capsys.readouterr().err
    (line,) = [line for line in shown.splitlines() if line.startswith("warning: ")]
    with RunRecord.open(tmp_path) as record:
        rows = record.metrics()
    failed = [int(row["ending/infra_error"]) for row in rows]
    first = next(k for k, count in enumerate(failed) if count)
    assert line.startswith(
        f"warning: infra_error: {failed[first]} of 12 rollouts of step {first + 1} could not be scored"
    )
    assert line.endswith("no \\x1b[2J index") and "\x1b" not in shown
    (last,) = [line for line in shown.splitlines() if line.startswith("step 3/3")]
    assert (f"infra_error {failed[-1] / 12:.0%}" in last) == bool(failed[-1]) and sum(failed) > 0


class Dead:
    """An environment whose machinery dies, from a step on."""

    def __init__(self, world, alive):
        self.world, self.alive, self.made = world, alive, 0

    def __call__(self, task):
        self.made += 1
        env = self.world.Chat(task)
        if self.made > self.alive:
            env.start = self.die
        return env

    def die(self):
        raise InfrastructureError("the index is gone")


@pytest.mark.parametrize("alive", [0, 36])
def test_a_step_of_which_nothing_can_be_scored_ends_the_run_and_so_does_its_resume(world, tmp_path, alive):
    """Twelve attempts a step: in the first step, and in the fourth, after a checkpoint at the second."""
    kept = {"out": tmp_path, "checkpoint_every": 2, "steps": 6}
    done = alive // 12
    message = (
        rf"step {done}: none of its 12 rollouts could be scored; the first ended as infra_error: .*the index is gone. "
        rf"Once that is mended, resume with the same arguments and run=RunConfig\(out='.*', resume=True\): it goes on "
        rf"{'after step 2' if done else 'from the first step, there being no checkpoint yet'}"
    )
    with pytest.raises(UnscoredError, match=message):
        train(**world.arguments(**kept, env=Dead(world, alive)))
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == list(range(done)) and record.events()[-1].kind == "failed"
        assert "the index is gone" in record.events()[-1].text
    with pytest.raises(UnscoredError, match=message):
        train(**world.arguments(**kept, env=Dead(world, 12 if done else 0), resume=True))
    whole, engine = world.make_engine(), world.make_engine()
    train(**world.arguments(**kept, engine=engine, resume=True))
    train(**world.arguments(engine=whole, steps=6))
    assert world.same(world.weights(whole), world.weights(engine)), "what failed left no trace"


def test_a_reward_that_never_decides_ends_the_run(world):
    def reward(group):
        raise VerifierError("the judge is asleep")

    with pytest.raises(UnscoredError, match="step 0: none of its 12 rollouts .* verifier_error: .*the judge is asleep"):
        train(**world.arguments(reward=reward))


def test_a_step_of_which_everything_is_left_out_on_purpose_goes_on(world):
    options = {
        "on_ending": {"truncated": "drop_group"},
        "sampling": Sampling(max_tokens=1),
        "engine": talks(world, "no"),
    }
    assert len(train(**world.arguments(**options, steps=2)).metrics) == 2
