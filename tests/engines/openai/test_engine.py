import asyncio
import contextlib

import pytest
from helpers import chat_server as chat
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import Streams
from handaxe.core.records import Message, Sampling, Task, ToolCall, ToolSchema, check
from handaxe.core.requests import Attempt, Partial, Sample
from handaxe.engines.openai.chat_http import ChatReply, token_usage
from handaxe.engines.openai.engine import OpenAICompatible, Price
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.transcript import END, Transcript
from handaxe.papers.effective_rank.effective_rank_of import effective_rank
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator

FORMAT = Transcript()
QUESTION = Message("user", "What is 12*34?")


@pytest.fixture
def chat_server():
    """A function that starts scripted servers."""
    with contextlib.ExitStack() as stack:
        yield lambda *answers: stack.enter_context(chat.ChatServer(*answers))


@pytest.fixture
def start_engine(chat_server):
    engines = []

    def start(*answers, **options):
        server = chat_server(*answers)
        options = {"model": "m", "format": FORMAT, "backoff": 0.001, "attempts": 2, **options}
        engines.append(OpenAICompatible(server.url, **options))
        return engines[-1], server

    yield start
    for engine in engines:
        engine.close()


def request(text="?", **changes):
    ids = FORMAT.start([Message("user", text)], []).ids
    return Sample(ids, Sampling(max_tokens=9), 5, FORMAT.stop_ids, FORMAT.header_ids)._replace(**changes)


def test_sample_sends_the_request_and_reads_the_completion(start_engine):
    engine, server = start_engine(chat.reply("408"), price=Price(prompt=1.0, completion=3.0))
    sampling = Sampling(temperature=0.7, top_p=0.9, top_k=5, max_tokens=9)
    (done,) = engine.sample([request(seed=2**40 + 3, sampling=sampling)])
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "?"}],
            "stream": False,
            "temperature": 0.7,
            "top_p": 0.9,
            "max_tokens": 9,
            "top_k": 5,
            "seed": 3,
        }
    ]
    assert FORMAT.parse(done.ids, []).text == "408" and done.ids[-1] == END and done.finish == "stop"
    assert done.logp == done.behaviour_logp == [0.0] * len(done.ids) and done.version == [0] * len(done.ids)
    assert done.cost == pytest.approx((10 * 1.0 + 20 * 3.0) / 1e6) and done.seconds > 0


def test_options_change_the_body(start_engine):
    engine, server = start_engine(
        chat.reply(""), send_seed=False, max_tokens_field="max_completion_tokens", extra={"top_p": 1, "user": "u"}
    )
    engine.sample([request()])
    assert set(server.bodies[0]) == {
        "model", "messages", "stream", "temperature", "top_p", "max_completion_tokens", "user"
    }  # fmt: skip


def test_completions_are_in_order_and_concurrency_is_bounded(start_engine):
    def echo(body):
        return chat.reply(body["messages"][0]["content"])

    engine, server = start_engine(echo, concurrency=3)
    done = engine.sample([request(str(k)) for k in range(20)])
    assert [FORMAT.parse(one.ids, []).text for one in done] == [str(k) for k in range(20)]
    assert 1 <= server.max_running <= 3
    assert engine.sample([]) == []


def test_truncated_answer_finishes_by_length(start_engine):
    engine, _ = start_engine(chat.reply("40", finish="length"), chat.reply("", [("add", '{"a"')], finish="length"))
    first, second = engine.sample([request()])[0], engine.sample([request()])[0]
    assert first.finish == second.finish == "length" and END not in first.ids + second.ids


def test_turn_with_calls_at_the_token_limit_counts_as_truncated(start_engine):
    truncated, complete = [("add", '{"a": 1')], [("add", '{"a": 1}')]
    for usage, calls, finish in [((1, 9), truncated, "length"), ((1, 8), complete, "stop"), ((9, 9), (), "stop")]:
        engine, _ = start_engine(chat.reply("", calls, finish="tool_calls" if calls else "stop", usage=usage))
        (done,) = engine.sample([request()])
        assert done.finish == finish and (END in done.ids) == (finish == "stop")


def test_conversation_above_the_context_finishes_by_length(start_engine):
    engine, _ = start_engine((400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}))
    (done,) = engine.sample([request()])
    assert done.finish == "length" and FORMAT.parse(done.ids, []).text == "" and done.cost == 0


def test_refused_request_raises_input_error_with_the_servers_message(start_engine):
    engine, _ = start_engine((404, {"error": "no model m"}), key="sk-secret")
    with pytest.raises(InputError, match="HTTP 404.*no model m") as error:
        engine.sample([request()])
    assert "sk-secret" not in str(error.value) + repr(engine) + str(vars(engine))


def test_errors_of_invalid_answers_hide_the_key(start_engine):
    key = "sk-0123456789"
    for answer in ({"your key": key}, {"choices": [{"message": {"content": [key]}}]}):
        engine, _ = start_engine((200, answer), key=key)
        with pytest.raises(InfrastructureError, match=r"\*\*\*") as error:
            engine.sample([request()])
        assert key not in str(error.value)


