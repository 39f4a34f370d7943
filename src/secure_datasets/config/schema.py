"""The only definition of the config's keys, their values and their meaning.

The checks, the reference page and the completion in editors come from here.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from secure_datasets.rules import times

NAME = re.compile(r"[a-z][a-z0-9_]*")
# Names that Spark reads as a constant or a part of a query, without backticks.
NO_NAMES = {
    *("true", "false", "null", "left", "right", "full", "inner", "cross", "natural"),
    *("semi", "anti", "join", "on", "using", "lateral"),
    *("union", "except", "minus", "intersect"),
}


def wrong(problem: str) -> PydanticCustomError:
    """Return a problem; `{key}` in it stands for the key, which the caller knows."""
    return PydanticCustomError("said", "{problem}", {"problem": problem})


def _name(value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise wrong(f"'{{key}}' has '{value}', which is not a lower snake case name")
    if value in NO_NAMES:
        raise wrong(f"'{{key}}' has '{value}', which is a word of SQL and no name")
    return value


def _is_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise wrong("'{key}' must be a list of names")
    return value


def _some(value: list[Any]) -> list[Any]:
    if not value:
        raise wrong("'{key}' is empty")
    return value


def _once(value: list[Any]) -> list[Any]:
    for item in value:
        _name(item)
    if len(set(value)) < len(value):
        raise wrong("'{key}' names a column twice")
    return value


def _names(value: Any) -> list[Any]:
    return _once(_some(_is_list(value)))


def _names_or_none(value: Any) -> list[Any]:
    return _once(_is_list(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong(f"'{{key}}' must be a text{_hint(value)}")
    return value


def _is_group(value: Any) -> bool:
    """Whether a role is a group by its id: `{group: 17}`."""
    if not isinstance(value, dict) or list(value) != ["group"]:
        return False
    group = value["group"]
    is_number = isinstance(group, int) and not isinstance(group, bool)
    return is_number and -(2**63) <= group < 2**63


def _role(value: Any) -> Any:
    if isinstance(value, dict):
        if not _is_group(value):
            raise wrong("'{key}' must be a role's name, or a group's id: {group: 17}")
        return value
    if isinstance(value, list):
        raise wrong("'{key}' must be one role: write an entry for each")
    return _text(value)


def _roles(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise wrong("'{key}' must be a list of roles, and not empty")
    for item in value:
        if not _is_group(item) and (not isinstance(item, str) or not item.strip()):
            raise wrong(
                f"'{{key}}' has '{item}', which is neither a role's name nor a group's"
                " id, as {group: 17} is"
            )
    if len({str(item).strip() for item in value}) < len(value):
        raise wrong("'{key}' names a role twice")
    return value


def _line(value: Any) -> str:
    _text(value)
    if len(value.splitlines()) > 1 or not value.isprintable():
        raise wrong("'{key}' must be a text on one line")
    return value


def _hint(value: Any) -> str:
    """Return the hint `: quote it` for a value that YAML does not read as text."""
    return "" if value is None or isinstance(value, str | list | dict) else ": quote it"


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong("'{key}' must be true or false")
    return value


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong("'{key}' must be a whole number")
    return value


def _condition(value: Any) -> Any:
    if not isinstance(value, str | bool) or not str(value).strip():
        raise wrong("'{key}' must be an SQL expression, as a text")
    return value


def _mask(value: Any) -> Any:
    for mask in value.values() if isinstance(value, dict) and value else [value]:
        if not isinstance(mask, str | bool | int) or not str(mask).strip():
            hint = ": null between quotes" if mask is None else ""
            raise wrong(f"'{{key}}' must be an SQL expression, as a text{hint}")
    return value


def _resource(value: Any) -> Any:
    if isinstance(value, dict):
        if list(value) != ["tag"] or not isinstance(value["tag"], str):
            raise wrong("'{key}' must be a text, or the tag of columns: {tag: pii}")
        value = value["tag"]
    _text(value)
    return value


def _lines_of_shown(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise wrong("'{key}' must be a list of {role: ..., where: ...}, and not empty")
    return value


def _moment_of(key: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if times.bound(key, value) is None:
            raise wrong(
                f"'{{key}}' must be a day or a moment in UTC, such as 2026-05-01 or"
                f" 2026-05-01 18:00:00, not '{value}'"
            )
        return value

    return BeforeValidator(check)


def _named_mapping(what: str) -> BeforeValidator:
    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(f"'{{key}}' must map {what}")
        return value

    return BeforeValidator(check)


def _reasons(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise wrong("'{key}' must map columns to the reasons why no right is asked for")
    for column, reason in value.items():
        if not isinstance(reason, str) or not reason.strip():
            raise wrong(f"'{{key}}' gives no reason for '{column}'")
    return value


def _entries(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong("'{key}' must map names to entries")
    for name in _some(list(value)):
        _name(name)
    return value


def _optional_entries(value: Any) -> dict[str, Any]:
    return _entries(value) if value != {} else value


def _list_of_entries(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise wrong("'{key}' must be a list of entries")
    return value


def _keys(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong(
            "the key '{key}' is missing, or does not map object keys to columns"
        )
    _names(list(value.values()))
    return value


def _cases(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise wrong("'switch.cases' must map each value to its rule")
    return value


def _typed_columns(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong("'{key}' must map names to types")
    _names(list(value))
    for column, data_type in value.items():
        if not isinstance(data_type, str) or not data_type.strip():
            raise wrong(f"the column '{column}' has no type")
    return value


def _levels(value: Any) -> Any:
    if not isinstance(value, list | dict):
        raise wrong("'{key}' must be a list of lists of columns, the lowest first")
    for level in value.values() if isinstance(value, dict) else value:
        _names(level)
    for name in value if isinstance(value, dict) else ():
        if not isinstance(name, str) or not name.strip():
            raise wrong(f"'{{key}}' has the name '{name}', which is no text: quote it")
    return value


def _patterns(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise wrong("'{key}' must be a list of files or patterns of files")
    for pattern in value:
        _text(pattern)
    return value


def _one_of(*known: str, said: str | None = None) -> BeforeValidator:
    def check(value: Any) -> str:
        if value not in known:
            choice = said or " or ".join(known)
            raise wrong(f"'{{key}}' must be {choice}, not '{value}'")
        return value

    return BeforeValidator(check)


NAMES = {
    "type": "array",
    "items": {"type": "string", "pattern": f"^{NAME.pattern}$"},
    "uniqueItems": True,
}
MAPS_NAMES = {"type": "object", "additionalProperties": NAMES["items"]}
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema(NAMES["items"])]
Names = Annotated[
    list[str], BeforeValidator(_names), WithJsonSchema(NAMES | {"minItems": 1})
]
NamesOrNone = Annotated[
    list[str], BeforeValidator(_names_or_none), WithJsonSchema(NAMES)
]
Text = Annotated[str, BeforeValidator(_text)]
Line = Annotated[str, BeforeValidator(_line)]
GROUP = {
    "type": "object",
    "properties": {"group": {"type": "integer"}},
    "required": ["group"],
    "additionalProperties": False,
}
ROLE = {"anyOf": [{"type": "string"}, GROUP]}
Role = Annotated[str | dict[str, int], BeforeValidator(_role), WithJsonSchema(ROLE)]
Roles = Annotated[
    list[str | dict[str, int]],
    BeforeValidator(_roles),
    WithJsonSchema({"type": "array", "items": ROLE}),
]
Flag = Annotated[bool, BeforeValidator(_flag)]
Keys = Annotated[dict[str, str], BeforeValidator(_keys), WithJsonSchema(MAPS_NAMES)]
TypedColumns = Annotated[
    dict[str, str],
    BeforeValidator(_typed_columns),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}}),
]


class Entry(BaseModel):
    """An entry: it has no keys but these."""

    model_config = ConfigDict(extra="forbid", strict=True)


def key(description: str, default: Any = ..., **options: Any) -> Any:
    """Return a key of an entry, with its meaning."""
    return Field(default, description=description, **options)


class Right(Entry):
    """What a user must hold on an object, as permission rows and the audit name it."""

    object_type: Text = key("The type of the object, such as `Data Source`.")
    permission: Text = key("The permission, such as `View Metadata`.")
    key: Name = key(
        "The object key that names the object; needed where the tier has several.", None
    )


class Tier(Entry):
    """How a right to see is looked up.

    An access view has one row per object and user who may see it.
    """

    access_view: Name = key("The model.")
    object_keys: Names = key("Its columns that name the object, without `user_id`.")
    carries: NamesOrNone = key(
        "Its columns that a secure dataset hands on after `user_id`."
    )
    right: Right = key(
        "The right behind it, by which `who` and the audit tell where it comes from.",
        None,
    )


class SecondSide(Entry):
    """A second right on the same tier that the user must hold too."""

    keys: Keys = key("As the dataset's own `keys`, with another column in one place.")
    unless_null: Name = key(
        "The column of `keys` whose null means that the row has no second side."
    )


Unchecked = Annotated[dict[str, str], BeforeValidator(_reasons)]


class Case(Entry):
    """What a value of the switch decides: a tier and keys, or everyone."""

    tier: Annotated[Any, WithJsonSchema({"type": "string"})] = key(
        "The tier whose right is asked for.", None
    )
    keys: Annotated[Any, WithJsonSchema(MAPS_NAMES)] = key(
        "For each object key of the tier, the column of the base that holds it.", None
    )
    second_side: SecondSide = key("A second right that the user must hold too.", None)
    unchecked: Unchecked = key(
        "Columns of the base that refer to an object of a tier's kind, and for which no"
        " right is asked on purpose, each with the reason. What a column refers to is"
        " said by the base's documentation.",
        {},
    )
    visible_to: Annotated[Any, WithJsonSchema({"const": "everyone"})] = key(
        "`everyone`, instead of tier and keys.", None
    )


class Switch(Entry):
    """The row's own value of a column decides; one without a case is seen by nobody."""

    column: Name = key("The column.")
    cases: Annotated[dict[Any, Case], BeforeValidator(_cases)] = key(
        "The rule of each value."
    )


