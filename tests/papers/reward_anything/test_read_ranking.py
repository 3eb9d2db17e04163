import pytest

from handaxe.papers.reward_anything.read_ranking import ParsedRanking, read_ranking

WHOLE = '{"scores": {"a": 1, "b": 4}, "best-to-worst": ["b", "a"]}'
READ = ParsedRanking({"a": 1.0, "b": 4.0}, ("b", "a"), True, False)


@pytest.mark.parametrize(
    "text, found",
    [
        (f"<think>b</think>{WHOLE}", READ),
        (f"<think>{{}}\n</think>\n```json\n{WHOLE}\n```", READ),
        (f"so: {WHOLE} done", READ._replace(searched=True)),
        ('{"scores": {"a": 2}}', ParsedRanking({"a": 2.0}, None, True, False)),
        ('{"best-to-worst": ["a", 3]}', ParsedRanking(None, ("a",), True, False)),
        ('{"scores": [1, 2], "best-to-worst": "a"}', ParsedRanking({}, None, True, False)),
        ('{"scores": {"a": NaN, "b": 1e999, "c": true, "d": "5", "e": null}}', ParsedRanking({}, None, True, False)),
        (f'{{"scores": {{"a": {"9" * 400}}}}}', ParsedRanking({}, None, True, False)),
    ],
)
def test_replies_by_hand(text, found):
    assert read_ranking(text) == found


@pytest.mark.parametrize(
    "text", ["", "b is best", "{", "}{", "{'scores': 1}", "[1]", "{}", "[" * 100_000, "<think>" * 9]
)
def test_text_without_an_object_has_no_scores(text):
    assert read_ranking(text) == ParsedRanking()
