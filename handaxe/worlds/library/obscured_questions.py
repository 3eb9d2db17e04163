"""Questions made harder to answer without search: names give way to facts, and numbers to ranges."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

__all__ = ["Clause", "Facts", "Known", "Level", "ObscuredQuestions", "Question", "by_heart", "obscured_questions"]

Facts = Mapping[str, Mapping[str, str]]
"""Of each entity, by label, its fact: another entity's name, or a plain word or number."""
PLAIN = 2
"""Plain facts that a description takes at most, besides one that names another entity."""


class Clause(NamedTuple):
    """A plain fact in a description: the value itself, or, where `high` is set, a range of numbers that holds it."""

    label: str
    value: str
    high: str = ""

    def meets(self, value: str | None) -> bool:
        """Whether a fact is as the clause says; one that is not known is not."""
        if value is None or not self.high:
            return value == self.value
        return int(self.value) <= int(value) <= int(self.high)


class Level(NamedTuple):
    """An entity as a question says it: by name where there are no clauses and no link; else by its kind and its facts.
    link: the label of the fact that names the entity of the level below."""

    name: str
    kind: str
    clauses: tuple[Clause, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Question:
    """What is asked: relations from an entity on, the first one first, and that entity in levels, itself first."""

    path: tuple[str, ...]
    levels: tuple[Level, ...]
    answer: str

    @property
    def words(self) -> str:
        """As "the river of the person whose job is baker and whose teacher is kemi". What links to the level below
        stands last, so that nothing is said of two entities."""
        said = ""
        for level in reversed(self.levels):
            facts = [f"{c.label} is {f'between {c.value} and {c.high}' if c.high else c.value}" for c in level.clauses]
            facts += [f"{level.link} is {said}"] if level.link else []
            said = f"the {level.kind} whose {' and whose '.join(facts)}" if facts else level.name
        return f"{''.join(f'the {label} of ' for label in reversed(self.path))}{said}"


Direct = Callable[[Question], bool]
"""Whether a question is answered, rightly, by somebody who may not search."""


def obscured_questions(
    *,
    kinds: Mapping[str, str],
    facts: Facts,
    widths: Mapping[str, int],
    direct: Direct | None = None,
    tries: int = 8,
) -> ObscuredQuestions:
    """Make questions that ask the same and say less.

        inject     the one entity that is named gives way to facts about it: at most one that names another entity, and
                   at most two plain ones, as few as single it out
        blur       a number gives way to the range of `widths` that holds it, where a description says something else
                   besides to search for
        both are drawn; kept is what the facts leave one entity for, at every level, so that the answer is still the
        only one, and what does not give the answer, or an entity between question and answer, away
        at last    a question that `direct` answers is drawn anew

    An injected fact never is one that the question asks for. A question whose answer stays out of reach of injections
    (a mountain has no fact that names another entity, so no second injection) is given up.

    Args:
        kinds: of each entity.
        facts: of all that can be searched, held-out entities included: what is unique is unique among them. A label
            belongs to one kind alone.
        widths: label -> width of the range that takes a number's place, such as 25 years; others are never blurred.
        direct: answers without search; None: nobody does.
        tries: draws of a question before it is given up.

    Returns:
        ObscuredQuestions: called as (question, injections=, blurs=, seed=) -> a question, or None where it is given up.

    Raises:
        InputError: tries below 1, a width below 2; when called, fewer than 0 injections or blurs, or blurs without
            injections: a question has no number of its own.

    Example:
        "the river of kemi"  --inject->  "the river of the town whose mayor is tolven"
            --inject->  "... whose mayor is the person whose birth year is 1512 and whose teacher is luta"
            --blur->    "... whose mayor is the person whose birth year is between 1500 and 1524 and whose ..."

    Paper: arXiv:2508.07976 (ASearcher), its data: injection and fuzzing, with checks of direct answers and uniqueness.
    Unconfirmed: order and number of the steps.
    Differs: by rule. The paper's agent takes facts from pages of Wikipedia, and a model answers directly.
    """
    if tries < 1 or any(width < 2 for width in widths.values()):
        raise InputError(
            f"obscured_questions takes tries of 1 or more and widths of 2 or more: {tries}, {dict(widths)}"
        )
    return ObscuredQuestions(kinds, facts, widths, direct, tries)


class ObscuredQuestions:
    """What `obscured_questions` returns; its steps can be taken one by one."""

    def __init__(
        self, kinds: Mapping[str, str], facts: Facts, widths: Mapping[str, int], direct: Direct | None, tries: int
    ):
        self.facts, self.kinds = facts, kinds
        self._all = Known(kinds, facts)
        self._widths = widths
        self._direct = direct
        self._tries = tries

    def __call__(self, question: Question, *, injections: int, blurs: int = 0, seed: int = 0) -> Question | None:
        """The question with so many injections and then blurs, or None where it is given up."""
        if min(injections, blurs) < 0 or (blurs and not injections):
            raise InputError(
                f"injections are {injections} and blurs {blurs}: give 0 or more, and blurs with injections"
            )
        for attempt in range(self._tries):
            rng = random.Random(derive_seed("obscured", seed, attempt, question.words))
            made: Question | None = question
            for step in range(injections + blurs):
                if made is not None:
                    made = self.inject(made, rng, numbers=blurs > 0) if step < injections else self.blur(made, rng)
            if made is not None and not (self._direct and self._direct(made)):
                return made
        return None

    def inject(self, question: Question, rng: random.Random, *, numbers: bool = False) -> Question | None:
        """Say the entity that is named by facts instead; with `numbers`, one of them a number where there is one."""
        *above, last = question.levels
        if last.clauses or last.link:
            return None
        # A question of one entity's fact asks for it, and no fact may name what stands between question and answer.
        hidden = {*self.visited(question), question.answer, *(level.name for level in question.levels)}
        asked = question.path[:1] if not above else ()
        own = {label: value for label, value in self.facts[last.name].items() if label not in asked}
        own = {label: value for label, value in own.items() if value not in hidden}
        for link, plain in self._choices(own, rng, numbers):
            below = (Level(own[link], self.kinds[own[link]]),) if link else ()
            level = last._replace(clauses=tuple(Clause(label, own[label]) for label in plain), link=link)
            if self._singles_out(level, below):
                return replace(question, levels=(*above, level, *below))
        return None

    def blur(self, question: Question, rng: random.Random) -> Question | None:
        """Say a range in the place of a number."""
        places = [
            (k, c)
            for k, level in enumerate(question.levels)
            for c, one in enumerate(level.clauses)
            if one.label in self._widths and not one.high and self._searchable(level, c)
        ]
        rng.shuffle(places)
        for k, c in places:
            level = question.levels[k]
            one, width = level.clauses[c], self._widths[level.clauses[c].label]
            low = int(one.value) // width * width
            clauses = [*level.clauses[:c], Clause(one.label, str(low), str(low + width - 1)), *level.clauses[c + 1 :]]
            changed = level._replace(clauses=tuple(clauses))
            if self._singles_out(changed, question.levels[k + 1 :]):
                return replace(question, levels=(*question.levels[:k], changed, *question.levels[k + 1 :]))
        return None

    def visited(self, question: Question) -> list[str]:
        """The entities from the one that the question is about to the one whose fact is the answer."""
        found = [question.levels[0].name]
        for label in question.path[:-1]:
            found.append(self.facts[found[-1]][label])
        return found

    def is_unique(self, question: Question) -> bool:
        """Whether every level fits its entity alone, and the answer is what that leads to."""
        fitting = self._all.fitting(question)
        if any(found != {level.name} for found, level in zip(fitting, question.levels, strict=True)):
            return False
        return self._all.answers(question) == {question.answer}

    def _singles_out(self, level: Level, below: tuple[Level, ...]) -> bool:
        """Whether a level fits its entity alone, where those below do: then the whole is as unique as it was."""
        return self._all.fits(level, {one.name for one in below[:1]}) == {level.name}

    def _choices(
        self, own: Mapping[str, str], rng: random.Random, numbers: bool
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Which facts may single an entity out: the fewest first, those that name another entity before others."""
        links = [label for label, value in own.items() if value in self.facts]
        plain = [label for label in own if label not in links]
        rng.shuffle(links)
        rng.shuffle(plain)
        sets = [(link, some) for link in [*links, ""] for n in range(PLAIN + 1) for some in combinations(plain, n)]
        sets = [one for one in sets if one != ("", ())]
        sets.sort(key=lambda one: (bool(one[0]) + len(one[1]), not one[0]))
        if numbers:  # what is to be blurred comes first, beside something to search for
            sets.sort(key=lambda one: not (self._widths.keys() & set(one[1]) and (one[0] or len(one[1]) > 1)))
        yield from sets

    @staticmethod
    def _searchable(level: Level, without: int) -> bool:
        """Whether a description says something exact besides one of its clauses."""
        return bool(level.link) or any(not one.high for c, one in enumerate(level.clauses) if c != without)


class Known:
    """Facts that somebody knows, and what a question comes to by them."""

    def __init__(self, kinds: Mapping[str, str], facts: Facts):
        self._facts = facts
        self._of_kind: dict[str, set[str]] = {}
        self._having: dict[tuple[str, str], set[str]] = {}
        for name, kind in kinds.items():
            self._of_kind.setdefault(kind, set()).add(name)
            for fact in facts[name].items():
                self._having.setdefault(fact, set()).add(name)

    def fitting(self, question: Question) -> list[set[str]]:
        """The entities that fit each level."""
        out: list[set[str]] = [set()]
        for level in reversed(question.levels):
            out.append(self.fits(level, out[-1]))
        return out[:0:-1]

    def fits(self, level: Level, below: set[str]) -> set[str]:
        """The entities that fit a level, where `below` fit the one that it links to."""
        if not level.clauses and not level.link:
            return {level.name}
        if level.link:
            found = set[str]().union(*[self._having.get((level.link, name), ()) for name in below])
        else:
            exact = next((one for one in level.clauses if not one.high), None)
            found = self._having.get((exact.label, exact.value), set()) if exact else self._of_kind[level.kind]
        return {name for name in found if all(one.meets(self._facts[name].get(one.label)) for one in level.clauses)}

    def answers(self, question: Question) -> set[str]:
        """All that these facts give for an answer."""
        reached = self.fitting(question)[0]
        for label in question.path:
            reached = {self._facts[name][label] for name in reached if label in self._facts.get(name, {})}
        return reached


def by_heart(questions: ObscuredQuestions, *, share: float, seed: int = 0) -> Direct:
    """Somebody who knows a share of the facts by heart, each by a draw of its own, and follows questions rightly.

    They answer where what they know leaves one answer. It stands for a model's own knowledge, and guesses nothing.

    Args:
        questions: whose facts.
        share: of them that are known, 0 to 1.
        seed: of which.

    Returns:
        Whether a question is answered rightly.

    Raises:
        InputError: a share out of range.

    Example:
        share 0.5: "the river of kemi" is answered for one kemi in two; "the river of the town whose mayor is tolven"
        takes two facts, and is answered for about one in four
    """
    if not 0 <= share <= 1:
        raise InputError(f"by_heart takes a share from 0 to 1, not {share}")
    known = {
        name: {label: value for label, value in own.items() if _knows(share, seed, name, label)}
        for name, own in questions.facts.items()
    }
    memory = Known(questions.kinds, known)
    return lambda question: memory.answers(question) == {question.answer}


def _knows(share: float, seed: int, name: str, label: str) -> bool:
    return random.Random(derive_seed("by heart", seed, name, label)).random() < share
