"""Timelines: the beginnings and ends of access over all load times.

In Spark the rows of all moments lie side by side, and the project's own models run over
them once. Moments share no ids, like customers in separate databases. In the quick
engine a timeline is a loop over the load times.

``questions``  reads and checks questions, with the methods for macros
``selection``  the raw rows that a question needs
``moments``    the rows of all moments side by side
``models``     the project's models, run over them
``changes``    the differences from one moment to the next, and the rows that made them
``answers``    the whole answer to a question
``quick``      the same in the quick engine, one load time after another
``days``       counts of access at the beginning of some days
``text``       the answer for people, and as a document
"""

from __future__ import annotations

from secure_datasets.questions.timeline.questions import access_timelines

__all__ = ["access_timelines"]
