"""What macros call: one adapter method that gives what reads and answers questions."""

from __future__ import annotations

from typing import NoReturn

from dbt.adapters.base import BaseAdapter

from secure_datasets.config.errors import SentenceError
from secure_datasets.questions.asked import AccessQuestions, QuestionError


class Unasked(SentenceError):
    """A question that can't be asked so, as dbt is stopped with it."""


class ProjectQuestions(AccessQuestions):
    """The same, in an operation of dbt."""

    def stop(self, sentence: str) -> NoReturn:
        """Stop dbt with one sentence."""
        try:
            super().stop(sentence)
        except QuestionError as stopped:
            raise Unasked(str(stopped)) from None


def access_questions(adapter: BaseAdapter) -> AccessQuestions:
    """Return what reads questions and makes answers."""
    return ProjectQuestions()