def test_failed_request_does_not_affect_other_requests(start_engine):
    def fail_one(body):
        return (500, {}) if body["messages"][0]["content"] == "1" else chat.reply("fine")

    engine, _ = start_engine(fail_one)
    assert isinstance(engine, Streams)
    stream = engine.stream()
    tickets = [stream.submit(request(str(k))) for k in range(3)]
    results = {}
    while len(stream):
        results |= dict(stream.poll(10.0))
    assert sorted(results) == tickets == [0, 1, 2]
    assert isinstance(results[1], InfrastructureError) and "HTTP 500" in str(results[1])
    assert [FORMAT.parse(results[k].ids, []).text for k in (0, 2)] == ["fine", "fine"]
    with pytest.raises(InfrastructureError, match="HTTP 500"):
        engine.sample([request(str(k)) for k in range(3)])


def test_stream_waits_for_the_first_and_drops_interrupted_requests(start_engine):
    engine, server = start_engine(
        lambda body: "hang" if body["messages"][0]["content"] == "slow" else chat.reply("fast")
    )
    stream = engine.stream()
    assert stream.poll(0.0) == [] and len(stream) == 0
    slow, fast = stream.submit(request("slow")), stream.submit(request("fast"))
    assert [ticket for ticket, _ in stream.poll(30.0)] == [fast] and len(stream) == 1
    assert stream.poll(0.0) == []
    assert stream.interrupt(slow) == Partial([], [], [], []) and len(stream) == 0
    stream.submit(request("slow"))
    stream.close()
    assert len(stream) == 0


def test_invalid_requests_raise_before_any_is_sent(start_engine):
    engine, server = start_engine(chat.reply(""))
    for invalid, message in [
        (request(ids=[1, 2]), "TURN"),
        (request(ids=[]), "TURN"),
        (request(prefix=Partial([1], [0.0], [0.0], [0])), "cannot continue a partial turn"),
        (request(sampling=Sampling(max_tokens=0)), "max_tokens"),
    ]:
        with pytest.raises(InputError, match=message):
            engine.sample([request(), invalid])
    assert server.bodies == [], "no request is sent, and paid for, if one of them is invalid"
    assert engine.sample([request(prefix=Partial([], [], [], []))])[0].finish == "stop"


def test_training_and_measuring_raise(start_engine, tmp_path):
    engine, _ = start_engine(chat.reply(""))
    for train in (lambda: engine.forward(None), lambda: engine.forward_backward(None, None)):
        with pytest.raises(InputError, match="only samples"):
            train()
    with pytest.raises(InputError, match="cannot measure logp, effective_rank"):
        engine.forward(None, names=("logp", effective_rank()))
    with pytest.raises(InputError, match="only samples"):
        engine.optim_step(learning_rate=1.0)
    engine.save(tmp_path)
    engine.load(tmp_path)


def test_invalid_options_raise(monkeypatch):
    good = {"model": "m", "format": FORMAT}
    for invalid in ({"concurrency": 0}, {"attempts": 0}, {"timeout": 0}, {"backoff": -1}):
        with pytest.raises(InputError, match="must be"):
            OpenAICompatible("http://127.0.0.1:1/v1", **good, **invalid)
    for url in ("127.0.0.1:8000", "http://127.0.0.1:port/v1"):
        with pytest.raises(InputError, match="no server address"):
            OpenAICompatible(url, **good)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(InputError, match="NO_SUCH_KEY is not set"):
        OpenAICompatible("http://127.0.0.1:1/v1", **good, key_env="NO_SUCH_KEY")


def test_key_env_reads_the_key_from_the_environment(start_engine, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-from-env")
    engine, server = start_engine(chat.reply(""), key_env="SOME_KEY")
    engine.sample([request()])
    assert server.headers[0]["authorization"] == "Bearer sk-from-env"


def test_ask_returns_one_reply_without_a_rollout(start_engine):
    look_up = ToolSchema("look_up", "Look up.", {"type": "object"})
    engine, server = start_engine(chat.reply("Flint.", [("look_up", '{"word": "burin"}'), ("look_up", "oops")]))
    reply = engine.ask([Message("system", "Be brief."), QUESTION], tools=[look_up])
    assert reply.text == "Flint." and reply.calls == (ToolCall("look_up", {"word": "burin"}, "c0"),)
    assert "not JSON" in reply.errors[0]
    assert [m["role"] for m in server.bodies[0]["messages"]] == ["system", "user"]
    assert server.bodies[0]["tools"][0]["function"]["name"] == "look_up"


def test_ask_async_raises_the_errors_of_ask(start_engine):
    engine, _ = start_engine(chat.reply("Flint."), (500, {}))
    assert asyncio.run(engine.ask_async([QUESTION])).text == "Flint."
    with pytest.raises(InfrastructureError, match="HTTP 500"):
        asyncio.run(engine.ask_async([QUESTION]))
    with pytest.raises(InfrastructureError, match="HTTP 500"):
        engine.ask([QUESTION])


YES_NO = {"yes": ("yes",), "no": ("no",)}


def labelled(body):
    """An answer with the alternatives yes and no where they are requested."""
    if "logprobs" not in body:
        return chat.reply("no", usage=(10, 2))
    status, answer = chat.reply("yes", usage=(10, 1), finish="length")
    top = [{"token": "yes", "logprob": -0.5}, {"token": "no", "logprob": -1.5}]
    answer["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return status, answer


def test_label_logps_request_one_token_with_its_alternatives(start_engine):
    options = {"extra": {"user": "u", "temperature": 0.3}, "price": Price(1.0, 3.0)}
    engine, server = start_engine(labelled, max_tokens_field="max_completion_tokens", **options)
    (found,) = engine.label_logps([[Message("system", "Judge."), QUESTION]], YES_NO)
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": QUESTION.content}],
            "stream": False,
            "temperature": 1.0,
            "top_p": 1.0,
            "max_completion_tokens": 1,
            "seed": 0,
            "user": "u",
            "logprobs": True,
            "top_logprobs": 20,
        }
    ]
    assert found.logp == {"yes": pytest.approx(-0.5), "no": pytest.approx(-1.5)} and not found.failure
    assert (found.read, found.written) == (10, 1) and found.seconds > 0
    assert found.cost == pytest.approx((10 * 1.0 + 1 * 3.0) / 1e6)


