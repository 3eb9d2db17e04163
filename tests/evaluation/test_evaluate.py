import json
from dataclasses import replace

import pytest

from handaxe import rewards
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import STOPPED, Message, Sampling, Task, ToolCall, ToolReply, ToolSchema
from handaxe.core.requests import Completion, EnvReply
from handaxe.evaluation.comparison import compare
from handaxe.evaluation.evaluate import evaluate, summarize
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.models.chat_formats.compact import Compact
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.testing.scripted_engine import encode_reply

DOUBLE = ToolSchema("double", "Doubles.", {"type": "object", "properties": {"x": {"type": "string"}}})


class Doubling:
    """Answers a call with twice its number, fails at 13, and ends at any other turn."""

    def __init__(self, task):
        self.task = task

    def start(self):
        return self.task.messages, (DOUBLE,)

    def step(self, turn, *, seed):
        if not turn.calls:
            return EnvReply(done=True)
        call = turn.calls[0]
        if call.arguments["x"] == "13":
            raise RuntimeError("the machine died")
        text = str(2 * int(call.arguments["x"]))
        return EnvReply((Message("tool", text, call_id=call.id),), (ToolReply(call.id, call.name, text),))

    def report(self):
        return {}

    def snapshot(self):
        return None

    def restore(self, state):
        pass

    def close(self):
        pass