class Published(Entry):
    """What every dataset says."""

    columns: Names = key("All its columns, in order: what is published.")
    view_authorization: Flag = key(
        "True: as a view of its model's owner, it shows a user what `view_outcomes`"
        " says: nothing, all that tier and row security leave, or what the policies"
        " leave of that.",
        False,
    )
    renamed_from: Name = key(
        "The name that the dataset had before: a comparison of two states holds it"
        " against that one.",
        None,
    )


class Dataset(Published):
    """A dataset over a model.

    It has a tier, a switch, or is visible to everyone. Over another one,
    `vw_secure_dataset_<name>`, it has none of these: a user sees there what that shows
    to the same user. With `view_authorization`, which both must have, the policies at
    the end of the chain hold, by the outcome on the dataset above.
    """

    base: Name = key("The model with the rows.")
    unique_key: Names = key("The columns that tell the base's rows apart.")
    tier: Annotated[Any, WithJsonSchema({"type": "string"})] = key(
        "The tier whose right is asked for.", None
    )
    keys: Annotated[Any, WithJsonSchema(MAPS_NAMES)] = key(
        "For each object key of the tier, the column of the base that holds it.", None
    )
    second_side: SecondSide = key("A second right that the user must hold too.", None)
    unchecked: Unchecked = key(
        "Columns of the base that refer to an object of a tier's kind, and for which no"
        " right is asked on purpose, each with the reason. What a column refers to is"
        " said by the base's documentation.",
        {},
    )
    switch: Switch = key(
        "Instead of tier and keys: a value of the row decides by which rule it is"
        " seen.",
        None,
    )
    visible_to: Annotated[Any, WithJsonSchema({"const": "everyone"})] = key(
        "Instead of tier and keys: `everyone`, where a policy says by a condition who"
        " sees which rows.",
        None,
    )


