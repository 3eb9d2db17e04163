import json
import random

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.search_gen_v.labels import (
    FORMATS,
    LABELS,
    VerifierReply,
    has_format,
    label_words,
    read_reply,
    write_labels,
)


def test_formats_by_hand():
    two = ["support", "not_support"]
    assert {name: write_labels(two, name) for name in FORMATS} == {
        "json": '{"labels":["support","not_support"]}',
        "csv": "support,not_support",
        "python_list": "['support', 'not_support']",
        "yaml": "- support\n- not_support",
        "markdown": "* support\n* not_support",
        "xml": "<labels><label>support</label><label>not_support</label></labels>",
        "tsv": "support\tnot_support",
        "numbered": "1. support\n2. not_support",
        "comma_separated": "support, not_support",
        "pipe_separated": "support|not_support",
    }
    assert json.loads(write_labels(two, "json"))["labels"] == two
    with pytest.raises(InputError, match="pipe_separated"):
        write_labels(two, "words")


@pytest.mark.parametrize("format", FORMATS)
def test_labels_round_trip_through_every_format_and_no_other_text_has_it(format):
    rng = random.Random(0)
    for count in (1, 2, 5):
        labels = rng.choices(LABELS, k=count)
        written = write_labels(labels, format)
        assert label_words(written) == labels and has_format(f" {written}\n", labels, format)
        others = {name for name in FORMATS if has_format(written, labels, name)}
        assert others == {format} or count == 1 and len(set(labels)) == 1
        assert not has_format(f"so {written}", labels, format) and not has_format("", labels, format)


@pytest.mark.parametrize(
    "text, reply",
    [
        ("<reasoning> a </reasoning> S", VerifierReply(1, 1, "a", "S")),
        ("<reasoning></reasoning>S", VerifierReply(1, 1, "", "S")),
        ("S", VerifierReply(0, 0, None, "S")),
        ("<reasoning>S", VerifierReply(1, 0, None, "<reasoning>S")),
        ("</reasoning>S<reasoning>", VerifierReply(1, 1, None, "</reasoning>S<reasoning>")),
        ("<reasoning>a</reasoning>S<reasoning>b</reasoning>N", VerifierReply(2, 2, "a", "N")),
    ],
)
def test_replies_by_hand(text, reply):
    assert read_reply(text) == reply
