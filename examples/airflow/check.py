"""Imports the DAG as Airflow does, and prints the models that it has a task for."""

import sys
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag

bag = DagBag(dag_folder=str(Path(__file__).parent / "dags"))
if bag.import_errors:
    sys.exit(str(bag.import_errors))
dag = bag.dags["secure_datasets"]
runs = [task for task in dag.tasks if task.task_id.endswith("run")]
print(
    "\n".join(
        sorted(task.extra_context["dbt_node_config"]["unique_id"] for task in runs)
    )
)
