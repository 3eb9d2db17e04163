"""UI-Genie (arXiv:2505.21496): a reward model of actions guides a search, and both models learn from what it finds."""

from handaxe import selection
from handaxe.judges.marked_screenshot import marked_screenshot
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.labelled_turns import teach_turns
from handaxe.methods.method import Method, replace
from handaxe.papers.ui_genie.judged_beam import judged_beam
from handaxe.papers.ui_genie.judged_outcome import judged_outcome
from handaxe.papers.ui_genie.step_lessons import step_lessons
from handaxe.training.stages.repeat import repeat
from handaxe.training.stages.sources import played
from handaxe.training.stages.teach import teach
from handaxe.worlds.screen.widgets import UNIT

__all__ = ["ui_genie"]


def ui_genie(
    base: Method,
    *,
    rounds: int = 3,
    candidates: int = 5,
    beam: int = 2,
    substituted: bool = True,
    teach_rate: float = 5e-4,
) -> Method:
    """Improve a reward model and the policy in turns, without labels by people.

        each round: rollouts --rule, substitution--> labels --> reward model
                    search by the reward model --accepted by its outcome--> fine-tuning of the policy

    Args:
        rounds: generations; 3 in the paper, 0 for the start alone.
        candidates: next actions of each partial trajectory.
        beam: partial trajectories that the search keeps.
        substituted: train the reward model on actions of other tasks in addition.
        teach_rate: learning rate of the policy.
    """
    run, verdicts = base.settings, base.world.need("verdicts")
    answerer = TaughtAnswerer(name="trained", epochs=2)
    judge = marked_screenshot(desk=answerer.desk, unit=UNIT)
    search = judged_beam(judge=judge, candidates=candidates, beam=beam, max_turns=run.max_turns)
    explored = played(
        groups=run.groups, group_size=1, arguments={"rollout": search, "reward": judged_outcome(judge=judge)}
    )
    sampled = played(groups=run.groups, group_size=run.group_size)
    lessons = step_lessons(verdicts=verdicts, substituted=substituted, accepts=judge)
    judged = teach_turns(judge=judge, answerer=answerer, source=sampled, labels=lessons)
    accepted = selection.keep_successes()
    taught = teach(source=explored, select=accepted, epochs=4, learning_rate=teach_rate, optional=True)
    loop = repeat(stages=[judged, taught], times=rounds)
    return replace(base, stages=(*base.stages, loop), learners=(*base.learners, answerer))
