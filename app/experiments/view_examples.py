"""V2: the worked examples of Machanavajjhala (2008), chapter 2, with what is printed wrongly there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from app.domain.errors import InvalidInput
from app.domain.views.relational_schema import RelationalSchema, RelationDefinition, built
from app.experiments.report import Claim, Effort, Report, ResultTable, exact
from app.experiments.view_pairs import answer, classes, is_critical, judged, relations
from app.samples import published_tables
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked

_PUBLISHED: Final = published_tables.HOSPITAL
HOSPITAL: Final = relations({name: " ".join(own) for name, own in _PUBLISHED["relations"].items()})
CANCER: Final[str] = _PUBLISHED["secret"]
OF_HOSPITAL: Final[Sequence[tuple[str, str, str]]] = _PUBLISHED["views"]
PATIENTS: Final = (
    ("P", (123, "John")),
    ("P", (135, "Daisy")),
    ("P", (146, "Chris")),
    ("D", (123, "hepatitis", "RX1", 1212)),
    ("D", (135, "cancer", "RX2", 2312)),
    ("D", (135, "hepatitis", "RX1", 1212)),
)
"""Machanavajjhala (2008), figure 2.2."""
DOCTORS: Final = {"T": "name doctor ward"}
DRAKE: Final = "S(n) :- T(n,'Drake',w)."
WARD, OTHERS = "V(n) :- T(n,d,1212).", "V(n,w) :- T(n,d,w), d != 'Drake'."
TREATED: Final[tuple[tuple[str, tuple[str | int, ...]], ...]] = (
    ("T", ("Bruce", "Hu", 1212)),
    ("T", ("Dana", "Drake", 1212)),
    ("T", ("Elmo", "Drake", 2312)),
)
FIVE: Final = {"R": "a b c d e"}
FIRST_OF_SMALL: Final = "S(x,y,z) :- R(x,y,z,b,0), R(1,y,z,0,0), R(x,0,0,0,0), R(x,0,1,0,0)."
SECOND_OF_SMALL: Final = "V(x,y,z) :- R(x,y,z,1,b), R(1,y,z,1,1), R(x,1,0,1,1), R(x,1,1,1,1)."
"""Machanavajjhala (2008), example 2.3, figures 2.4 and 2.5."""
CLASSES: Final = relations(
    {"R": "a b c", "S2": "a b", "T": "a b c", "D": "pid diagnosis medication ward", "P": "pid pname"}
)
OF_CLASSES: Final = (
    (
        "Machanavajjhala (2008), figure 2.3, first",
        "Q(a1,a2) :- R(a1,b1,b2), S2(a2,b2), T(a1,b1,b2).",
        {"no_self_join", "one_self_join_per_relation", "column_typed", "maximal_row", "acyclic"},
    ),
    (
        "Machanavajjhala (2008), figure 2.3, second",
        "Q(a1,a2) :- R(a1,b1,0), R(a2,b2,1), T(2,b2,b3).",
        {"one_self_join_per_relation", "column_typed", "maximal_row", "acyclic"},
    ),
    (
        "Machanavajjhala (2008), figure 2.3, third",
        "Q(a1,a2) :- R(a1,b2,b3), R(a2,b2,b4), R(a1,c2,b3), R(a2,d2,b5).",
        {"column_typed", "simple_tableau", "acyclic"},
    ),
    (
        "Machanavajjhala (2008), figure 2.6",
        "Q(n) :- P(p,n), D(p,'hepatitis',b1,b2), D(p,'cancer',c1,c2).",
        {"one_self_join_per_relation", "column_typed", "maximal_row", "simple_tableau", "acyclic"},
    ),
)


def run(effort: Effort) -> Report:
    """Machanavajjhala (2008), examples 2.1 to 2.3, section 1.3.1, figures 2.3 and 2.6, and its errors."""
    verdicts = [judged(CANCER, view, HOSPITAL).verdict for _, view, _ in OF_HOSPITAL]
    printed = []
    for place, says, queries, schema, (said, so) in _PAIRS:
        judgement = judged(*queries, schema).verdict
        printed.append((place, says, said, so, judgement, judgement == so))
    return Report(
        id="V2",
        title="Worked examples of perfect privacy, and what is printed wrongly",
        setting="nothing is drawn; every verdict is that of the product",
        tables=(
            ResultTable(
                "Example 2.1: views beside the names of cancer patients",
                ("view", "right", "product"),
                tuple(
                    (name, right, found)
                    for (name, _, right), found in zip(OF_HOSPITAL, verdicts, strict=True)
                ),
            ),
            ResultTable(
                "What the source says, and what is right",
                ("place", "the source", "so it is", "right", "product"),
                tuple(row[:5] for row in printed),
            ),
            ResultTable(
                "Classes of the queries of Machanavajjhala (2008), figures 2.3 and 2.6",
                ("query", "classes"),
                tuple((name, ", ".join(classes(query, CLASSES))) for name, query, _ in OF_CLASSES),
            ),
        ),
        pictures=(),
        claims=(
            exact(
                "Example 2.1: every view has the verdict that is right",
                all(found == right for (*_, right), found in zip(OF_HOSPITAL, verdicts, strict=True)),
                " ".join(verdicts),
            ),
            *_claims_of_hospital(),
            *_claims_of_doctors(),
            *_claims_of_small_domains(),
            _columns_of_figures(),
            exact(
                "The queries of Machanavajjhala (2008), figures 2.3 and 2.6 are of the classes they show",
                all(own <= set(classes(query, CLASSES)) for _, query, own in OF_CLASSES),
                f"{len(OF_CLASSES)} queries",
            ),
            exact(
                "Where the source errs, the product's verdict is the right one",
                all(holds for *_, holds in printed),
                f"{len(printed)} places",
            ),
        ),
    )


def _columns_of_figures() -> Claim:
    """Machanavajjhala (2008), figures 2.6 and 2.7: D has four columns, and three as printed there."""
    name, query, _ = OF_CLASSES[-1]
    found = judged(query, "V(w) :- D(p,'cancer',b,w).", HOSPITAL)
    try:
        judged(query.replace("b1,b2", "b1").replace("c1,c2", "c1"), query, HOSPITAL)
        refused = ""
    except InvalidInput as error:
        refused = error.faults[0].code
    return exact(
        "Machanavajjhala (2008), figures 2.6 and 2.7: the query is of D with four columns, and no set of its "
        "subgoals is looked at; with three, as printed, it is no query of that schema",
        (found.verdict, found.method, found.subset_pairs, refused)
        == ("DISCLOSES", "row_determined", 0, "wrong-arity"),
        f"{name}: {found.verdict} by {found.method}, and {refused}",
    )


def _claims_of_hospital() -> tuple[Claim, ...]:
    def names(*added: tuple[str, tuple[str | int, ...]]) -> list[str]:
        return sorted(str(own) for (own,) in answer(CANCER, HOSPITAL, (*PATIENTS, *added)))

    daisy, chris = (("D", (pid, "cancer", "RX2", 1212)) for pid in (135, 146))
    critical = [
        is_critical(CANCER, "D", (135, "cancer", "RX2", 1212), HOSPITAL),
        is_critical(CANCER, "P", (123, "John"), HOSPITAL),
        is_critical(CANCER, "D", (123, "hepatitis", "RX1", 1212), HOSPITAL),
    ]
    ward, without = {("John",), ("Daisy",)}, {("John",), ("Chris",)}
    shown = answer(OF_HOSPITAL[1][1], HOSPITAL, PATIENTS)
    everybody = answer("V(n) :- P(p,n).", HOSPITAL, PATIENTS)
    lacking = everybody - answer(CANCER, HOSPITAL, PATIENTS)
    return (
        exact(
            "Example 2.2: the row of a cancer patient and the row of a name are critical, that of a "
            "hepatitis patient is not",
            critical == [True, True, False],
            " ".join(map(str, critical)),
        ),
        exact(
            "Machanavajjhala (2008), example 2.2: "
            "a second cancer row of 135 changes nothing on the instance of figure 2.2; one of "
            "146 adds Chris",
            names() == names(daisy) == ["Daisy"] and names(chris) == ["Chris", "Daisy"],
            f"{names()} {names(daisy)} {names(chris)}",
        ),
        exact(
            "Example 2.1: the cancer patients of the ward are those of the ward without those who have no "
            "cancer; the difference is printed the other way round",
            shown == ward and lacking == without and ward - without == {("Daisy",)} != without - ward,
            f"{sorted(ward - without)} and not {sorted(without - ward)}",
        ),
        exact(
            "Example 2.1: the names of patients without cancer are called safe and share the rows of names: "
            "they are denied",
            (gate := _without_cancer()) == "DENY",
            gate,
        ),
    )


def _claims_of_doctors() -> tuple[Claim, ...]:
    free, keyed = relations(DOCTORS), relations(DOCTORS, keys={"T": [["name"]]})
    found = [judged(DRAKE, view, schema).verdict for view in (WARD, OTHERS) for schema in (free, keyed)]
    ward = {name for (name,) in answer(WARD, free, TREATED)}
    others = {row[1][0] for row in TREATED if row[1][1] != "Drake"}
    return (
        exact(
            "Machanavajjhala (2008), section 1.3.1: "
            "the names of a ward disclose; everybody whom Drake does not treat is private, "
            "but not if a name is a key",
            found == ["DISCLOSES", "DISCLOSES", "PRIVATE", "DISCLOSES"],
            " ".join(found),
        ),
        exact(
            "Machanavajjhala (2008), section 1.3.1: "
            "Drake's patients of the ward are the names of the ward without the others",
            ward - others == {"Dana"} and not others - ward,
            f"{ward - others}, the other way round nobody",
        ),
    )


def _is_true(formula: Sequence[Sequence[int]], values: Sequence[int]) -> bool:
    """Whether a formula of clauses is true: 2 is the second variable, -2 its denial."""
    return all(any((values[abs(own) - 1] == 1) == (own > 0) for own in clause) for clause in formula)


ENCODED: Final = (((-1,), (2, 3), (2, -3)), ((-1,), (-2, 3), (-2, -3)))
PRINTED: Final = tuple(
    tuple(
        tuple({1: 2, 2: 1}.get(abs(own), 3) * (1 if own > 0 else -1) for own in clause) for clause in formula
    )
    for formula in ENCODED
)
"""With the first two variables swapped."""


def _claims_of_small_domains() -> tuple[Claim, ...]:
    binary, unbounded = relations(FIVE, (0, 1)), relations(FIVE)
    found = judged(FIRST_OF_SMALL, SECOND_OF_SMALL, binary)
    wider = [
        judged(FIRST_OF_SMALL, SECOND_OF_SMALL, schema).verdict
        for schema in (relations(FIVE, (0, 1, 2)), unbounded)
    ]
    sides = [
        {row for row in product((0, 1), repeat=5) if is_critical(query, "R", row, binary)}
        for query in (FIRST_OF_SMALL, SECOND_OF_SMALL)
    ]
    shared = [(*t, 1, 0) for t in product((0, 1), repeat=3)]
    encoded, printed = (
        all(
            (row in own) == _is_true(formula, row)
            for own, formula in zip(sides, of, strict=True)
            for row in shared
        )
        for of in (ENCODED, PRINTED)
    )
    return (
        exact(
            "Example 2.3: over two values it is private, which only trying all of them proves; over three or "
            "unbounded ones it discloses",
            (found.verdict, found.method, wider) == ("PRIVATE", "enumeration", ["DISCLOSES"] * 2),
            f"{found.verdict} by {found.method}, {' '.join(wider)}",
        ),
        exact(
            "Example 2.3: either query has ten critical rows, and none in common",
            [len(own) for own in sides] == [10, 10] and not sides[0] & sides[1],
            " ".join(str(len(own)) for own in sides),
        ),
        exact(
            "Machanavajjhala (2008), theorem 2.6: "
            "a row (t, 1, 0) is critical exactly if t satisfies (¬x1)(x2 ∨ x3)(x2 ∨ ¬x3), for "
            "the view (¬x1)(¬x2 ∨ x3)(¬x2 ∨ ¬x3); as printed, with x1 and x2 swapped, it is not so",
            encoded and not printed,
            f"{len(shared)} rows",
        ),
        exact(
            "Machanavajjhala (2008), lemma 2.7: "
            "with 0, 0 in the last columns, as printed, the link to the formula fails",
            (0, 0, 0, 0, 0) in sides[0] and not _is_true(ENCODED[0], (0, 0, 0)),
            "(0, 0, 0, 0, 0) is critical, and x1 = x2 = x3 = 0 makes the formula false",
        ),
        _counterexamples(binary),
    )


def _counterexamples(schema: RelationalSchema) -> Claim:
    """Machanavajjhala (2008), figure 2.5: the view's other subgoals have an answer, and the view none."""
    restricted = "V(x,y,z) :- R(1,y,z,1,1), R(x,1,0,1,1), R(x,1,1,1,1)."
    rows = [("R", row) for row in ((1, 0, 1, 1, 1), (0, 1, 0, 1, 1), (0, 1, 1, 1, 1))]
    printed = [(name, (*cells[:3], 0, 0)) for name, cells in rows]
    found = [answer(restricted, schema, own) for own in (rows, printed)]
    return exact(
        "Machanavajjhala (2008), figure 2.5: "
        "the rows of the counterexample end with 1, 1; with 0, 0, as printed, it is none",
        found == [{(0, 0, 1)}, set()] and not answer(SECOND_OF_SMALL, schema, rows),
        f"{sorted(found[0])} and {sorted(found[1])}",
    )


