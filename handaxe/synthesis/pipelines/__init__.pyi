from .questions import questions as questions
from .solutions import solutions as solutions
