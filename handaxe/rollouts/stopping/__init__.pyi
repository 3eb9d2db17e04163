from .agreeing import agreeing as agreeing
from .both_outcomes import both_outcomes as both_outcomes
from .decided import decided as decided
