"""Answers of local models and chat servers: labels by likelihood, seeded texts, failures that are never values."""

import math

import numpy as np
import pytest
import torch
from asking.scripted_server import LABEL_FAILURES, SCRIPTS, TOP, options_of, scripted, served, with_top
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.policy_answerer import PolicyAnswerer, place_question
from handaxe.asking.prompt import parse_prompt
from handaxe.asking.read import choice, probability
from handaxe.core.batch import Batch, Denominators
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.compact import VOCAB_SIZE, Compact
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.scripted_engine import ScriptedEngine

FORMAT, CHAT = Compact(), Transcript()
HEAD = '+++\nid = "test"\nversion = 1\ntrusted = ["task"]\nquoted = ["turn"]\n'
BODY = "+++\n{{user}}\n{{task}} {{turn}}\n"
YES_NO = 'labels = { yes = ["yes", "Yes"], no = ["no"] }\n'


def make_prompt(more=YES_NO):
    return parse_prompt(HEAD + more + BODY, source="test.md")


def ask(text="went home", *, prompt=None, task="right?", **fields):
    return Ask(prompt or make_prompt(), {"task": task, "turn": text}, **fields)


def make_engine(max_length=200, **options):
    config = TinyConfig(vocab_size=VOCAB_SIZE, width=16, layers=1, heads=2, max_length=max_length)
    model = TinyModel.new(config, seed=3)
    return LocalEngine(TinyModel(model.module.double(), pad_id=model.pad_id), **options)


@pytest.fixture(scope="module")
def local():
    return PolicyAnswerer(make_engine(), FORMAT, name="small")


def slow_logps(engine, ids, start):
    """Log-probs of the ids from `start` on, by `Engine.forward` with one row a token."""
    out = []
    for place in range(start, len(ids)):
        row = torch.tensor([ids[: place + 1]])
        mask = torch.zeros_like(row, dtype=torch.bool)
        mask[0, -1] = True
        zeros = torch.zeros(row.shape, dtype=torch.float64)
        ones = torch.ones(1, dtype=torch.float64)
        batch = Batch(
            ids_BT=row,
            attend_BT=torch.ones_like(mask),
            mask_BT=mask,
            adv_BT=zeros,
            old_logp_BT=zeros,
            behaviour_logp_BT=zeros,
            turn_BT=torch.where(mask, 0, -1),
            group_B=torch.zeros(1, dtype=torch.int64),
            rollout_B=torch.zeros(1, dtype=torch.int64),
            rollout_tokens_B=ones,
            rollout_turns_B=ones,
            temperature_B=ones,
            denominators=Denominators(1.0, 1.0, 1.0, 1.0, 1.0),
        )
        out.append(engine.forward(batch)["logp"][0, -1].item())
    return out


def slow_label(engine, messages, forms, *, ended, shared=0, prefix=""):
    """Log-likelihood of a label: the sum over its forms, one after another."""
    total = 0.0
    for form in forms:
        ids = FORMAT.start(messages, ()).ids
        turn = FORMAT.encode_turn(Message("assistant", prefix + form), ())
        turn = turn if ended else turn[:-1]
        total += math.exp(sum(slow_logps(engine, [*ids, *turn], len(ids) + shared)))
    return math.log(total)


# --- labels of local models ------------------------------------------------------------------------------------------


def test_labels_equal_a_slow_loop_over_the_forms(local):
    asks = [ask(text) for text in ("went home", "", "a longer text of the policy")]
    for one, found in zip(asks, local.answer(asks), strict=True):
        messages = one.prompt.render(one.fields)
        assert found.label_logp == {
            "yes": pytest.approx(slow_label(local.engine, messages, ("yes", "Yes"), ended=False), abs=1e-6),
            "no": pytest.approx(slow_label(local.engine, messages, ("no",), ended=False), abs=1e-6),
        }
        assert found.spent.read == len(FORMAT.start(messages, ()).ids) and found.spent.written == 0
        assert not found.failure and found.by == local.fingerprint()


def test_a_further_form_adds_its_probability(local):
    both, small, capital = (
        local.answer([ask(prompt=make_prompt(f"labels = {{ yes = {forms}, no = ['no'] }}\n"))])[0].label_logp["yes"]
        for forms in (["yes", "Yes"], ["yes"], ["Yes"])
    )
    assert both == pytest.approx(np.logaddexp(small, capital), abs=1e-9)


def test_stop_token_counts_only_where_a_form_begins_another(local):
    prompt = make_prompt('labels = { one = ["1"], ten = ["10"] }\n')
    (found,) = local.answer([ask(prompt=prompt)])
    messages = prompt.render(ask(prompt=prompt).fields)
    # "1" is shared by both, so the next token decides: the end of the turn, or a 0 and the end.
    assert found.label_logp == {
        "one": pytest.approx(slow_label(local.engine, messages, ("1",), ended=True, shared=1), abs=1e-6),
        "ten": pytest.approx(slow_label(local.engine, messages, ("10",), ended=True, shared=1), abs=1e-6),
    }


