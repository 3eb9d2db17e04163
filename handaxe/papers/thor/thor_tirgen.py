"""THOR (arXiv:2509.13761), TIRGen: fine-tune first on solutions of an actor, refined with executed tool calls."""

from handaxe.core.protocols import StageContext
from handaxe.methods.method import Method, replace
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.papers.thor.thor_solutions import tirgen_pipeline
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import CALCULATOR
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.teach_synthesized import teach_synthesized

__all__ = ["thor_tirgen"]


def thor_tirgen(base: Method, *, solutions: int = 128, actor: str = "rule", refiner: str = "rule") -> Method:
    """Fine-tune on solutions of TIRGen, then train as the base does.

    Args:
        solutions: lessons that pass the filters.
        actor: who writes steps: rule (the world's worked solution), self, self@start, a model, or
            http://HOST/v1#NAME.
        refiner: who turns computable steps into calls, likewise; the rule finds computations by pattern.
    """
    check_text_source(actor, option="--actor")
    check_text_source(refiner, option="--refiner")

    def pipeline(site: StageContext) -> Pipeline:
        at = PipelineContext.of_stage(base.world, site)
        acting, refining = text_desk(actor, site, option="--actor"), text_desk(refiner, site, option="--refiner")
        return tirgen_pipeline(at, actor=acting, refiner=refining, tool=CALCULATOR)

    sft = teach_synthesized(pipeline=pipeline, tool=CALCULATOR, count=solutions)
    return replace(base, stages=(*base.stages, sft))
