from handaxe.core.records import Message, ToolCall
from handaxe.core.requests import Completion
from handaxe.methods.lookup import find
from handaxe.models.chat_formats.compact import CALL, END, Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.play_policies import UnmaskedTurns, play_policy
from handaxe.papers.dllm_agent.unmasking import unmask_turns
from handaxe.tools.calculator import calculator

WORLD = find("worlds", "stepwise_sums")()
TASK = next(task for task in WORLD.tasks("test", 20, 0) if task.metadata["steps"] == "1")
LIMITS = {"max_turns": 5, "max_tokens": 40}


class Script:
    """A policy with these turns; counts 3 forward passes each."""

    def __init__(self, *turns):
        self.turns = turns
        self.forwards = 0

    def __call__(self, request):
        self.forwards += 3
        ids = self.turns[request.turn]
        zeros = [0.0] * len(ids)
        return Completion(ids, zeros, zeros, [0] * len(ids), "stop")


def call(expression):
    message = Message("assistant", "", (ToolCall("calculator", {"expression": expression}),))
    return Compact().encode_turn(message, [calculator.schema])


def answer(text):
    return Compact().encode_turn(Message("assistant", text), [])


def played(turn):
    return {name: value.tolist() for name, value in play_policy(turn, WORLD, [TASK], **LIMITS).items()}


def test_repeated_and_malformed_calls_are_counted():
    expression = TASK.metadata["expression"]
    unclosed = [CALL, *b"calculator 1", END]
    found = played(Script(call(expression), call(expression), unclosed, call("1+"), answer(TASK.answer)))
    assert found == {
        "correct": [1], "turns": [5], "calls": [4], "malformed": [2], "repeats": [1], "forwards": [15],
    }  # fmt: skip


def test_without_a_counter_every_sampled_token_is_a_pass():
    turns = [call(TASK.metadata["expression"]), answer("1")]
    script = Script(*turns)
    found = played(lambda request: script(request))
    assert found["correct"] == [0] and found["forwards"] == [sum(map(len, turns))]


def test_unmasked_turns_decode_the_requested_context():
    model = Denoiser(TinyModel.new(TinyConfig(width=16, layers=1, heads=2)).module)
    turns, seen = UnmaskedTurns(model, size=4), []

    def watched(request):
        seen.append((request, turns(request)))
        return seen[-1][1]

    play_policy(watched, WORLD, [TASK], max_turns=1, max_tokens=6)
    request, completion = seen[0]
    (expected,) = unmask_turns(model, [request.ids], size=4, stop=request.stop, most=6)
    assert (completion.ids, turns.forwards) == (expected.ids, expected.forwards)