class Query(Entry):
    """A query over the star."""

    dimensions: Annotated[
        dict[str, str], _named_mapping("columns to 'dimensions' and 'measures'")
    ] = key("Its dimensions, each `<relation>.<column>`.", {})
    measures: Annotated[
        dict[str, str], _named_mapping("columns to 'dimensions' and 'measures'")
    ] = key(
        "Its measures, SQL aggregates of the fact's columns. A column of a dimension"
        " in a measure counts as selected.",
        {},
    )
    fact: Annotated[Any, WithJsonSchema({"type": "string"})] = key(
        "The fact, where several could be meant.", None
    )


class QueryDataset(Published):
    """A dataset that is a query over the star, as far as the rules let it be seen."""

    query: Query = key("The dimensions and measures.")
    unique_key: NamesOrNone = key("The dimensions of the query.")
    visible_to: Annotated[
        Literal["everyone"],
        _one_of("everyone", said="'everyone' and stand without a tier"),
    ] = key("`everyone`: a query has no tier.")


class ShownTo(Entry):
    """To whom a mask shows the value: who holds the role, in the rows of `where`."""

    role: Role = key("The role, as in a policy; `*` is everybody.")
    where: Annotated[
        str | bool,
        BeforeValidator(_condition),
        WithJsonSchema({"type": ["string", "boolean"]}),
    ] = key("SQL over the dataset's columns: in which rows; without one, in all.", True)


