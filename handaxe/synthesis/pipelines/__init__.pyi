from .judgements import judgements as judgements
from .questions import questions as questions
from .solutions import solutions as solutions
