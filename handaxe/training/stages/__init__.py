"""Stages: (StageContext) -> metrics of each step. Parts of a run, such as a cold start; see run_stages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
