from .questions import questions as questions
