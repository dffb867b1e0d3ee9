"""What singles people out, in words."""

from __future__ import annotations

from typing import Any

from privacy_risk.singled_out import singled_out_told


def found(singled: int, sets: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    parts = [{"column": name, "part": part, "standard_error": error} for name, part, error in more["parts"]]
    return {
        "judged": {"quasi_identifiers": ["zip", "sex", "born"]},
        "persons": 2000,
        "singled_out": singled,
        "largest_set": 3,
        "sets_found": more.get("sets_found", len(sets)),
        "smallest_sets": sets,
        "columns": parts,
        "orders": more.get("orders"),
    }


def test_sets_and_shares_are_sentences():
    sets = [{"columns": ["zip"], "persons": 12}, {"columns": ["sex", "zip", "born"], "persons": 300}]
    told = list(singled_out_told(found(312, sets, parts=[("born", 0.614, None), ("zip", 0.386, None)])))
    assert told == [
        "zip alone singles out 12 of 2,000 people.",
        "sex, zip and born single out 300 of 2,000 people, and no fewer columns do.",
        "All columns together single out 312 of 2,000 people.",
        "Share of all that is singled out: born 61 %, zip 39 %.",
    ]


def test_five_sets_are_told_and_how_many_more_there_are_and_the_error_of_what_was_drawn():
    sets = [{"columns": [f"c{place}"], "persons": 1} for place in range(20)]
    asked = found(20, sets, parts=[("c0", 1.0, 0.0123)], sets_found=45, orders=100)
    told = list(singled_out_told(asked))
    assert len(told) == 7
    assert told[5:] == [
        "All columns together single out 20 of 2,000 people; "
        "40 more sets of up to 3 columns do some of them.",
        "Share of all that is singled out: c0 100 % (of 100 drawn orders, standard error up to 1.2 %).",
    ]


def test_nobody_is_singled_out():
    told = list(singled_out_told(found(0, [], parts=[("zip", 0.0, None)])))
    assert told == ["None of 2,000 people is singled out by zip, sex and born."]