class Policy(Entry):
    """What a role sees of a dataset, beyond its tier.

    A dataset with a permissive condition is seen only through a role that has one.
    """

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    role: Role = key(
        "The role: the name of a user group, `Global Admin` or `Global Data Source"
        " Admin`. `{group: 17}` is the group with this id, whatever its name. `*` is"
        " every live user.",
        None,
    )
    except_: Roles = key(
        "Of a mask or a restrictive condition, instead of `role`: it is for everybody"
        " who holds none of these roles.",
        None,
        alias="except",
    )
    shown_to: Annotated[list[ShownTo], BeforeValidator(_lines_of_shown)] = key(
        "Of a mask, instead of `role`: it is put on for everybody, but in the rows that"
        " one of these lines shows.",
        None,
    )
    as_: Annotated[
        Literal["permissive", "restrictive"], _one_of("permissive", "restrictive")
    ] = key(
        "Of a condition: `permissive` ones are ored, and a row is seen that one of the"
        " user's shows; of those that are `restrictive`, each that is for the user must"
        " be true besides.",
        "permissive",
        alias="as",
    )
    resource: Annotated[
        Any,
        BeforeValidator(_resource),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "properties": {"tag": {"type": "string"}},
                        "required": ["tag"],
                        "additionalProperties": False,
                    },
                ]
            }
        ),
    ] = key(
        "`<dataset>`, for a condition on its rows, or `<dataset>.<column>`, for a mask."
        " `{tag: pii}` is every column to which the documentation of a dataset's base,"
        " or of the dataset, gives this tag."
    )
    condition: Annotated[
        str | bool,
        BeforeValidator(_condition),
        WithJsonSchema({"type": ["string", "boolean"]}),
    ] = key(
        "SQL over the dataset's columns: which rows the role sees, or of which rows the"
        " column is masked for it; without one, all.",
        True,
    )
    mask: Annotated[
        Any,
        BeforeValidator(_mask),
        WithJsonSchema({"type": ["string", "integer", "boolean", "object"]}),
    ] = key(
        "SQL: what the role gets in the column's place, in the column's type. Of a tag,"
        " one for each type, and `default` for the others:"
        ' `{string: "\'***\'", default: "null"}`.',
        None,
    )
    mask_order: Annotated[
        int, BeforeValidator(_number), WithJsonSchema({"type": "integer"})
    ] = key(
        "Of several masks on a column, the one with the highest order is put on; no two"
        " have the same.",
        0,
    )
    mask_on_null: Annotated[Literal["mask", "pass"], _one_of("mask", "pass")] = key(
        "What a mask's condition means where it is null.", "mask"
    )
    valid_from: Annotated[
        Any, _moment_of("valid_from"), WithJsonSchema({"type": "string"})
    ] = key(
        "From when it holds: a day, whose beginning counts, or a moment, in UTC. The"
        " reader's clock decides. Outside its time a permissive condition shows"
        " nothing, and a restrictive one or a mask does nothing.",
        None,
    )
    valid_until: Annotated[
        Any, _moment_of("valid_until"), WithJsonSchema({"type": "string"})
    ] = key(
        "Until when it holds: a day, which belongs to its time to the end, or a moment,"
        " which does not; in UTC.",
        None,
    )
    check: Flag = key(
        "Whether rows that the role writes must satisfy its condition; see"
        " `checked_rows`.",
        True,
    )


class Relation(Entry):
    """A model or seed of the star."""

    kind: Annotated[
        Literal["fact", "dimension", "mapping"],
        _one_of("fact", "dimension", "mapping", said="fact, dimension or mapping"),
    ] = key("What it is.")
    columns: TypedColumns = key("Its columns with their types.")
    levels: Annotated[
        list[list[str]] | dict[str, list[str]],
        BeforeValidator(_levels),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "array", "items": NAMES},
                    {"type": "object", "additionalProperties": NAMES},
                ]
            }
        ),
    ] = key(
        "The columns of a dimension by level, the lowest first; as a mapping, each with"
        " the level's name. A column in no level is above none.",
        [],
    )
    hierarchy: Line = key(
        "The name of its levels' hierarchy. Relationships from here say no other.",
        None,
    )


