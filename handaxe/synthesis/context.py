"""Context of a pipeline: world, proposer and policy of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.asking.desk import AskDesk
from handaxe.core.protocols import ChatFormat, Engine, EnvFactory, StageContext
from handaxe.core.records import Task
from handaxe.worlds.world import World

__all__ = ["MeasuredPolicy", "PipelineContext"]

TESTS = 1000


class MeasuredPolicy(NamedTuple):
    """Policy whose pass rates are measured; `digest` identifies name and weights."""

    engine: Engine
    format: ChatFormat
    digest: str


class PipelineContext(NamedTuple):
    """Context of a pipeline.

    world     of the tasks
    options   text of the world's options
    env       of the tasks, with the tools
    tests     tasks of every test split
    desk      asks the proposer; None for the rule
    policy    None: no pass rates
    """

    world: World
    options: str
    env: EnvFactory
    tests: Sequence[Task]
    desk: AskDesk | None = None
    policy: MeasuredPolicy | None = None

    @classmethod
    def of_stage(cls, world: World, site: StageContext, *, desk: AskDesk | None = None) -> PipelineContext:
        """Context of a pipeline in a stage, with the tools of the run; test tasks are 1,000 of the world."""
        return cls(world, "", site.env, world.tasks("test", TESTS, 0), desk)
