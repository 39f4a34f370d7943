"""Makes a dbt project that installs the product, from the files of a template."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import yaml

TEMPLATE = Path(__file__).parent / "project_template"
# Setuptools and git would take these files of the template for their own.
HIDDEN = "dot_"
# A subset of dbt's names of projects: the schema has the name too.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Packages of these names are in every project that installs the product.
TAKEN = ("dbt", "dbt_spark", "secure_datasets", "secure_spark")
# Java's options and the address of the metastore hold the path, without quotes.
PATH = re.compile(r"[\w/.:\\@%+,~-]+")
SAMPLE = "repository_sample"
NOTED_BY_PIP = "direct_url.json"
IS_GIT = ("https://", "http://", "ssh://", "file://", "git@", "git://")
LOCAL = """\
The package is a folder of this machine. Before others or CI build the project, name a
Git address and a revision in packages.yml and .github/workflows/secure-datasets.yml."""


class NotMade(Exception):
    """No project is made; the message has the reason in one sentence."""


@dataclass(frozen=True)
class Package:
    """The source of the dbt package: a folder, or a revision of a Git repository."""

    address: str
    revision: str | None = None

    @property
    def entry(self) -> str:
        """Return the entry in packages.yml."""
        named = json.dumps(self.address, ensure_ascii=False)
        if self.revision is None:
            return f"local: {named}"
        return f"git: {named}\n    revision: {json.dumps(self.revision)}"

    @property
    def requirement(self) -> str:
        """Return the address from which pip installs the Python part."""
        if self.revision is None:
            return self.address
        address = self.address
        if address.startswith("git@"):
            # pip reads addresses with a scheme alone.
            address = f"ssh://{address.replace(':', '/', 1)}"
        return f"secure-datasets @ git+{address}@{self.revision}"


def package_at(address: str, revision: str | None) -> Package:
    """Return the package that is named."""
    if address.startswith(IS_GIT):
        if not revision:
            raise NotMade("name the tag or commit of the package, --revision <name>")
        return Package(address, revision)
    if revision:
        raise NotMade(f"{address} is no Git address, so it has no --revision")
    folder = Path(address).resolve()
    if not (folder / "dbt_project.yml").is_file():
        raise NotMade(
            f"the package {address} is neither a Git address nor a folder with a"
            " dbt_project.yml"
        )
    return Package(str(folder))


def installed_package() -> Package:
    """Return the source of the Python part, by pip's record."""
    noted = json.loads(distribution("secure-datasets").read_text(NOTED_BY_PIP) or "{}")
    if "vcs_info" in noted:
        return package_at(noted["url"], noted["vcs_info"]["commit_id"])
    if "dir_info" in noted:
        return package_at(url2pathname(urlsplit(noted["url"]).path), None)
    raise NotMade(
        "the Python part was not installed from a folder or Git: name the package,"
        " --package <folder or Git address>"
    )


# The last step of a pull request's checks.
BUILDS_SAMPLE = """\
# On the sample, whose groups and tables are not yours: take this step out when the
      # project reads your replica.
      - run: dbt build --exclude resource_type:unit_test"""
BUILDS_NOTHING = """\
# A build needs your replica: see "Slim CI" of the product's reference, and use a target
      # with a schema of its own."""


def make_project(
    folder: Path, name: str | None, raw_schema: str | None, package: Package
) -> list[Path]:
    """Write the files of a new project; return their paths in its folder."""
    folder = folder.resolve()
    name = name or folder.name
    loads_sample = raw_schema is None
    raw_schema = SAMPLE if loads_sample else raw_schema
    _check(folder, name, raw_schema)
    values = {
        "PROJECT_NAME": name,
        "RAW_SCHEMA": raw_schema,
        "LOADS_SAMPLE": json.dumps(loads_sample),
        "PACKAGE": package.entry,
        "REQUIREMENT": package.requirement,
        "BUILD": BUILDS_SAMPLE if loads_sample else BUILDS_NOTHING,
    }
    written = {path: _filled(text, values) for path, text in _texts().items()}
    # The example is kept by git; the profile itself names a folder of this machine.
    example = written[Path("profiles.yml.example")]
    written[Path("profiles.yml")] = "".join(
        # The comments describe the example's values.
        line if line.startswith("#") else line.replace("PROJECT_FOLDER", str(folder))
        for line in example.splitlines(keepends=True)
    )
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sorted(written)


def _check(folder: Path, name: str, raw_schema: str) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotMade(f"{folder} is a file")
    if folder.exists() and any(folder.iterdir()):
        raise NotMade(f"{folder} is not empty")
    if not PATH.fullmatch(str(folder)):
        raise NotMade(
            f"the path {folder} has a space or another sign that Java's options can't"
            " hold: choose another folder"
        )
    # The schema may be another catalog's: lake.raw.
    parts = [(part, "a schema") for part in raw_schema.split(".", 1)]
    for value, meaning in ((name, "a dbt project"), *parts):
        if not _is_name(value):
            raise NotMade(
                f"'{value}' is no name of {meaning}: write letters, digits and _,"
                " beginning with a letter, and no value of YAML such as true"
            )
    catalog, _, schema = raw_schema.rpartition(".")
    if catalog.lower() == "spark_catalog":
        raise NotMade(
            "the schemas of spark_catalog are named without their catalog:"
            f" --raw-schema {schema}"
        )
    if name.lower() in TAKEN:
        raise NotMade(f"the name '{name}' is taken by a package of dbt: --name <other>")
    if name.lower() == raw_schema.lower():
        raise NotMade(
            f"the project would be built in the schema of the raw tables, '{name}',"
            " which is only read: --name <other>"
        )


def _is_name(value: str) -> bool:
    """Return whether a value is a name, even in YAML without quotes."""
    return bool(NAME.fullmatch(value)) and isinstance(yaml.safe_load(value), str)


def _texts() -> dict[Path, str]:
    """Return the texts of the template by their paths in a project."""
    texts = {}
    for path in filter(Path.is_file, TEMPLATE.rglob("*")):
        parts = path.relative_to(TEMPLATE).parts
        shown = (re.sub(f"^{HIDDEN}", ".", part) for part in parts)
        texts[Path(*shown)] = path.read_text(encoding="utf-8")
    return texts


def _filled(text: str, values: dict[str, str]) -> str:
    """Return a text of the template with its values, which are not expanded again."""
    return re.sub("|".join(values), lambda found: values[found[0]], text)


def next_steps(folder: Path, is_sample: bool, package: Package) -> str:
    """Return the commands to run in a new project."""
    user = "hpark" if is_sample else "USER"
    steps = {
        "dbt deps": "installs the package",
        "secure-datasets check": "lists all mistakes, without Spark",
        "secure-datasets check --replica": "lists what the replica lacks",
        "dbt build": "builds ten secure datasets",
        f"secure-datasets who {user}": "shows what a user sees",
    }
    if is_sample:
        del steps["secure-datasets check --replica"]
    width = max(map(len, steps))
    lines = [f"{command:<{width}}  # {what}" for command, what in steps.items()]
    lines.insert(0, f"cd {folder}")
    if package.revision is None:
        lines += ["", LOCAL]
    return "\n".join(lines)
