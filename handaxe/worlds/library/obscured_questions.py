"""Obfuscation of questions: descriptions replace names, and ranges replace numbers.

Kept: harder questions of the library for users.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed

__all__ = [
    "Clause",
    "Facts",
    "Known",
    "Level",
    "ObscuredQuestions",
    "Question",
    "answerable_from_memory",
    "knows_fact",
    "obscured_questions",
]

Facts = Mapping[str, Mapping[str, str]]
"""entity -> label -> fact: another entity's name, or a plain word or number."""
PLAIN = 2
"""Limit of plain facts in a description, beside a fact that names another entity."""


class Clause(NamedTuple):
    """Plain fact in a description: a value, or with `high` a range of numbers."""

    label: str
    value: str
    high: str = ""

    def meets(self, value: str | None) -> bool:
        """Check whether a fact agrees with the clause; an unknown fact does not."""
        if value is None or not self.high:
            return value == self.value
        return int(self.value) <= int(value) <= int(self.high)


class Level(NamedTuple):
    """Entity in a question: by name without clauses and link, otherwise by its kind and facts.

    link: label of the fact that names the entity of the next level.
    """

    name: str
    kind: str
    clauses: tuple[Clause, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Question:
    """Relations from an entity, in order, and the levels of the entity's description, outermost first."""

    path: tuple[str, ...]
    levels: tuple[Level, ...]
    answer: str

    @property
    def words(self) -> str:
        """The question in words.

        Such as "the river of the person whose job is baker and whose teacher is kemi".

                The link to the next level comes last, so that no clause is ambiguous.
        """
        text = ""
        for level in reversed(self.levels):
            facts = [f"{c.label} is {f'between {c.value} and {c.high}' if c.high else c.value}" for c in level.clauses]
            facts += [f"{level.link} is {text}"] if level.link else []
            text = f"the {level.kind} whose {' and whose '.join(facts)}" if facts else level.name
        return f"{''.join(f'the {label} of ' for label in reversed(self.path))}{text}"


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
    """Create questions with equal answers and less information.

        inject     replace the named entity by facts about it: at most one fact with the name of another entity, and at
            most
                   two plain facts, as few as identify it
        blur       replace a number by its range of `widths`, in a description with another searchable fact
        both are random; a candidate is accepted if the facts identify one entity at every level, so that the answer
        stays unique, and if it reveals neither the answer nor an entity between question and answer
        finally    a question that `direct` answers is drawn again

    An injected fact is never the fact that the question asks for. A question that has no further injection is given up
    (a mountain has no fact that names another entity, so there is no second injection).

    Args:
        kinds: entity -> kind.
        facts: facts of all searchable entities, held-out entities included; uniqueness refers to all of them. Each
            label belongs to one kind.
        widths: label -> width of the range that replaces a number, such as 25 years; other labels are never blurred.
        direct: whether a question is answerable without search; None: never.
        tries: draws of a question before it is given up.

    Returns:
        ObscuredQuestions: callable as (question, injections=, blurs=, seed=) -> a question, or None if it is given up.

    Raises:
        InputError: tries below 1, a width below 2; when called, fewer than 0 injections or blurs, or blurs without
            injections, since a question has no number of its own.

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
    """Result of `obscured_questions`, with separate methods for the steps."""

    def __init__(
        self, kinds: Mapping[str, str], facts: Facts, widths: Mapping[str, int], direct: Direct | None, tries: int
    ):
        self.facts, self.kinds = facts, kinds
        self._all = Known(kinds, facts)
        self._widths = widths
        self._direct = direct
        self._tries = tries

    def __call__(self, question: Question, *, injections: int, blurs: int = 0, seed: int = 0) -> Question | None:
        """Apply injections, then blurs. Return None if the question is given up."""
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
        """Replace the named entity by facts; with `numbers`, prefer facts with a number."""
        *above, last = question.levels
        if last.clauses or last.link:
            return None
        # No fact may be the requested fact or reveal an entity between question and answer.
        hidden = {*self.visited(question), question.answer, *(level.name for level in question.levels)}
        requested = question.path[:1] if not above else ()
        facts = {label: value for label, value in self.facts[last.name].items() if label not in requested}
        facts = {label: value for label, value in facts.items() if value not in hidden}
        for link, plain in self._choices(facts, rng, numbers):
            below = (Level(facts[link], self.kinds[facts[link]]),) if link else ()
            level = last._replace(clauses=tuple(Clause(label, facts[label]) for label in plain), link=link)
            if self._singles_out(level, below):
                return replace(question, levels=(*above, level, *below))
        return None

    def blur(self, question: Question, rng: random.Random) -> Question | None:
        """Replace a number by a range."""
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
        """List the entities from the question's entity to the entity with the answer as a fact."""
        found = [question.levels[0].name]
        for label in question.path[:-1]:
            found.append(self.facts[found[-1]][label])
        return found

    def is_unique(self, question: Question) -> bool:
        """Check whether every level fits its entity alone and leads to the answer alone."""
        fitting = self._all.fitting(question)
        if any(found != {level.name} for found, level in zip(fitting, question.levels, strict=True)):
            return False
        return self._all.answers(question) == {question.answer}

    def _singles_out(self, level: Level, below: tuple[Level, ...]) -> bool:
        """Whether a level fits its entity alone, given the next level: uniqueness of the whole is then preserved."""
        return self._all.fits(level, {one.name for one in below[:1]}) == {level.name}

    def _choices(
        self, facts: Mapping[str, str], rng: random.Random, numbers: bool
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Candidate facts for a description: the fewest first, links to other entities before plain facts."""
        links = [label for label, value in facts.items() if value in self.facts]
        plain = [label for label in facts if label not in links]
        rng.shuffle(links)
        rng.shuffle(plain)
        sets = [(link, some) for link in [*links, ""] for n in range(PLAIN + 1) for some in combinations(plain, n)]
        sets = [one for one in sets if one != ("", ())]
        sets.sort(key=lambda one: (bool(one[0]) + len(one[1]), not one[0]))
        if numbers:  # numbers to blur first, beside a searchable fact
            sets.sort(key=lambda one: not (self._widths.keys() & set(one[1]) and (one[0] or len(one[1]) > 1)))
        yield from sets

    @staticmethod
    def _searchable(level: Level, without: int) -> bool:
        """Whether a description has an exact fact without a given clause."""
        return bool(level.link) or any(not one.high for c, one in enumerate(level.clauses) if c != without)


class Known:
    """Known facts and the resulting answers."""

    def __init__(self, kinds: Mapping[str, str], facts: Facts):
        self._facts = facts
        self._of_kind: dict[str, set[str]] = {}
        self._having: dict[tuple[str, str], set[str]] = {}
        for name, kind in kinds.items():
            self._of_kind.setdefault(kind, set()).add(name)
            for fact in facts[name].items():
                self._having.setdefault(fact, set()).add(name)

    def fitting(self, question: Question) -> list[set[str]]:
        """The matching entities of each level."""
        out: list[set[str]] = [set()]
        for level in reversed(question.levels):
            out.append(self.fits(level, out[-1]))
        return out[:0:-1]

    def fits(self, level: Level, below: set[str]) -> set[str]:
        """The matching entities of a level, given the matching entities `below` of the next level."""
        if not level.clauses and not level.link:
            return {level.name}
        if level.link:
            found = set[str]().union(*[self._having.get((level.link, name), ()) for name in below])
        else:
            exact = next((one for one in level.clauses if not one.high), None)
            found = self._having.get((exact.label, exact.value), set()) if exact else self._of_kind[level.kind]
        return {name for name in found if all(one.meets(self._facts[name].get(one.label)) for one in level.clauses)}

    def answers(self, question: Question) -> set[str]:
        """All answers allowed by the facts."""
        reached = self.fitting(question)[0]
        for label in question.path:
            reached = {self._facts[name][label] for name in reached if label in self._facts.get(name, {})}
        return reached


def answerable_from_memory(questions: ObscuredQuestions, *, share: float, seed: int = 0) -> Direct:
    """Check questions against a random share of the facts, known independently, with perfect reasoning and no guesses.

    A question is answerable if the known facts leave one answer. The rule stands for a model's own knowledge.

    Args:
        questions: source of the facts.
        share: share of known facts, 0 to 1.
        seed: seed of the known facts.

    Returns:
        Whether a question is answered correctly.

    Raises:
        InputError: share out of range.

    Example:
        share 0.5: "the river of kemi" is answered for one kemi in two; "the river of the town whose mayor is tolven"
        needs two facts, and is answered for about one in four
    """
    if not 0 <= share <= 1:
        raise InputError(f"answerable_from_memory takes a share from 0 to 1, not {share}")
    known = {
        name: {label: value for label, value in facts.items() if knows_fact(share, seed, name, label)}
        for name, facts in questions.facts.items()
    }
    memory = Known(questions.kinds, known)
    return lambda question: memory.answers(question) == {question.answer}


def knows_fact(share: float, seed: int, name: str, label: str) -> bool:
    """Check whether a fact is among the random share of facts that are known by heart."""
    return random.Random(derive_seed("by heart", seed, name, label)).random() < share