class Reader(Entry):
    """Where the attributes of whoever reads stand.

    `reader.<column>` in a condition, a mask's condition or a `where` is the column of
    the user's row. Of several rows, what is true of one of them is true; where there is
    none, the whole condition is null, which hides and masks.
    """

    relation: Name = key("The model or seed, with a row for each user.")
    key: Name = Field(description="Its column with the ids of the users.")


class RowSecurity(Entry):
    """A security object: a user sees what leads to a key of the user's.

    What it restricts: see docs/row-security.md.
    """

    unique_name: Line = key("Its name, there once, on one line.")
    object_type: Annotated[Literal["row_security"], _one_of("row_security")] = key(
        "What it is."
    )
    label: Line = key("What people call it; it may repeat.")
    description: Text = key("What it is for.", None)
    dataset: Text = key("The relation that maps ids to keys.")
    filter_key_column: Text = key("Its column with the keys.")
    ids_column: Text = key("Its column with the ids.")
    id_type: Annotated[
        Literal["user", "group", "username", "groupname"],
        _one_of("user", "group", "username", "groupname", said="user or group"),
    ] = key(
        "Whose ids: `user`, or `group`, whose members hold its keys. `username` and"
        " `groupname` are out of use."
    )
    scope: Annotated[
        Literal["related", "fact", "all"], _one_of("related", "fact", "all")
    ] = key("How far it reaches.")
    use_filter_key: Flag = key(
        "Whether a user's keys are looked up as a list; else they are joined.", False
    )
    secure_totals: Flag = key(
        "Whether totals over the secured level are restricted.", True
    )


class Near(Entry):
    """Where a relationship begins."""

    dataset: Text = key("A relation.")
    join_columns: Names = key("Its columns that the other end has too.")
    hierarchy: Line = key("The hierarchy whose level is joined.", None)
    level: Line = key(
        "The level that the columns are of: its name among the relation's `levels` or,"
        " where these have no names, one of its columns or a name of one's own.",
        None,
    )


class Far(Entry):
    """Where a relationship leads: one of these."""

    dataset: Text = key("A relation that has the same columns.", None)
    row_security: Text = key("A security object, whose keys the column holds.", None)


class Relationship(Entry):
    """What may be joined to what."""

    unique_name: Line = key("Its name, there once.", None)
    from_: Near = key("Where it begins.", alias="from")
    to: Far = key("Where it leads.")
    type: Annotated[Literal["embedded"], _one_of("embedded")] = key(
        "What the Semantic Modeling Language calls it.", None
    )


def _shape(value: Any) -> str:
    """Return the tag of a dataset's shape: a base or a query."""
    return "<query>" if isinstance(value, dict) and "query" in value else "<base>"


AnyDataset = Annotated[
    Annotated[Dataset, Tag("<base>")] | Annotated[QueryDataset, Tag("<query>")],
    Discriminator(_shape),
]


class Config(Entry):
    """Who sees which rows of which dataset."""

    tiers: Annotated[dict[str, Tier], BeforeValidator(_entries)] = key(
        "How rights to see are looked up."
    )
    datasets: Annotated[dict[str, AnyDataset], BeforeValidator(_optional_entries)] = (
        key(
            "What is published, as `vw_secure_dataset_<name>`. There is no open"
            " default. In a root project's document `false` switches one of the"
            " product's off."
        )
    )
    policies: Annotated[list[Policy], BeforeValidator(_list_of_entries)] = key(
        "What the roles see of a dataset, beyond its tier.", []
    )
    relations: Annotated[dict[str, Relation], BeforeValidator(_optional_entries)] = key(
        "The star: the models and seeds that the two parts below, and queries, name.",
        {},
    )
    reader: Reader = key("The attributes of the reader.", None)
    row_security: Annotated[list[RowSecurity], BeforeValidator(_list_of_entries)] = key(
        "Security objects.", []
    )
    relationships: Annotated[list[Relationship], BeforeValidator(_list_of_entries)] = (
        key("How the relations join, and which columns hold keys.", [])
    )
    sml: Annotated[
        list[str],
        BeforeValidator(_patterns),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = key(
        "Files of the Semantic Modeling Language, as paths or patterns below the root"
        " project's folder. Their security objects and relationships follow those of"
        " the two parts above.",
        [],
    )
