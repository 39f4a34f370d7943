"""The further objects on which memberships and global roles give rights."""

from __future__ import annotations

from secure_datasets.questions.facts.built import Built, in_list
from secure_datasets.review.queries.objects import Ids

# The raw row in a way that can give rights on many objects: the membership, else the grant.
ROW_OF_MANY = """case when user_group_member_id is null then grant_table else 'user_group_members' end as given_table,
        coalesce(user_group_member_id, grant_id) as given_id"""

NAMED_OTHERS = """named_others as (

    select
        here.given_table,
        here.given_id,
        here.user_id,
        here.object_type,
        here.object_id,
        rows_of_many.number_of_others,
        transform(
            filter(rows_of_many.first_objects, each -> not (each.object_type = here.object_type and each.object_id = here.object_id)),
            each -> each.called
        ) as others
    from here_by_row as here
    inner join rows_of_many
        on here.given_table = rows_of_many.given_table and here.given_id = rows_of_many.given_id

)"""

ALSO_GIVEN = """also_given as (

    -- Several memberships may give the access.
    select
        user_id,
        object_type,
        object_id,
        array_sort(collect_set(named_struct('row', concat(given_table, ' ', given_id), 'told', shortly))) as shortly,
        array_join(array_sort(collect_set(told)), '; ') as told
    from told_others
    group by user_id, object_type, object_id

)"""


def also_given(built: Built, ids: Ids, people: Ids) -> list[str]:
    """Return the CTEs of the further objects that the rows of the ways give rights on.

    Ten by name in short, thirty in full. The pack of an owner names only objects that
    have a page in it.
    """
    return [
        *_given_objects(built, people),
        *_rows_of_many(built, ids),
        NAMED_OTHERS,
        f"""told_others as (

    select
        user_id,
        object_type,
        object_id,
        given_table,
        given_id,
        {_told(10)} as shortly,
        {_told(30)} as told
    from named_others

)""",
        ALSO_GIVEN,
    ]


def _given_objects(built: Built, people: Ids) -> list[str]:
    """Return the CTEs of the objects that the rows behind the access lead to."""
    only = "" if people is None else f" and user_id in ({in_list(people)})"
    is_of_many = "user_group_member_id is not null or grant_table = 'user_global_roles'"
    return [
        f"""here_by_row as (

    -- A row may give several rights.
    select distinct
        {ROW_OF_MANY},
        user_id,
        object_type,
        object_id
    from ways
    where {is_of_many}

)""",
        f"""given_objects as (

    -- A row may give several rights on an object.
    select distinct
        paths.given_table,
        paths.given_id,
        paths.object_type,
        paths.object_id
    from (
        select
        {ROW_OF_MANY},
            user_id,
            object_type,
            object_id
        from {built.relation("explained_access_paths")}
        where ({is_of_many}){only}
    ) as paths
    -- Only rows that the pack shows are looked up.
    left semi join here_by_row
        on
            paths.user_id = here_by_row.user_id
            and paths.given_table = here_by_row.given_table
            and paths.given_id = here_by_row.given_id

)""",
    ]


def _rows_of_many(built: Built, ids: Ids) -> list[str]:
    """Return CTEs: these objects by name, and the rows that lead to more than one."""
    shown = built.relation("int_securable_objects") if ids is None else "objects"
    return [
        f"""named_objects as (

    select
        given_objects.given_table,
        given_objects.given_id,
        given_objects.object_type,
        given_objects.object_id,
        concat(coalesce(nullif(shown_objects.object_name, ''), '(no name)'), ' (', shown_objects.object_type, ' ', shown_objects.object_id, ')') as called,
        row_number() over (
            partition by given_objects.given_table, given_objects.given_id
            order by case when shown_objects.object_id is null then 1 else 0 end, given_objects.object_type, given_objects.object_id
        ) as place
    from given_objects
    left join {shown} as shown_objects
        on
            given_objects.object_type = shown_objects.object_type
            and given_objects.object_id = shown_objects.object_id

)""",
        """rows_of_many as (

    select
        given_table,
        given_id,
        count(*) - 1 as number_of_others,
        array_sort(collect_list(case when place <= 31 and called is not null then struct(place, object_type, object_id, called) end)) as first_objects
    from named_objects
    group by given_table, given_id
    having count(*) > 1

)""",
    ]


def _told(number: int) -> str:
    """Return the further objects of a row as a text, with a number of them by name."""
    return f"""concat(
            given_table, ' ', given_id, ' also gives rights on ', number_of_others,
            case when number_of_others = 1 then ' other object' else ' other objects' end,
            case
                when size(others) = 0 then ', which this pack does not show'
                else concat(
                    ': ', array_join(slice(others, 1, {number}), ', '),
                    case
                        when number_of_others > least(size(others), {number})
                            then concat(' and ', number_of_others - least(size(others), {number}), ' more')
                        else ''
                    end
                )
            end
        )"""
