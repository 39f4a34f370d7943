"""Queries in files of their own take values at their places."""

from secure_datasets.sql.writing import filled

VALUES = {"cte": "one as (\n\n    select 1\n\n)", "none": "", "table": "s.t"}


def test_a_value_at_the_beginning_of_a_line_is_indented_as_its_place():
    assert filled("with\n    $cte,", VALUES.get) == (
        "with\n    one as (\n\n        select 1\n\n    ),"
    )


def test_a_value_within_a_line_stays_as_it_is():
    assert filled("    a, $cte", VALUES.get) == f"    a, {VALUES['cte']}"
    assert filled("from $table as t", VALUES.get) == "from s.t as t"


def test_an_empty_value_leaves_an_empty_line():
    assert filled("a\n    $none\nb", VALUES.get) == "a\n\nb"


def test_a_dollar_before_no_name_is_no_place():
    text = "seen rlike '^v1-[0-9]{32}$' and a = '${b}'"
    assert filled(text, VALUES.get) == text


def test_a_value_has_no_places():
    assert filled("$a", {"a": "$b", "b": "c"}.get) == "$b"