TWO: Final = {"R": "a b"}
_PAIRS: Final = (
    (
        "Machanavajjhala (2008), lemma 2.4",
        "one set of subgoals tells of all rows that fit it",
        ("S() :- R(x,y), R(0,1).", "V() :- R(0,1)."),
        relations(TWO),
        ("PRIVATE", "DISCLOSES"),
    ),
    (
        "Machanavajjhala (2008), definition 2.1, theorem 2.5",
        "a value to spare for each query is enough",
        ("S(a) :- R(a,b,0), R(0,0,0).", "V(a) :- R(a,1,c), R(1,1,1)."),
        built({"R": RelationDefinition(["a", "b", "c"], {"a": (0, 1), "b": (0, 1, 2), "c": (0, 1, 2)})}, ()),
        ("DISCLOSES", "PRIVATE"),
    ),
    (
        "Machanavajjhala (2008), section 2.2.1, compatible sets",
        "each subgoal has a valuation of its own",
        ("S(a) :- R(b,a), R(a,b), R(a,a), R(b,0).", "V() :- R(0,5)."),
        relations(TWO),
        ("DISCLOSES", "PRIVATE"),
    ),
    (
        "Machanavajjhala (2008), section 2.2.2",
        "rows are told apart by constants alone",
        ("S() :- R(x,x).", "V() :- R(0,1)."),
        relations(TWO),
        ("DISCLOSES", "PRIVATE"),
    ),
    (
        "Machanavajjhala (2008), theorem 2.1 with two keys",
        "rows that agree on no key are independent",
        ("S() :- R(1,1).", "V() :- R(2,2)."),
        relations(TWO, (1, 2), {"R": [["a"], ["b"]]}),
        ("PRIVATE", "DISCLOSES"),
    ),
    (
        "theorems 2.7 and 2.8",
        "critical rows are those of all instances",
        ("S() :- R('a',1), R('a',2).", "V() :- R('a',3)."),
        relations(TWO, keys={"R": [["a"]]}),
        ("DISCLOSES", "PRIVATE"),
    ),
    (
        "Machanavajjhala (2008), lemma 2.10",
        "columns of one value are as others",
        ("S() :- R(0,x,u), R(y,1,1).", "V() :- R(x,y,0)."),
        built({"R": RelationDefinition(["a", "b", "c"], {"a": (0,), "b": (1,), "c": (0, 1)})}, ()),
        ("DISCLOSES", "PRIVATE"),
    ),
)
"""Where it stands, what it says, a pair of which that is wrong, the source's verdict and the right one."""


def _without_cancer() -> str:
    """Example 2.1: the names of patients without cancer, which no union of joins tells."""
    names = "SELECT DISTINCT pname FROM p JOIN d USING (pid) WHERE diagnosis = 'cancer'"
    others = (
        "SELECT pname FROM p WHERE NOT EXISTS "
        "(SELECT 1 FROM d WHERE d.pid = p.pid AND d.diagnosis = 'cancer')"
    )
    asked = ViewCheck(
        {},
        (),
        [WrittenQuery("secret", names)],
        [WrittenQuery("view", others)],
        language="sql",
        tables="CREATE TABLE p (pid integer NOT NULL, pname text NOT NULL); CREATE TABLE d "
        "(pid integer NOT NULL, diagnosis text NOT NULL, medication text NOT NULL, ward integer NOT NULL)",
    )
    return str(checked(asked)["gate"])
