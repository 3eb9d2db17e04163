"""ReTool (arXiv:2504.11536), cold start: fine-tune first on solutions rewritten with interpreter calls."""

from handaxe.core.protocols import StageContext
from handaxe.methods.method import Method, replace
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import LessonTool
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.pipelines.solutions import solutions as solutions_pipeline
from handaxe.synthesis.teach_synthesized import teach_synthesized

__all__ = ["retool_cold_start"]

INTERPRETER = LessonTool("python", "code", "print({})")


def retool_cold_start(base: Method, *, solutions: int = 128, epochs: int = 2, writer: str = "rule") -> Method:
    """Fine-tune on rewritten solutions, then train as the base does.

    Args:
        solutions: rewritten solutions that pass the checks; some 2,000 in the paper.
        epochs: over them. Unconfirmed.
        writer: who rewrites: rule, self, self@start, a model, or http://HOST/v1#NAME.
    """
    check_text_source(writer, option="--writer")
    tool, argument, form = INTERPRETER

    def pipeline(site: StageContext) -> Pipeline:
        at = PipelineContext.of_stage(base.world, site, desk=text_desk(writer, site, option="--writer"))
        return solutions_pipeline(at, tool=tool, argument=argument, form=form)

    sft = teach_synthesized(pipeline=pipeline, tool=INTERPRETER, count=solutions, epochs=epochs)
    return replace(base, stages=(*base.stages, sft))
