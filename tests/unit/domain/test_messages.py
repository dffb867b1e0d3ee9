"""Numbers before nouns in messages: one is one, and thousands are set apart."""

from app.domain.errors import counted, having


def test_one_thing_is_named_in_the_singular():
    assert [counted(n, "row") for n in (0, 1, 2, 1500)] == ["0 rows", "1 row", "2 rows", "1,500 rows"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]
    assert [having(n, "record") for n in (1, 2)] == ["1 record has", "2 records have"]
