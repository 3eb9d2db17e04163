"""Answerers with known answers."""

import math

from handaxe.asking.ask import AskAnswer

__all__ = ["Says", "failing"]


class Says:
    """Answers P(yes) of the first word that stands in the text of a field; 0.1 without one. Counts questions."""

    terse = True

    def __init__(self, chances, by="says"):
        self.chances = chances
        self.by = by
        self.asked = []

    def fingerprint(self):
        return self.by

    def answer(self, asks):
        self.asked += asks
        return [self._of(ask) for ask in asks]

    def _of(self, ask):
        text = " ".join(ask.fields.values())
        p = next((p for word, p in self.chances.items() if word in text), 0.1)
        return AskAnswer(label_logp={"yes": math.log(p), "no": math.log(1 - p)}, by=self.by)


def failing(word, reason):
    """An answerer that fails where a word stands in a field, and says no elsewhere."""

    class Fails(Says):
        def _of(self, ask):
            if word in " ".join(ask.fields.values()):
                return AskAnswer(by=self.by, failure=reason, text="why")
            return super()._of(ask)

    return Fails({"": 0.2})
