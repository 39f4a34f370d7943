"""What changes between two states: which they are, and what is more than a query.

Macros compare the states in the database. Here it is said which relations are compared,
and what they found becomes a report.
"""

from access_changes.changes import AccessChanges, access_changes

__all__ = ["AccessChanges", "access_changes"]
