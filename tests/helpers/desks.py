"""Desks of answerers that a test scripts."""

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk

__all__ = ["Scripted", "scripted_desk"]


class Scripted:
    """Answers the n-th question with the n-th text, further questions with the last; a FAILURE after "!" fails.

    `asks` are the questions so far. A function of a question may stand for a text.
    """

    def __init__(self, *texts, terse=False):
        self.texts, self.terse, self.asks = list(texts), terse, []

    def fingerprint(self):
        return "scripted"

    def answer(self, asks):
        return [self._one(ask) for ask in asks]

    def _one(self, ask):
        found = self.texts[min(len(self.asks), len(self.texts) - 1)]
        self.asks.append(ask)
        text = found(ask) if callable(found) else found
        return AskAnswer(failure=text[1:], by="scripted") if text.startswith("!") else AskAnswer(text, by="scripted")


def scripted_desk(*texts, **options):
    """The desk of `Scripted`, one try a question; `desk.answerer.asks` are its questions."""
    return AskDesk(Scripted(*texts, **options), tries=1)
