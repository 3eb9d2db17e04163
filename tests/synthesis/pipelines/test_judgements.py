"""Judging tasks of a world: real runs by rule and policy, no leak of the label, and a scripted server."""

import json
import math
import re
from collections import Counter, defaultdict
from zlib import crc32

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.cli import main
from handaxe.core.errors import InputError
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.pipelines.judgements import judgements
from handaxe.worlds.fact_chains import fact_chains
from handaxe.worlds.jsonl import jsonl

WORLD = fact_chains()
CONTEXT = PipelineContext(WORLD, "", WORLD.env(WORLD.tools), WORLD.tasks("test", 50, 0))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Question, texts and label of 200 judging tasks of the rule."""
    out = tmp_path_factory.mktemp("judgements")
    judgements(CONTEXT).run(out=out, count=200)
    found = [json.loads(line) for line in (out / "tasks.jsonl").read_text().splitlines()]
    return [(*(json.loads(line.partition(": ")[2]) for line in row["question"].splitlines()[:3]), row) for row in found]


@pytest.mark.slow
def test_two_hundred_tasks_are_read_as_a_world(rows, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for *_, row in rows))
    world = jsonl(file=str(file))
    read = [*world.tasks("train", 500, 0), *world.tasks("test", 500, 0)]
    assert len(read) == 200 and all(one.tools == () and one.answer in ("A", "B") for one in read)


def test_position_length_and_kind_tell_nothing(rows):
    """A predictor by place, and one by length, are right in one half of the cases, within four standard errors."""
    labels = [row["answer"] for *_, row in rows]
    assert abs(labels.count("A") - 100) <= 4
    longer = Counter()
    for _, first, second, row in rows:
        right, wrong = (first, second) if row["answer"] == "A" else (second, first)
        longer[(len(right) > len(wrong)) - (len(right) < len(wrong))] += 1
        assert not re.search("expert|corrupt|digit|ending", row["question"])
    assert longer[1] + longer[-1] >= 1 and abs(longer[1] - longer[-1]) <= 4 * math.sqrt(longer[1] + longer[-1])


def test_words_of_the_texts_alone_do_not_tell(rows):
    """Naive Bayes over words and neighbours of one text, fitted on the first half, is at chance on the second half."""

    def features(text):
        words = re.findall(r"\w+|[^\w\s]", text)
        return {*words, *zip(words, words[1:]), len(words), len(text.splitlines()[-1])}

    counts, pairs = defaultdict(lambda: [1, 1]), []
    for _, first, second, row in rows:
        pairs.append((first, second) if row["answer"] == "A" else (second, first))
    for right, wrong in pairs[:100]:
        for one in features(right):
            counts[one][0] += 1
        for one in features(wrong):
            counts[one][1] += 1

    def score(text):
        return sum(math.log(counts[one][0] / counts[one][1]) for one in features(text) if one in counts)

    hits = sum(
        0.5 + 0.5 * ((score(right) > score(wrong)) - (score(right) < score(wrong))) for right, wrong in pairs[100:]
    )
    assert hits <= 50 + 4 * 5


@pytest.mark.slow
def test_a_policy_plays_both_texts(tmp_path):
    words = ["--world", "fact_chains", "--policy", "tiny", "--samples", "2", "--batch", "4", "--rounds", "1"]
    assert main(["synthesize", "judgements", *words, "--tests", "20", "--out", str(tmp_path), "--quiet"]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    step = next(one for one in card["steps"] if one["name"] == "sample_groups")
    assert step["in"] == 4 and step["reasons"] == {"one label alone": 4}, "an untrained policy is never correct"


def test_a_server_judges_and_a_second_run_asks_nothing(tmp_path, capsys):
    """The server says A or B by a digest of the task, so that about half of the pairs are dropped."""

    def answer(body):
        assert "Reply with a JSON object with the keys rationale and" in body["messages"][-1]["content"]
        task = body["messages"][-1]["content"].splitlines()[1]
        return reply(json.dumps({"rationale": "I checked both.", "verdict": "AB"[crc32(task.encode()) % 2]}))

    with ChatServer(answer) as server:
        words = ["--world", "fact_chains", "--proposer", f"{server.url}#m", "--count", "12", "--batch", "48"]
        words += ["--tests", "20", "--out", str(tmp_path), "--quiet"]
        assert main(["synthesize", "judgements", *words]) == 0
        asked = len(server.bodies)
        assert main(["synthesize", "judgements", *words]) == 0
        assert len(server.bodies) == asked
    assert "another verdict" in capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    assert len(rows) == 12 and all(row["rationale"] == "I checked both." for row in rows)
    assert {row["answer"] for row in rows} == {"A", "B"}


def test_a_server_that_prefers_the_first_place_makes_no_task(tmp_path, capsys):
    with ChatServer(lambda body: reply(json.dumps({"rationale": "I checked both.", "verdict": "A"}))) as server:
        words = ["--world", "fact_chains", "--proposer", f"{server.url}#m", "--count", "12", "--batch", "24"]
        words += ["--rounds", "1", "--tests", "20", "--out", str(tmp_path), "--quiet"]
        assert main(["synthesize", "judgements", *words]) == 0
    assert "verdicts would tell" in capsys.readouterr().out
    assert (tmp_path / "tasks.jsonl").read_text() == ""


def test_a_server_corrupts(tmp_path):
    def answer(body):
        last = json.loads(re.search(r"^Its last turn: (.*)$", body["messages"][-1]["content"], re.MULTILINE)[1])
        return reply(json.dumps({"text": str(int(last) + 1)}))

    with ChatServer(answer) as server:
        words = ["--world", "fact_chains", "--proposer", f"{server.url}#m", "--writes", "labels", "--count", "12"]
        words += ["--batch", "24", "--tests", "20", "--out", str(tmp_path), "--quiet"]
        assert main(["synthesize", "judgements", *words]) == 0
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["cost"]["corruptor"]["asks"] == 24 and card["tasks"] == 12


@pytest.mark.slow
def test_steps_are_labelled_by_rule_and_their_place_tells_nothing(tmp_path):
    judgements(CONTEXT, of="steps").run(out=tmp_path, count=60)
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    turns = Counter((row["question"].count("assistant: "), row["answer"]) for row in rows)
    assert len(rows) == 60 and min(turns[1, "yes"], turns[1, "no"]) >= 10
    for turn in {turn for turn, _ in turns}:
        yes, no = turns[turn, "yes"], turns[turn, "no"]
        assert abs(yes - no) <= 4 * math.sqrt(yes + no)


def test_a_policy_beside_a_model_that_rewrites_is_refused():
    with pytest.raises(InputError, match="a model rewrites none"):
        judgements(CONTEXT._replace(policy=object(), desk=object()), writes="labels")
