"""A copy of the product in Spark 3.5, beside a catalog of Iceberg's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness import READ, RUN_SQL, Deployment
from projects import ROOT, TEST_SETTINGS

VENV = ROOT / ".venv-spark-3.5"
JACKSON = VENV / "shaded_jackson.jar"
RUN = ("run", "--exclude", "tag:review", "tag:privileges", "tag:leaks")
RAW, PUBLISHED = "lake.raw", "secure_datasets"
# What is asked of the clock is written by each run.
OF_THE_CLOCK = {"access_freshness"}
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG = "org.apache.iceberg.spark.SparkCatalog"


def of_iceberg(folder: Path) -> dict[str, str]:
    """Return the settings of a session that has two catalogs of Iceberg's.

    `lake` lies in the folder; `of_hive` has the session's metastore.
    """
    assert JACKSON.exists(), "make test-lakehouse sets up what this needs"
    (runtime,) = VENV.glob(
        "lib/*/site-packages/snowpark_connect_deps_iceberg/jars/"
        "iceberg-spark-runtime-3.5_2.12-*.jar"
    )
    lake, of_hive = "spark.sql.catalog.lake", "spark.sql.catalog.of_hive"
    return {
        "spark.jars": f"{runtime},{JACKSON}",
        "spark.sql.extensions": EXTENSIONS,
        lake: CATALOG,
        of_hive: CATALOG,
        f"{of_hive}.type": "hive",
        # Derby has no locks of Hive's: each commit would wait for one.
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        f"{lake}.type": "hadoop",
        f"{lake}.warehouse": f"{folder}/.spark/lake",
    }


class Lakehouse(Deployment):
    """A copy of the product in Spark 3.5, beside a catalog of Iceberg's.

    versions_catalog  the catalog that it publishes in, if that is another one
    """

    bin = VENV / "bin"

    def __init__(
        self, folder: Path, versions_catalog: str | None = None, target: str = "local"
    ) -> None:
        super().__init__(folder, target)
        self.parameters.update(TEST_SETTINGS)
        self.parameters.update(of_iceberg(folder))
        if versions_catalog:
            self.output["versions_catalog"] = versions_catalog
        self.write_profile()

    def sql(self, *statements: str) -> list[list[list[Any]]]:
        """Run statements in a session of their own; return the rows of each."""
        file = self.folder / "statements.json"
        file.write_text(json.dumps(statements))
        return json.loads(self.python(RUN_SQL, file))

    def run(self, *arguments: str, **variables: Any) -> str:
        """Run dbt over the tables of Iceberg; return what it printed."""
        variables = {"raw_schema": RAW, "summary": False, **variables}
        code, printed = self.dbt(*(arguments or RUN), "--vars", json.dumps(variables))
        assert code == 0, printed[-4000:]
        return printed

    def rows(self) -> dict[str, list]:
        """Return the rows of every relation that is published."""
        found = json.loads(self.python(READ))
        return {name: found[name] for name in found if name.startswith(PUBLISHED)}

    def state(self) -> dict[str, Any]:
        """Return what the last run has written of what is published."""
        (file,) = self.folder.glob(
            f".spark/warehouse/{PUBLISHED}_versions.db/pub*.json"
        )
        return json.loads(file.read_text())

    def versions(self) -> dict[str, str]:
        """Return the version that each stored relation shows."""
        relations = self.state()["relations"].items()
        return {name: each["version"] for name, each in relations if each["version"]}

    def copy_raw_tables(self) -> None:
        """Copy the raw tables of the sample into the catalog of Iceberg's."""
        (tables,) = self.sql("show tables in repository_sample")
        copies = (
            f"create table {RAW}.{name} using iceberg as select * from {schema}.{name}"
            for schema, name, _ in tables
        )
        self.sql(f"create schema {RAW}", *copies)

    def changed_by(self, *statements: str) -> set[str]:
        """Return the relations that a run writes anew after some statements."""
        before = self.versions()
        if statements:
            self.sql(*statements)
        self.run()
        now = self.versions()
        return {name.split(".")[1] for name in now if now[name] != before[name]}
