"""The page of questions: what is asked, by which call, and what is printed."""

from __future__ import annotations

import re

from projects import ROOT

PAGE = (ROOT / "docs/why.md").read_text(encoding="utf-8")
# A question, what it is asked by, and what is printed.
SHOWN = re.findall(
    r"^## ([^\n]*)\n\n```sh\n"
    r"dbt --quiet run-operation why --args '([^\n]*)'\n```\n\n"
    r"```text\n(.*?)\n```$",
    PAGE,
    re.M | re.S,
)
