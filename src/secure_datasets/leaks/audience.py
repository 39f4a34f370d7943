"""Lists the product's relations for administrators.

Staging, the resolution of access, the audit and the monitoring models hold the rows of
all users. The list has names, so that no customer excuses a model by its folder. A test
compares the list with the folders.
"""

from __future__ import annotations

from secure_datasets.sql.scalar_functions import names

PACKAGE = "secure_datasets"
# The source of the raw tables.
RAW_SOURCE = "repository"
# From the folders staging, intermediate, access, datasets, view_authorization, leaks,
# privileges, governance, changes and review.
ADMINISTRATORS = names(
    """
    access_changes access_explanations access_findings access_freshness
    changed_access changed_base_rows changed_paths changed_raw_rows
    changed_row_counts dangling_references
    explained_access_paths int_access_paths int_securable_objects
    int_user_group_ancestors int_user_group_memberships judged_decisions
    judged_grants leaks permitted_operations privilege_findings rejected_rows
    review_status row_changes state_definitions stg_data_source_permissions
    stg_events stg_job_executions stg_jobs stg_meta_columns stg_meta_data_sources
    stg_meta_schemas stg_meta_tables stg_project_data_sources
    stg_project_permissions stg_projects stg_report_permissions stg_reports
    stg_template_test_executions stg_test_executions stg_tests stg_user_global_roles
    stg_user_group_members stg_user_groups stg_users stored_table_metadata
    uncounted_deliveries unrestricted_view_access user_role_names view_outcomes
    vw_dataset_columns
    vw_dataset_effective_user_permissions vw_dataset_event_history
    vw_dataset_job_executions vw_dataset_jobs vw_dataset_metadata_objects
    vw_dataset_tables vw_dataset_template_test_executions vw_dataset_test_executions
    vw_dataset_tests vw_secure_user_data_source_access vw_secure_user_project_access
    vw_secure_user_results_access vw_secure_user_roles
    """
)
