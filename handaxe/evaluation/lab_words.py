"""What the page of the lab says in words: why something is not tried, and why what falls to an attack does."""

from collections.abc import Mapping

__all__ = ["EXPLAINED", "NOT_TRIED"]

NOT_TRIED: Mapping[str, str] = {
    "average": "it gives what its reward gives, in another place",
    "by_task": "it gives what one of its rewards gives",
    "exact_steps": "it says of steps what the world knows of them; step_labels with it is a recipe's",
    "gate": "it gives what its rewards give; recipes below hold it",
    "information_gain": "it pays for what a policy says of the right answer's likelihood while it plays, and here none "
    "plays; its outcome is its base's",
    "ladder": "it gives what its rewards give; recipes below hold it",
    "outcome": "it gives what a function of yours gives",
    "per_turn": "it gives what a function of yours gives",
    "picked": "it gives a channel of its reward",
    "product": "it gives what its rewards give, multiplied; recipes below hold it",
    "progress": "it knows nothing before it was taught by attempts of a run",
    "question_value": "it pays for questions by what a solver answers; no question is the right one",
    "shuffled": "it says nothing of an attempt, on purpose",
    "taught_verdict": "it is the policy before it was taught; see verdict_token",
    "thin_clones": "it gives what its reward gives, and says who counts",
    "total": "it gives what its reward gives, in another place",
    "utterance_critic": "it gives 0 before it was taught by attempts of a run",
    "weighted": "it gives what its rewards give, added; recipes below hold it",
}
"""A file of `rewards/` or `judges/` that is not tried, and why."""

EXPLAINED: Mapping[str, str] = {
    "math_match": "math-verify works out what was asked where it is a formula: saying `2*6 =` is answering 12. Do not "
    "give it questions that are their own answer, or take the answer out of a box first.",
    "edit_similarity": "By the paper's formula an answer that holds the reference is right, however much else it says; "
    "give it with `within_length`.",
    "text_similarity": "Its encoder reads look-alikes as what they look like, and spells words in pieces.",
    "rule_or_model": "The model's part of it is what moves.",
    "call_match": "It counts the reference calls that were made, and no others: further calls cost nothing. Add a "
    "price on calls, or `graded_call`.",
    "action_score": "By the paper's formula a right call pays and a wrong one costs nothing. Give it with "
    "`call_economy` behind a `gate`.",
    "state_and_outputs": "Where the right thing is to change nothing and hand the user over, the databases stand as "
    "wanted from the start, and the paper's reward looks at nothing else: doing nothing is paid in full. tau2's own "
    "judgement (`solved`) also asks for the actions, and holds.",
    "outcome_state": "The state is the wanted one, by whatever else was tried on the way: it is solved.",
    "box_overlap": "It pays for where a policy looked, whatever it answers afterwards: give it beside what is right.",
    "implicit_prm": "It has seen right and wrong answers and no attack, and likes what is unlike both. No learned "
    "judge should stand alone; add negatives, as paper 2507.08794 does with the first sentences of answers.",
    "step_labels": "What turns earn is added up here, so that many turns that ran outweigh the outcome. "
    "`outcome_bounded_steps` keeps them within it.",
    "verdict_token": "The model is untaught, so what it finds likely is chance. Teach a judge before it pays.",
    "pure": "Steps are added up here, and a judge that likes calls that ran is paid for each of them: the vice that "
    "the paper shows. Its credit takes their minimum instead, which no table of rewards can show.",
    "world workspace": "See `outcome_state`.",
    "world modular_hops": "The answer is read off what was found, not said: who also searches for the right things, or "
    "in full-width letters, which the search reads as plain ones, is right.",
    "world ml_engineering": "Most of the expert's plans for one task serve for any other.",
    "rl_mle": "See `world ml_engineering`.",
    "tp_grpo": "One label of a step in ten is turned around, as its recipe says, and what is turned into a right one "
    "pays a wrong answer. `--wrong 0` turns none.",
    "world gym": "The scorer of the package reasoning-gym reads full-width and Arabic-Indic digits as numbers.",
}
"""File of a reward or judge, recipe or "world NAME" -> why something falls."""
