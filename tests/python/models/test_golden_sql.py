"""The SQL that the macros render, against files that a person has read.

Renew them with

    python -m pytest tests/python/models/test_golden_sql.py --renew-golden

and read the difference before it is committed.
"""

import pytest
from projects import ROOT, SAMPLE

GOLDEN = ROOT / "tests/golden/models"
SECURE_DATASETS = sorted(
    file.stem
    for project in (ROOT, ROOT / SAMPLE)
    for file in (project / "models/secure").rglob("vw_secure_dataset_*.sql")
)
# A permission table, with roles and a holder; and the one table that has contexts.
STAGED = ["stg_project_permissions", "stg_events"]
MODELS = [*SECURE_DATASETS, *STAGED]


@pytest.fixture(scope="module")
def rendered(project, dbt, parsed) -> dict[str, str]:
    """Compile the models, without Spark; return the text of each."""
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        "--no-write-json",
        *("--indirect-selection", "empty", "--select", *MODELS),
        manifest=parsed,
    )
    assert result.success, result.exception
    files = (project / "target/compiled").glob("*/models/**/*.sql")
    return {file.stem: file.read_text().strip("\n") + "\n" for file in files}


@pytest.mark.parametrize("model", MODELS)
def test_the_rendered_sql_is_the_golden_one(model, rendered, request):
    golden = GOLDEN / f"{model}.sql"
    if request.config.getoption("--renew-golden"):
        golden.write_text(rendered[model])
    assert golden.exists(), "no golden file: renew them with --renew-golden"
    assert rendered[model] == golden.read_text()


def test_every_golden_file_is_of_a_model(request):
    files = {file.stem: file for file in GOLDEN.iterdir()}
    if request.config.getoption("--renew-golden"):
        for name in files.keys() - set(MODELS):
            files.pop(name).unlink()
    assert sorted(files) == sorted(MODELS), "pytest --renew-golden writes them anew"
