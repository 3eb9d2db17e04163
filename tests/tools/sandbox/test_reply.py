from handaxe.tools.sandbox.reply import reply_text


def test_reply_text_gives_the_examples():
    assert reply_text("hi\n", "42") == "hi\n42"
    assert reply_text("hi", "42") == "hi\n42"
    assert reply_text("hi\n", "") == "hi"
    assert reply_text("", "42") == "42"
    assert reply_text("a\n\n", "") == "a\n"
