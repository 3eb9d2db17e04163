import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ParsedTurn, Sampling, ToolCall
from handaxe.core.requests import AuxChat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.router_r1.described_experts import ALL, KNOWN, UNSEEN, described_experts, expert_answer
from handaxe.testing.tools import check_env
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = described_experts()
TRAIN, TEST = (WORLD.tasks(split, 300, 0) for split in ("train", "test"))


def test_described_experts_keeps_the_contracts():
    check_world(WORLD, count=30)
    check_env(WORLD.env(()), TRAIN[0])


@pytest.mark.parametrize(
    "skills, question, text",
    [
        ("*r", "12*34", "408"),
        ("+", "12*34", "unknown"),
        ("+-", " 12 - 34 ", "-22"),
        ("r", "1230r", "0321"),
        ("*", "1230r", "unknown"),
        (ALL, "12r34", "unknown"),
        (ALL, "12*", "unknown"),
        (ALL, "__import__('os')", "unknown"),
    ],
)
def test_a_program_answers_its_topics_alone(skills, question, text):
    assert expert_answer(skills, question) == text


def test_the_prompt_describes_one_generalist_one_able_and_one_unable_specialist():
    for task in (*TRAIN, *TEST):
        skills, prices, topic = (task.metadata[key] for key in ("skills", "prices", "topic"))
        words = {name: "all" + name if own == ALL else name.join([*own, ""]) for name, own in skills.items()}
        shown = " ".join(f"{words[name]} {prices[name]}" for name in "abc")
        assert task.messages[0].content == f"{task.metadata['question']}? {shown}"
        kinds = sorted((own == ALL, topic in own) for own in skills.values())
        assert kinds == [(False, False), (False, True), (True, True)]
        assert max(prices, key=prices.get) == next(name for name, own in skills.items() if own == ALL)


def test_unseen_experts_are_in_half_of_the_test_tasks_and_in_no_training_task():
    assert {own for task in TRAIN for own in task.metadata["skills"].values()} == {ALL, *KNOWN}
    unseen = [task.metadata["skills"][task.metadata["specialist"]] in UNSEEN for task in TEST]
    assert [task.metadata["unseen"] == "yes" for task in TEST] == unseen
    assert 0.4 < sum(unseen) / len(unseen) < 0.6 and not set(KNOWN) & set(UNSEEN)


def test_the_number_of_topics_does_not_tell_who_is_able():
    for task in (*TRAIN, *TEST):
        skills = task.metadata["skills"]
        assert len({len(own) for own in skills.values() if own != ALL}) == 1
    assert {len(own) for task in TRAIN for own in task.metadata["skills"].values()} == {1, 2, len(ALL)}


def test_names_and_prices_of_specialists_do_not_tell_who_is_able():
    def share(chosen):
        return sum(chosen(task) == task.metadata["specialist"] for task in TRAIN) / len(TRAIN)

    assert 0.2 < share(lambda task: "a") < 0.45
    assert 0.4 < share(lambda task: min(task.metadata["prices"], key=task.metadata["prices"].get)) < 0.6


def test_without_descriptors_prices_alone_are_stated():
    task, plain = TRAIN[0], described_experts(descriptors=False).tasks("train", 1, 0)[0]
    assert plain.messages[0].content.split()[1::2] == ["a", "b", "c"] and plain.metadata == task.metadata


def test_costs_and_gauges_follow_the_called_expert():
    for task in TRAIN[:40]:
        one = demonstrate(WORLD.env(()), task, WORLD.expert, format=Compact())
        (call,) = one.calls
        assert one.usage.cost == task.metadata["prices"][call.name] * (len(task.answer) + 1)
        is_specialist = call.name == task.metadata["specialist"]
        assert WORLD.gauges["specialist"].top(one, 1.0) == is_specialist and WORLD.gauges["able"].top(one, 1.0) == 1
        read = WORLD.gauges["read"]
        assert read.top(one, 1.0) == read.bottom(one, 1.0) == is_specialist
    chosen = [WORLD.expert(task, {"turn": 0}).calls[0].name == task.metadata["specialist"] for task in TRAIN]
    assert 0.3 < sum(chosen) / len(chosen) < 0.5
    with pytest.raises(InputError, match="careful is 2"):
        described_experts(careful=2)


def test_roles_play_the_experts_of_their_kind():
    task = TRAIN[0]
    kinds = {name: "generalist" if own == ALL else "specialist" for name, own in task.metadata["skills"].items()}
    for name, kind in kinds.items():
        env = WORLD.env(())(task)
        env.start()
        env.on_open(aux_policies={kind: AuxChat(Compact(), Sampling(max_tokens=8), 400)}, max_turns=3)
        asked = env.step(ParsedTurn("", (ToolCall(name, {"question": "1+1"}, "c"),)), seed=0)
        assert asked.aux_request.by == kind and asked.aux_request.messages == (Message("user", "1+1"),)
        reply = env.on_aux_reply(ParsedTurn("two"), seed=0).replies[0]
        assert (reply.content, reply.cost) == ("two", 4 * task.metadata["prices"][name])
        other = next(each for each in kinds if kinds[each] != kind)
        assert env.step(ParsedTurn("", (ToolCall(other, {"question": "1+1"}, "d"),)), seed=0).aux_request is None