class Policy:
    """Calls double for odd questions and answers even ones directly; a share `luck` of direct answers is correct."""

    version = 3
    max_length = 1000
    pad_id = 0

    def __init__(self, luck=1.0):
        self.luck = luck
        self.seeds = []

    def sample(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        text = Compact().decode(request.ids)
        question = int(text.split("<USER>")[1].split("<END>")[0])
        if question % 2 and "<TOOL>" not in text:
            words = ToolCall("double", {"x": str(question)})
        else:
            self.seeds.append(request.seed)
            wrong = question % 2 == 0 and request.seed % 1000 >= 1000 * self.luck
            words = "wrong" if wrong else str(2 * question)
        ids = encode_reply(Compact(), words, [DOUBLE])
        return Completion(ids, [-0.5] * len(ids), [-0.5] * len(ids), [3] * len(ids), "stop")


def tasks_of(*numbers):
    return [Task(f"double-{n}", (Message("user", str(n)),), str(2 * n), metadata={"odd": bool(n % 2)}) for n in numbers]


def run(policy=None, *, tasks=None, **more):
    knobs = {"engine": policy or Policy(), "env": Doubling, "format": Compact(), "rollout": linear(max_turns=3)}
    knobs |= {"tasks": tasks or tasks_of(2, 3, 4, 5), "reward": exact_match(), "sampling": Sampling()}
    return evaluate(**(knobs | more))


def test_a_correct_policy_has_pass_at_1_of_one():
    found = run(breakdown=("odd",))
    assert found.metrics["pass@1"].value == 1.0
    assert 0.4 < found.metrics["pass@1"].low < 0.6
    assert found.metrics["calls"].value == 0.5
    assert found.metrics["tool_productivity"].value == 2.0
    assert found.breakdown["odd"]["True"]["calls"].value == 1.0
    assert found.breakdown["odd"]["False"]["calls"].value == 0.0
    assert found.excluded == {"infra_error": 0, "verifier_error": 0}
    assert found.settings["version"] == 3


def test_infrastructure_errors_are_counted_and_excluded():
    found = run(tasks=tasks_of(2, 13, 4))
    assert found.excluded == {"infra_error": 1, "verifier_error": 0}
    assert found.metrics["pass@1"].value == 1.0 and found.metrics["pass@1"].tasks == 2
    assert found.endings["infra_error"].value == pytest.approx(1 / 3)
    assert [one.scored for one in found.tasks] == [1, 0, 1]


def test_verifier_errors_are_counted_and_excluded():
    undecided = rewards.outcome(lambda t: None if t.task.id == "double-3" else 1.0)
    found = run(reward=undecided)
    assert found.excluded == {"infra_error": 0, "verifier_error": 1}
    assert found.metrics["pass@1"].tasks == 3


def test_no_scored_rollout_is_an_error():
    with pytest.raises(VerifierError, match="none of 1 rollouts.*the machine died"):
        run(tasks=tasks_of(13))


def test_each_sample_has_its_own_seed():
    policy = Policy(luck=0.5)
    found = run(policy, tasks=tasks_of(2, 4, 6, 8), samples=8, ks=(1, 2, 8))
    assert len(set(policy.seeds)) == 32
    assert 0 < found.metrics["pass@1"].value < 1
    assert found.metrics["pass@1"].value < found.metrics["pass@2"].value < found.metrics["pass@8"].value
    assert found.metrics["pass^8"].value < found.metrics["pass^2"].value < found.metrics["pass@1"].value


def test_the_result_is_independent_of_workers():
    def found(**more):
        return run(Policy(luck=0.5), samples=4, **more).tasks

    def but_for_the_clock(tasks):
        return [(one.id, one.correct, one.calls, one.tokens) for one in tasks]

    first = but_for_the_clock(found(workers=1))
    assert first == but_for_the_clock(found(workers=8)) == but_for_the_clock(found(lockstep=True))
    assert but_for_the_clock(found(tasks=tasks_of(5, 4, 3, 2))) == first[::-1]
    assert but_for_the_clock(found(seed=1)) != first


def test_two_evaluations_compare():
    tasks = tasks_of(*range(2, 42, 2))
    before, after = (run(Policy(luck), tasks=tasks, samples=4) for luck in (0.2, 0.8))
    found = compare(before, after).differences["pass@1"]
    assert found.verdict == "higher" and 0.3 < found.difference < 0.9
    again = Evaluation.from_json(before.to_json())
    assert compare(again, after).differences["pass@1"] == found


def test_the_result_is_json():
    body = json.loads(run(breakdown=("odd",), ks=(1,)).to_json())
    assert body["settings"]["sampling"]["temperature"] == 1.0
    assert set(body["breakdown"]["odd"]) == {"True", "False"}


@pytest.mark.parametrize(
    "more", [{"tasks": tasks_of(2, 2)}, {"samples": 0}, {"ks": (1, 2)}, {"samples": 2, "ks": (3,)}]
)
def test_wrong_arguments_are_errors(more):
    with pytest.raises(InputError):
        run(**more)
    with pytest.raises(InputError):
        evaluate(
            engine=Policy(),
            env=Doubling,
            format=Compact(),
            rollout=linear(),
            tasks=[],
            reward=exact_match(),
            sampling=Sampling(),
        )


def test_summarize_takes_scored_groups():
    scored = [
        (make_group(task=make_task(id=name), trajectories=[make_trajectory()] * 2), make_scores(outcome))
        for name, outcome in (("a", [1.0, 0.0]), ("b", [1.0, 1.0]))
    ]
    found = summarize(scored, ks=(1, 2))
    assert found.metrics["pass@1"].value == 0.75
    assert found.metrics["pass@2"].value == 1.0
    assert found.metrics["pass^2"].value == 0.5
    with pytest.raises(InputError, match="same task"):
        summarize([scored[0], scored[0]])


def test_a_rollout_of_an_evaluation_has_step_0_and_siblings():
    seen = []

    def watching(attempt):
        seen.append((attempt.task.id, attempt.step, attempt.sibling, attempt.siblings))
        return linear()(attempt)

    run(tasks=tasks_of(2, 3), rollout=watching, samples=3)
    assert seen == [(id, 0, k, 3) for id in ("double-2", "double-3") for k in range(3)]


def test_a_stopped_branch_is_no_rollout():
    def rollout(attempt):
        (one,) = yield from linear()(attempt)
        given_up = replace(one, id=f"{one.id}/given up", ending=STOPPED, messages=one.messages[:1])
        return [one, given_up]

    found = run(rollout=rollout)
    assert [one.scored for one in found.tasks] == [1] * 4 and found.metrics["pass@1"].value == 1.0
