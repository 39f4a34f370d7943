"""The pack of an access review: static pages and tables for those who are in charge.

``pack``       the pages and tables, from rows that are streamed
``reviews``    what people ask, read and checked; and what macros may call
``words``      what the words of a pack mean
``decisions``  the filled tables as rows of a seed: a command
"""

from __future__ import annotations

from access_review.reviews import access_reviews

__all__ = ["access_reviews"]
