"""AgentMath (arXiv:2512.20745), cold start: fine-tune on worked solutions rewritten with tool calls."""

from handaxe.core.protocols import StageContext
from handaxe.methods.method import Method, replace
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.papers.agentmath.self_corrections import self_corrections
from handaxe.synthesis import steps
from handaxe.synthesis.call_writer import CallWriter
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import CALCULATOR
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.pipelines.solutions import lesson_pipeline
from handaxe.synthesis.teach_synthesized import teach_synthesized

__all__ = ["agentmath_sft"]


def agentmath_sft(
    base: Method, *, solutions: int = 64, epochs: int = 2, corrections: float = 0.25, teacher: str = "rule"
) -> Method:
    """Precede reinforcement learning by supervised fine-tuning on solutions with executed calls.

    Args:
        solutions: rewritten solutions. The number in the paper is unconfirmed.
        epochs: epochs over them.
        corrections: share of solutions with a failed call, its error, and a corrected call. Unconfirmed.
        teacher: who rewrites and corrects: rule, self, self@start, a model, or http://HOST/v1#NAME.
    """
    check_text_source(teacher, option="--teacher")

    def pipeline(site: StageContext) -> Pipeline:
        desk = text_desk(teacher, site, option="--teacher")
        at = PipelineContext.of_stage(base.world, site, desk=desk)
        writes = steps.write_calls(base.world, CallWriter(desk))
        corrects = self_corrections(at.env, CALCULATOR, share=corrections, desk=desk)
        return lesson_pipeline(at, writes, corrects, tool=CALCULATOR, name="agentmath_sft")

    stage = teach_synthesized(pipeline=pipeline, tool=CALCULATOR, count=solutions, epochs=epochs)
    return replace(base, stages=(*base.stages, stage))