def test_prefix_begins_the_answer(local):
    prompt = make_prompt(YES_NO + 'prefix = "Verdict: "\n')
    (found,) = local.answer([ask(prompt=prompt)])
    messages, shared = prompt.render(ask(prompt=prompt).fields), len("Verdict: ")
    want = slow_label(local.engine, messages, ("no",), ended=False, shared=shared, prefix="Verdict: ")
    assert found.label_logp["no"] == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("labels", ['{ a = ["x"], b = ["x"] }', '{ a = ["x", "x"], b = ["y"] }', '{ a = ["x"] }'])
def test_labels_that_no_token_separates_raise(local, labels):
    with pytest.raises(InputError, match="no token separates the labels a"):
        local.answer([ask(prompt=make_prompt(f"labels = {labels}\n"))])


def test_long_field_is_cut_visibly_until_it_fits(local):
    long = ask("start " + "x" * 5000 + " end")
    placed = place_question(long, FORMAT, room=180)
    assert len(placed.ids) <= 180 and "characters left out" in placed.messages[0].content
    assert "start x" in placed.messages[0].content and 'x end"' in placed.messages[0].content
    (found,) = local.answer([long])
    assert not found.failure and set(found.label_logp) == {"yes", "no"} and found.spent.read <= 200 - 3


def test_long_trusted_part_fails_as_too_long_beside_answered_questions(local):
    text = make_prompt("")
    asks = [ask(), ask(task="t" * 300), ask(prompt=text, task="t" * 300), ask("another")]
    found = local.answer(asks)
    assert [one.failure for one in found] == ["", "too_long", "too_long", ""]
    assert not found[1].label_logp and not found[2].text


# --- texts of local models -------------------------------------------------------------------------------------------


def texts(count=6):
    sampling = Sampling(temperature=1.0, max_tokens=9)
    return [ask(f"turn {k}", prompt=make_prompt(""), sampling=sampling) for k in range(count)]


def test_texts_depend_on_the_question_alone(local):
    asks = texts()
    together = [one.text for one in local.answer(asks)]
    assert len(set(together)) > 1
    assert [one.text for one in local.answer(asks[::-1])] == together[::-1]
    assert [local.answer([one])[0].text for one in asks] == together
    assert [one.text for one in PolicyAnswerer(local.engine, FORMAT, name="b", rows=2).answer(asks)] == together
    mixed = local.answer([asks[0], ask(), *asks[1:]])
    assert [mixed[0].text, *(one.text for one in mixed[2:])] == together


def test_samples_of_a_question_have_seeds_of_their_own(local):
    (first,) = texts(1)
    samples = [Ask(first.prompt, first.fields, sampling=first.sampling, sample=k) for k in range(4)]
    found = [one.text for one in local.answer(samples)]
    assert len(set(found)) > 1 and found == [one.text for one in local.answer(samples)]


class Measuring(ScriptedEngine):
    """Scripted texts of an engine that could measure labels."""

    def measure(self, requests):
        raise AssertionError("no question has labels")


def test_text_has_no_control_token_at_its_end():
    answerer = PolicyAnswerer(Measuring(FORMAT, ["yes"]), FORMAT, name="script")
    (found,) = answerer.answer([ask(prompt=make_prompt(""))])
    assert found.text == "yes" and not found.failure


# --- chat servers ----------------------------------------------------------------------------------------------------


YES, NO = math.exp(-0.5) + math.exp(-2.0), math.exp(-2.5)
VALUES = {
    "label with alternatives": YES / (YES + NO),
    "label as text": 1.0,
    "refused alternatives": 0.0,
    "too many requests, then an answer": YES / (YES + NO),
    "two failures, then an answer": YES / (YES + NO),
    "label outside the alternatives": 1 / (1 + math.exp(-9.0) / (math.exp(-0.01) + math.exp(-5.0))),
}


def test_every_script_has_an_outcome():
    assert {*VALUES, *LABEL_FAILURES} == set(SCRIPTS) and not {*VALUES} & {*LABEL_FAILURES}


@pytest.mark.parametrize("name", VALUES)
def test_scripted_label_gives_a_value(name):
    with served(scripted(name)) as answerer:
        (value,) = AskDesk(answerer, min_coverage=0.0).ask([ask()], probability())
    assert value == pytest.approx(VALUES[name], abs=1e-9)


@pytest.mark.parametrize("name", LABEL_FAILURES)
def test_scripted_fault_of_a_label_is_a_failure_and_never_a_value(name):
    with served(scripted(name), **options_of(name)) as answerer:
        desk = AskDesk(answerer, min_coverage=0.0)
        (found,) = desk.ask([ask()], probability())
        (call,) = desk.take_calls()
    assert isinstance(found, NoAnswer) and found.reason == LABEL_FAILURES[name]
    assert call.value is None and not call.answer.label_logp


