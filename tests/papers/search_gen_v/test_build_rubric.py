import re

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.search_gen_v.build_rubric import build_rubric
from handaxe.worlds.hops.knowledge_base import build_facts, fact_documents, tasks

KNOWN = build_facts(seed=0, size=40, distractors=1)
PASSAGES = [one["text"] for one in fact_documents(KNOWN, brief=False)]
FACT = re.compile(r"The (\w+) of (\w+) is (\w+)\.")


def retrieve(query):
    """The passages with the most words of the query; all but one are beside the point."""
    wanted = set(query.split())
    return sorted(PASSAGES, key=lambda text: -len(wanted & set(re.findall(r"\w+", text))))[:8]


def extract(query, passage):
    relation, name, _ = FACT.fullmatch(passage).groups()
    return [passage] if query == f"{relation} of {name}" else []


def rewrite(question, found):
    """The innermost relation whose answer is not known yet."""
    known = {match[:2]: match[2] for match in (FACT.fullmatch(text).groups() for text in found)}
    relations, name = re.findall(r"the (\w+) of", question)[::-1], re.search(r"(\w+)\?", question)[1]
    for relation in relations:
        if (relation, name) not in known:
            return [f"{relation} of {name}"]
        name = known[relation, name]
    return []


@pytest.mark.parametrize(
    "task", tasks(KNOWN, key=(0,), count=8, seed=0, split="train", hops=(1, 2, 3), brief=False), ids=lambda one: one.id
)
def test_the_rubric_of_a_question_holds_the_facts_of_its_chain(task):
    """Each later query uses an earlier nugget: one query cannot find the facts of a chain."""
    rubric = build_rubric(task.messages[0].content, rewrite=rewrite, retrieve=retrieve, extract=extract)
    found = [FACT.fullmatch(one).groups() for one in rubric]
    assert [f"{name} {relation}" for relation, name, _ in found] == task.metadata["gold_documents"]
    assert [answer for *_, answer in found] == task.metadata["gold_answers"]
    short = build_rubric(task.messages[0].content, rewrite=rewrite, retrieve=retrieve, extract=extract, rounds=1)
    assert short == rubric[:1]


def test_no_query_is_asked_twice_and_equal_nuggets_are_merged():
    asked = []

    def search(query):
        asked.append(query)
        return ["x", "y", "x"]

    found = build_rubric("q", rewrite=lambda q, n: ["a", "b", "a"], retrieve=search, extract=lambda q, text: [text])
    assert found == ("x", "y") and asked == ["a", "b"]
    with pytest.raises(InputError, match="1 or more"):
        build_rubric("q", rewrite=lambda q, n: [], retrieve=search, extract=lambda q, text: [], rounds=0)
