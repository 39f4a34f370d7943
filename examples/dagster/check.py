"""Imports the definitions, and prints the models that are assets."""

from definitions import secure_datasets

print(
    "\n".join(
        sorted(
            metadata["dagster_dbt/unique_id"]
            for metadata in secure_datasets.metadata_by_key.values()
            if metadata["dagster_dbt/unique_id"].startswith("model.")
        )
    )
)
