"""Files of the Semantic Modeling Language (SML), read as parts of the config.

A file holds a security object, or relationships: a list, a mapping with the only key
`relationships`, or the file of a dimension. All further keys of a dimension are
ignored: they are not about row security.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secure_datasets.config.problems import ConfigProblem
from secure_datasets.config.problems import Path as Place
from secure_datasets.config.reading import Document, read
from secure_datasets.sql import spelling

OBJECT, LINKS = "row_security", "relationships"
DIMENSION = "dimension"
KEYS_OF_A_DIMENSION = (
    *("object_type", "unique_name", "label", "description", "type", "is_degenerate"),
    *("hierarchies", "level_attributes", "calculation_groups", LINKS),
)
FILE = "the SML file"


def files_of(root: Path | None, pattern: str) -> list[Path]:
    """Return the files below a project's folder that match a pattern, in order.

    Raises ValueError if no file matches, or the pattern leaves the folder.
    """
    if root is None:
        raise ValueError("and there is no project whose files it could name")
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise ValueError("which must name files below the root project's folder")
    try:
        files = sorted(path for path in root.glob(pattern) if path.is_file())
    except ValueError as error:
        raise ValueError(f"which is no pattern: {error}") from error
    if not files:
        raise ValueError("and the root project has no such file")
    return files


def read_file(text: str) -> Document:
    """Return a file's part of the config; raise ConfigProblem with its line."""
    try:
        file = read(text, may_be_list=True)
    except ConfigProblem as problem:
        problem.entry = FILE
        raise
    values = file.values
    if isinstance(values, list):
        return _relationships(file, ())
    kind = values.get("object_type")
    if kind == OBJECT:
        return _part(file, {OBJECT: [values]}, (), (OBJECT, 0))
    if LINKS not in values or kind not in (None, DIMENSION):
        raise _wrong(
            file,
            ("object_type",),
            "must have either 'object_type: row_security' or a list of 'relationships'",
        )
    known = (LINKS,) if kind is None else KEYS_OF_A_DIMENSION
    for key in values:
        if key not in known:
            problem = f"unknown key '{key}'{spelling.listed(key, known)}"
            raise _wrong(file, (key,), problem)
    return _relationships(file, (LINKS,))


def _relationships(file: Document, place: Place) -> Document:
    """Return the part with a file's relationships, each to a security object."""
    links = file.values[LINKS] if place else file.values
    if not isinstance(links, list) or not links:
        raise _wrong(file, place, "'relationships' must be a list of entries")
    for number, link in enumerate(links):
        far = link.get("to") if isinstance(link, dict) else None
        if isinstance(far, dict) and DIMENSION in far:
            raise ConfigProblem(
                f"relationship {number + 1}, to",
                f"leads to the dimension '{far[DIMENSION]}': write under"
                " 'relationships' of the config how the relations of the star join, and"
                " leave here what leads to a 'row_security'",
                line=file.line((*place, number, "to")),
            )
    return _part(file, {LINKS: links}, place, (LINKS,))


def _part(file: Document, values: Any, place: Place, to: Place) -> Document:
    """Return a part of the config, with lines from a place in the file."""
    part, size = Document(values), len(place)
    for told, kept in ((file.lines, part.lines), (file.spelled, part.spelled)):
        for path, said in told.items():
            if path[:size] == place:
                kept[(*to, *path[size:])] = said
    return part


def _wrong(file: Document, place: Place, problem: str) -> ConfigProblem:
    return ConfigProblem(FILE, problem, line=file.line(place))
