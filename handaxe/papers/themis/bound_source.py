"""Labels of a judge with conversations: the judge receives the policy's chat format before the fit."""

from handaxe.core.protocols import Source, StageContext
from handaxe.core.records import RatedGroup
from handaxe.papers.themis.tool_judge import ToolJudge

__all__ = ["bound_source"]


def bound_source(*, judge: ToolJudge, source: Source) -> Source:
    """Bind a judge to the policy and the chat format, then play the source.

    Args:
        judge: is bound once; a second call changes nothing.
        source: of labelled groups.

    Example:
        fit(judge=judge, source=bound_source(judge=judge, source=labelled_rollouts(base)))

    Idea: a stage knows the chat format, and `fit` passes the engine alone.
    """

    def bound(site: StageContext) -> list[RatedGroup]:
        judge.bind(site.engine, site.format)
        return source(site)

    return bound
