"""Why somebody sees a row or an object, or does not: what is more than a query.

Macros ask the database, by what renders the secure datasets. Here the answers become
gates with their evidence, and those a text for people or a JSON document.
"""

from access_questions.questions import AccessQuestions

__all__ = ["AccessQuestions"]