def test_label_logps_are_in_order_and_concurrency_is_bounded(start_engine):
    def echo(body):
        status, answer = labelled(body)
        number = float(body["messages"][0]["content"])
        answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"][0]["logprob"] = -0.5 - number
        return status, answer

    engine, server = start_engine(echo, concurrency=3)
    found = engine.label_logps([[Message("user", str(k))] for k in range(20)], YES_NO)
    assert [one.logp["yes"] for one in found] == pytest.approx([-0.5 - k for k in range(20)])
    assert 1 <= server.max_running <= 3 and engine.label_logps([], YES_NO) == []


def test_label_logps_raise_for_a_refused_key_and_hide_it(start_engine):
    engine, _ = start_engine((401, {"error": "no key sk-0123456789"}), key="sk-0123456789")
    with pytest.raises(InputError, match=r"HTTP 401.*\*\*\*") as error:
        engine.label_logps([[QUESTION]] * 3, YES_NO)
    assert "sk-0123456789" not in str(error.value)


def play(engine, samples=1, turns=4):
    attempts = [
        Attempt(Task("t", (QUESTION,)), tool_chat([calculator]), FORMAT, Sampling(), f"a{k}", k, k, engine.max_length)
        for k in range(samples)
    ]
    return [trajectories[0] for trajectories in driver.run(attempts, linear(max_turns=turns), engine)]


def test_rollout_with_a_valid_and_a_malformed_call(start_engine):
    def policy(body):
        results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        if not results:
            return chat.reply(None, [("calculator", '{"expression": "12*34"}'), ("calculator", "{oops")], "tool_calls")
        return chat.reply(f"It is {results[0]}; {results[1]}")

    engine, server = start_engine(policy)
    for trajectory in play(engine, samples=3):
        check(trajectory)
        assert trajectory.ending.kind == "completed"
        assert trajectory.final_text.startswith("It is 408; malformed call: the arguments of 'calculator' are not JSON")
        assert [reply.content for reply in trajectory.replies] == ["408"]
    assert all(m["tool_call_id"] for body in server.bodies for m in body["messages"] if m["role"] == "tool")


def test_failed_request_ends_its_rollout_as_infra_error(start_engine):
    def fail_odd_seeds(body):
        return (503, {}) if body["seed"] % 2 else chat.reply("408")

    engine, server = start_engine(fail_odd_seeds)
    played = play(engine, samples=6)
    kinds = [trajectory.ending.kind for trajectory in played]
    assert set(kinds) == {"completed", "infra_error"}
    for trajectory in played:
        check(trajectory)


KEYS = ["function", "name", "arguments", "message", "content", "prompt_tokens", "completion_tokens", "x"]
JSON = st.recursive(
    st.sampled_from([None, True, 0, -1, 10**400, 1e999, float("nan"), "", "a", "\ud83d", "length", "[" * 500]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=300)
@given(JSON, JSON, JSON, JSON)
def test_random_answers_parse_or_raise_infrastructure_error(calls, content, usage, other):
    format = Transcript()
    call = {"function": {"name": other, "arguments": calls}}
    for tool_calls in (calls, [call], [calls]):
        answers = [{"message": {"content": content, "tool_calls": tool_calls}, "finish_reason": other}]
        for answer in ({"choices": answers, "usage": usage}, {"choices": other}, {"choices": [other]}):
            assert all(0 <= count < 10**12 for count in token_usage(answer))
            try:
                reply = ChatReply.parse(answer)
            except InfrastructureError:
                continue
            ids = format.reply(reply.content, reply.calls, ended=reply.finish == "stop")
            assert format.parse(ids, ()).text == reply.content.encode(errors="replace").decode()
