"""What the product adds to the adapter, by the entry point ``dbt_secure_spark``."""

from __future__ import annotations

from pathlib import Path

from dbt.adapters.base import BaseAdapter
from dbt_common.exceptions import CompilationError

from secure_datasets import digest, leaks, macro_methods
from secure_datasets.cases.expectations import expected_access
from secure_datasets.questions.changes import access_changes, states
from secure_datasets.questions.facts.uncounted import uncounted_deliveries
from secure_datasets.questions.macro_methods import access_questions
from secure_datasets.questions.timeline import access_timelines
from secure_datasets.readers import readers_objects
from secure_datasets.render.by_exists import rules_by_exists
from secure_datasets.render.laws import law_of_roles
from secure_datasets.render.privileges import privileges
from secure_datasets.render.staging import staging
from secure_datasets.review.adapter import access_reviews, finding_rules
from secure_datasets.review.models import query_of_review
from secure_datasets.runs import state, summary
from secure_datasets.runs.accepted_ids import accepted_ids


def check_package(adapter: BaseAdapter, name: str) -> None:
    """Raise if the dbt package beside which this was built is of another commit."""
    package = adapter.config.load_dependencies().get(name)
    if package is None:
        return
    version = adapter.product_version()
    install = (
        "install the one that comes with the package, pip install"
        f" '{package.project_root}'."
    )
    if str(package.version) != version:
        raise CompilationError(
            f"The dbt package {name} is of version {package.version} and the"
            f" adapter {adapter.type()}, its Python part, of version {version}:"
            f" {install}"
        )
    known = digest.carried()
    if known not in (None, digest.digest_of(Path(package.project_root))):
        raise CompilationError(
            f"The dbt package {name} and the adapter {adapter.type()}, its Python"
            f" part, are both of version {version}, and of two commits: the macros"
            " and models are not those that the Python part was built with:"
            f" {install}"
        )


check_statement = macro_methods.refuse_grants

METHODS = {
    "check_package": check_package,
    "secure_datasets": macro_methods.secure_datasets,
    # Around a run
    "accepted_ids": accepted_ids,
    "failures": summary.failures,
    "note_state": state.note_state,
    "run_summary": summary.run_summary,
    "state_document": state.state_document,
    "find_leaks": leaks.find_leaks,
    "access_questions": access_questions,
    "access_timelines": access_timelines,
    "access_reviews": access_reviews,
    "finding_rules": finding_rules,
    "query_of_review": query_of_review,
    "expected_access": expected_access,
    "uncounted_deliveries": uncounted_deliveries,
    "law_of_roles": law_of_roles,
    "privileges": privileges,
    "staging": staging,
    "rules_by_exists": rules_by_exists,
    "readers_objects": readers_objects,
    # What changes between two states
    "access_changes": access_changes,
    "check_comparison": states.check_comparison,
    "check_states": states.check_states,
    "report_facts": states.report_facts,
    "states_compared": states.states_compared,
    "limits_about_nothing": states.limits_about_nothing,
}
