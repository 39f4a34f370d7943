"""When access to what began and ended, over all load times.

In Spark the rows of all moments are laid side by side, and the project's own models are
run over them once: a moment is to the others as a customer of another database. In the
quick engine a timeline is a loop over the load times.

``questions``  what people ask, read and checked; and what macros may call
``selection``  of the raw rows, those that a question needs
``moments``    the rows of all moments side by side
``models``     the project's models, run over them
``changes``    what differs from one moment to the next, and by which rows
``answers``    all of it, for a question
``quick``      the same in the quick engine, one load time after another
``days``       how much access there was when some days began
``text``       the answer for people, and as a document
"""

from __future__ import annotations

from secure_datasets.questions.timeline.questions import access_timelines

__all__ = ["access_timelines"]
