"""What changes between two states: which they are, and what is more than a query.

Macros compare the states in the database. Here it is said which relations are compared,
and what they found becomes a report.
"""

from secure_datasets.questions.changes.macro_methods import (
    AccessChanges,
    access_changes,
)

__all__ = ["AccessChanges", "access_changes"]