TEXT_FAILURES = {
    name: reason
    for name, reason in LABEL_FAILURES.items()
    if "log-probs" not in name and "alternatives" not in name and "probabilities" not in name
}


@pytest.mark.parametrize("name", TEXT_FAILURES)
def test_scripted_fault_of_a_text_is_a_failure_and_never_a_value(name):
    with served(scripted(name), **options_of(name)) as answerer:
        desk = AskDesk(answerer, tries=1)
        (found,) = desk.ask([ask(prompt=make_prompt(""))], choice(("yes", "no")))
    assert isinstance(found, NoAnswer) and found.reason == TEXT_FAILURES[name]


def test_alternatives_are_summed_and_spent_tokens_are_those_of_the_server():
    with served(scripted("label with alternatives")) as answerer:
        (found,) = answerer.answer([ask()])
    assert found.label_logp == {"yes": pytest.approx(math.log(YES)), "no": pytest.approx(math.log(NO))}
    assert (found.spent.read, found.spent.written) == (10, 1) and found.spent.seconds > 0


@pytest.mark.parametrize("name", ["label as text", "refused alternatives"])
def test_server_without_alternatives_is_asked_for_them_once(name):
    server = scripted(name)
    with served(server, concurrency=1) as answerer:
        found = answerer.answer([ask("a"), ask("b"), ask("c")])
    assert [one.text for one in found] == [{"label as text": "Yes.", "refused alternatives": "no"}[name]] * 3
    assert ["logprobs" in body for body in server.bodies] == [True, False, False, False]
    assert [body["temperature"] for body in server.bodies[1:]] == [0.0] * 3


def test_labels_that_begin_alike_are_written():
    server = ChatServer(reply("10"))
    prompt = make_prompt('labels = { one = ["1"], ten = ["10"] }\n')
    with served(server) as answerer:
        found = AskDesk(answerer).ask([ask(prompt=prompt)], choice(("1", "10")))
    assert found == ["10"] and ["logprobs" in body for body in server.bodies] == [False]


@pytest.mark.parametrize("labels", [YES_NO, ""], ids=["labels", "texts"])
def test_one_bad_question_fails_alone(labels):
    def answer(body):
        text = body["messages"][-1]["content"]
        if "broken" in text:
            return 500, {}
        return (400, {"error": "filtered"}) if "bad" in text else with_top(TOP)

    asks = [ask(text, prompt=make_prompt(labels)) for text in ("fine", "bad", "broken", "good")]
    with served(ChatServer(answer)) as answerer:
        assert [one.failure for one in answerer.answer(asks)] == ["", "refused", "unavailable", ""]


def test_refused_key_raises_for_labels_and_texts():
    with served(ChatServer((401, {"error": "wrong key"}))) as answerer:
        for prompt in (make_prompt(), make_prompt("")):
            with pytest.raises(InputError, match="HTTP 401.*wrong key"):
                answerer.answer([ask(prompt=prompt)])


def test_questions_are_asked_concurrently_and_answered_in_order():
    def answer(body):
        number = body["messages"][-1]["content"].split('"')[1]
        return with_top([("yes", -float(number)), ("no", -0.5), ("maybe", -19.0)])

    server = ChatServer(answer)
    with served(server, concurrency=3) as answerer:
        found = answerer.answer([ask(str(k)) for k in range(1, 9)])
    assert [one.label_logp["yes"] for one in found] == pytest.approx([-float(k) for k in range(1, 9)])
    assert server.max_running <= 3


def test_labels_of_the_chat_server_of_the_library_equal_those_in_process(local):
    pytest.importorskip("uvicorn")
    from helpers.chat_app import serving

    engine, question = local.engine, ask()
    request = Sample(FORMAT.start(question.prompt.render(question.fields), ()).ids, Sampling(), 0, frozenset(), top=20)
    texts = [chr(token) for token, _ in engine.sample([request])[0].top[0] if token < 127]
    first, second, third = [text for text in texts if text.isprintable() and text not in '"\\'][:3]
    labels = f'{{ yes = ["{first}", "{second}"], no = ["{third}"] }}'
    asks = [ask(prompt=make_prompt(f"labels = {labels}\n"))] * 2
    wanted = local.answer(asks)
    with serving(engine, FORMAT) as port:
        client = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=CHAT, attempts=1)
        found = PolicyAnswerer(client, CHAT, name="served").answer(asks)
        client.close()
    for one, want in zip(found, wanted, strict=True):
        assert dict(one.label_logp) == pytest.approx(dict(want.label_logp), abs=1e-6)
        assert (one.spent.read, one.spent.written) == (want.spent.read, 1)


def test_engine_of_neither_kind_writes_labels():
    engine = ScriptedEngine(FORMAT, ["Yes!"])
    found = AskDesk(PolicyAnswerer(engine, FORMAT, name="script")).ask([ask()], probability())
    assert found == [1.0]
