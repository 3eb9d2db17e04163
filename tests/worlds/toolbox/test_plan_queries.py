import pytest

from handaxe.core.errors import InputError
from handaxe.worlds.toolbox.plan_queries import decompose_query, plan_queries, rewrite_query, task_verbs
from handaxe.worlds.toolbox.tool_documents import ToolDocument

VERBS = frozenset({"find", "book", "calculate", "convert"})


@pytest.mark.parametrize(
    "text, parts",
    [
        ("I am in Paris. Find a hotel, then book a taxi.", ("I am in Paris. Find a hotel", "book a taxi.")),
        ("Convert 3 and 4 miles", ("Convert 3 and 4 miles",)),
        ("What is 3 + 4? Also how far is Rome?", ("What is 3 + 4?", "Also how far is Rome?")),
        ("Find a bed and book it now", ("Find a bed", "book it now")),
        ("Find a bed and book", ("Find a bed book",)),
        ("Find a hotel in Rome. I like pools.", ("Find a hotel in Rome. I like pools.",)),
        ("nothing here", ("nothing here",)),
    ],
)
def test_requests_are_split_at_verbs_and_sentences(text, parts):
    assert decompose_query(text, VERBS) == parts


def test_words_of_politeness_are_removed():
    assert rewrite_query("Could you please find my  keys?") == "find my keys?"
    assert rewrite_query("Thanks!") == "!" and rewrite_query("please") == "please"


def test_plan_carries_out_the_chosen_steps():
    text = "Please find the area of a circle and calculate the sum of 3 and 4."
    assert plan_queries(text, VERBS).subqueries == ("find the area of a circle", "calculate the sum of 3 and 4")
    assert plan_queries(text, VERBS, rewrite=False).subqueries[0] == "Please find the area of a circle"
    assert len(plan_queries(text, VERBS, decompose=False).variations) == 1


def test_every_word_of_a_request_is_in_one_part():
    text = "Hotels are full. Find a hostel, convert 5 euros; is it far? and book a boat"
    assert " ".join(decompose_query(text, VERBS)).split().count("hostel") == 1
    words = {"Hotels", "hostel", "euros", "far?", "boat"}
    assert words <= {word.strip(",;") for part in decompose_query(text, VERBS) for word in part.split()}


def test_verbs_are_frequent_first_words_in_the_base_form():
    texts = ("Calculates the area.", "Calculate a sum.", "Finds a hotel.", "The tool.", "The other tool.")
    documents = [ToolDocument(str(k), "", text, "") for k, text in enumerate(texts)]
    assert task_verbs(documents) == {"calculate"}
    assert task_verbs(documents, least=1) == {"calculate", "find"}
    with pytest.raises(InputError, match="1 tool"):
        task_verbs(documents, least=0)
