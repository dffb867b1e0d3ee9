"""Our numbers beside those of pycanon and anjana, on the same data in the same run.

``python -m tests.peers.comparison DATA PYTHON``: the folder of the public data sets, and the interpreter of
the peers' environment. Exits 1 if a number is not what it must be (equal where the peer is right, different
exactly as its mistake says), never for a missed bar of speed.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.domain.errors import InvalidInput
from app.domain.models.k_anonymity import KAnonymity
from app.domain.rules.rule import TableRule, apply
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.peers import questions as q
from tests.peers.questions import Answer, Question
from tests.peers.releases import (
    Compared,
    adult,
    below,
    census_sample,
    compared,
    flat,
    hours_of_work,
    of_rows,
    with_suppressed,
    without,
)

VERSIONS = {"pycanon": "1.3.5", "anjana": "1.2.3"}
RAW = "Adult as it is"
RATIO = 10
K = 5
LEVELS = TableRule((0, 3, 0, 1, 2, 1, 1, 0, 0))
NEARLY = TableRule((0, 4, 1, 1, 1, 2, 2, 0, 0))

TRUNCATED = "entropy ℓ is cut off to a whole number"
ASCENDING = "recursive c from counts in ascending order"
SKIPPED = "δ leaves out values that a class lacks"
TABLE_WIDE = "enhanced β has one bound for all values"
DROPPED = "records with a missing quasi-identifier are dropped"
STARS = "suppressed records are one more class"
BREAKS = "it breaks"


class Peers:
    """The peers' process."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("peer_calls.py")
        self._process = subprocess.Popen(
            [python, "-I", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        found = self._line()
        if found != VERSIONS:
            raise SystemExit(f"the peers are {found}, not {VERSIONS}: make their environment anew")

    def _line(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self._process.stdout.readline())
        return line

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._line()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=30)


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    release: str
    what: str
    ours: str
    theirs: str
    seconds: float
    their_seconds: float | None
    note: str
    is_right: bool


def all_models(release: Compared, *, may_agree: bool = False) -> list[Question]:
    """Every function of pycanon on one release; where ℓ is 1 two of its mistakes do not show."""
    return [
        Question(release, "equivalence_classes", "k_anonymity", q.k_of),
        Question(release, "alpha_k_anonymity", "alpha_k_anonymity", q.alpha_of),
        Question(release, "l_diversity", "l_diversity", q.distinct_of),
        entropy(release, may_agree=may_agree),
        recursive(release, may_agree=may_agree),
        Question(release, "t_closeness", "t_closeness", q.closeness_of("equal")),
        Question(
            release, "delta_disclosure", "delta_disclosure", q.delta_of, {}, SKIPPED, q.of_present_values
        ),
        Question(release, "beta_likeness", "basic_beta_likeness", q.basic_of),
        Question(
            release,
            "beta_likeness",
            "enhanced_beta_likeness",
            q.enhanced_of,
            {},
            TABLE_WIDE,
            q.one_bound_for_all,
        ),
    ]


def entropy(release: Compared, *, may_agree: bool = False) -> Question:
    """Effective ℓ by entropy."""
    function = "entropy_l_diversity"
    return Question(release, "l_diversity", function, q.entropy_of, {}, TRUNCATED, q.truncated, may_agree)


def recursive(release: Compared, *, may_agree: bool = False) -> Question:
    """c and ℓ of recursive diversity."""
    function, deep = "recursive_c_l_diversity", {"deepest": 20}
    return Question(
        release, "l_diversity", function, q.least_c_of, deep, ASCENDING, q.rarest_first, may_agree
    )


def all_questions(data: Path, folder: Path) -> Iterator[Question]:
    """All questions to pycanon."""
    yield from all_models(compared(folder, RAW, adult(data, "salary-class")), may_agree=True)
    table = adult(data, "occupation")
    kept = without(table, below(table, LEVELS, K, values=3))
    yield from all_models(compared(folder, "Adult 5-anonymous and 3-diverse", kept, LEVELS))
    starred = compared(folder, "Adult with suppressed records", table, NEARLY, below(table, NEARLY, K))
    yield from with_stars(starred)
    yield from with_missing(data, folder)
    hours = hours_of_work(data)
    release = compared(folder, "hours of the larger Adult", hours, numeric=("hours-per-week",))
    yield Question(release, "t_closeness", "t_closeness", q.closeness_of("ordered"))
    yield from small_tables(folder)


def with_stars(release: Compared) -> Iterator[Question]:
    """Records that a release suppresses, which other tools take for people like each other."""
    for block, mistake in (("own_block", ""), ("excluded", STARS)):
        own = {"suppressed": block}
        counted = None if not mistake else lambda release, result: [(float(stars(release)),)]
        yield Question(release, "equivalence_classes", "k_anonymity", q.k_of, own, mistake, counted)


def stars(release: Compared) -> int:
    """How many records are suppressed."""
    return int(q.context_of(release).release.is_suppressed.sum())


def with_missing(data: Path, folder: Path) -> Iterator[Question]:
    """Missing quasi-identifiers: with a single one other tools drop the record, with several they do not."""

    def dropped(measure: str, ours: Callable[[Any], Answer]) -> Callable[[Compared, Any], list[Answer | str]]:
        return lambda own, _: [ours(q.measured(own, measure, {"missing": "excluded"}))]

    for known, mistake in ((("married",), DROPPED), (("sex", "married"), "")):
        name = f"census sample by {' and '.join(known)}"
        release = compared(folder, name, census_sample(data, known))
        for measure, function, ours in (
            ("equivalence_classes", "k_anonymity", q.k_of),
            ("alpha_k_anonymity", "alpha_k_anonymity", q.alpha_of),
        ):
            by_mistake = dropped(measure, ours) if mistake else None
            yield Question(release, measure, function, ours, {}, mistake, by_mistake)


def small_tables(folder: Path) -> Iterator[Question]:
    """Classes of a few records on which the mistakes show."""
    names = ("place", "value")

    def made(name: str, values: str, numeric: bool = False) -> Compared:
        rows = [("here", value) for value in values]
        table = of_rows(names, rows, "value", numeric)
        return compared(folder, name, table, numeric=("value",) if numeric else ())

    for n in (2, 3, 6, 7):
        yield entropy(made(f"{n} equally frequent values", "abcdefg"[:n]))
    for counts in ((8, 1, 1), (2, 1, 1), (97, 3)):
        values = "".join(value * n for value, n in zip("abc", counts, strict=False))
        yield recursive(made(f"values {', '.join(map(str, counts))} times", values))
    constant = made("a constant number", "111", numeric=True)
    yield Question(
        constant,
        "t_closeness",
        "t_closeness",
        q.closeness_of("equal"),
        {},
        BREAKS,
        q.crash("ZeroDivisionError"),
    )


def empty_table(folder: Path, peers: Peers) -> Line:
    """A table without records, which we refuse with a reason and others break on."""
    path = folder / "empty.csv"
    path.write_text("place,value\n", encoding="utf-8")
    names, no_columns = ("place", "value"), np.empty((0, 2), dtype=np.int32)
    try:
        Table(names, (flat(()), flat(())), no_columns)
        ours = "no refusal"
    except InvalidInput as refused:
        ours = refused.faults[0].code
    asked = {
        "tool": "pycanon",
        "function": "k_anonymity",
        "csv": str(path),
        "quasi": ["place"],
        "numeric": [],
    }
    theirs = str(peers.ask(asked).get("crash"))
    is_right = (ours, theirs) == ("empty-dataset", "ValueError")
    note = BREAKS if is_right else "WRONG: expected empty-dataset and ValueError"
    return Line("an empty table", "k_anonymity", ours, theirs, 0.0, None, note, is_right)


def repeated(call: Callable[[], Any], repeats: int = 5) -> tuple[Any, float]:
    """The answer and the least seconds of the processor."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        found = call()
        seconds.append(time.process_time() - start)
    return found, min(seconds)


def line_of(question: Question, peers: Peers) -> Line:
    """Ask both, and judge."""
    result, seconds = repeated(lambda: q.measured(question.release, question.measure, question.parameters))
    ours, answered = question.ours(result), peers.ask(question.asked())
    theirs = answered.get("crash") or as_answer(answered["value"])
    as_expected = any(q.same(theirs, own) for own in question.expected(result))
    agrees = q.same(theirs, ours)
    is_right = as_expected and (agrees is not bool(question.mistake) or (agrees and question.may_agree))
    note = "equal" if agrees else question.mistake
    return Line(
        question.release.name,
        question.function,
        shown(ours),
        shown(theirs),
        seconds,
        answered.get("seconds"),
        note if is_right else f"WRONG: expected {' or '.join(map(shown, question.expected(result)))}",
        is_right,
    )


def as_answer(value: Any) -> Answer:
    values = value if isinstance(value, list) else [value]
    return tuple(float(own) for own in values)


def shown(answer: Answer | str) -> str:
    return answer if isinstance(answer, str) else ", ".join(f"{own:.6g}" for own in answer)


def anonymised(data: Path, folder: Path, peers: Peers, percent: int) -> Line:
    """5-anonymity by anjana and by the search of least loss, both losses by our measure."""
    table = adult(data, "occupation")
    release = compared(folder, f"Adult, at most {percent} % suppressed", table)
    problem = AnonymityProblem((KAnonymity(K),), percent / 100)

    def solved() -> Any:
        plan = AnonymityPlan(table, problem)
        return plan.combine({0: plan.run_block(0, lambda done: None, lambda: False)})

    found, seconds = repeated(solved, 3)
    hierarchies = {name: str(data / "arx-adult" / f"adult_hierarchy_{name}.csv") for name in release.quasi}
    asked = {"tool": "anjana", "csv": str(release.csv), "quasi": release.quasi, "numeric": []}
    answered = peers.ask({**asked, "hierarchies": hierarchies, "k": K, "percent": percent})
    theirs = released_by(release, answered["value"])
    k = q.measured(theirs, "equivalence_classes", {}).k
    loss = q.measured(theirs, "information_loss", {}).geometric
    is_right = k >= K and found.loss is not None and found.loss <= loss + q.CLOSE
    return Line(
        release.name,
        "least loss with k = 5",
        f"{found.loss:.6g}",
        f"{loss:.6g}",
        seconds,
        answered["seconds"],
        ("equal" if abs(found.loss - loss) <= q.CLOSE else "not the least loss")
        if is_right
        else f"WRONG: k = {k}",
        is_right,
    )


def released_by(release: Compared, value: dict[str, Any]) -> Compared:
    """What anjana released: its levels, and the records that it dropped suppressed."""
    table: Table = release.table
    levels = dict(zip(release.quasi, value["levels"], strict=True))
    rule = TableRule(tuple(levels.get(name, 0) for name in table.attributes))
    gone = np.ones(table.n_records, dtype=bool)
    gone[value["rows"]] = False
    return Compared(release.name, table, with_suppressed(table, apply(rule, table), gone), release.csv)


def printed(line: Line) -> str:
    ratio = f"{line.their_seconds / line.seconds:,.0f}×" if line.their_seconds else ""
    theirs = "" if line.their_seconds is None else f"{1000 * line.their_seconds:,.0f}"
    return (
        f"{line.release:38} {line.what:25} {line.ours:>21} {line.theirs:>21} {1000 * line.seconds:>8.1f} "
        f"{theirs:>8} {ratio:>7}  {line.note}"
    )


def main(data: Path, python: str) -> int:
    """Print the table."""
    peers = Peers(python)
    print(f"{'release':38} {'what':25} {'ours':>21} {'theirs':>21} {'ms':>8} {'their ms':>8} {'ratio':>7}")
    lines: list[Line] = []

    def add(line: Line) -> None:
        lines.append(line)
        print(printed(line), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for question in all_questions(data, Path(folder)):
            add(line_of(question, peers))
        add(empty_table(Path(folder), peers))
        for percent in (0, 4):
            add(anonymised(data, Path(folder), peers, percent))
    peers.close()
    raw = [line for line in lines if line.release == RAW]
    ratios = [(line.their_seconds or math.nan) / line.seconds for line in raw]
    total = sum(line.their_seconds or 0.0 for line in raw) / sum(line.seconds for line in raw)
    met = "met" if min(ratios) >= RATIO else "missed"
    print(
        f"\non {RAW}: {total:,.0f} times as fast in all, {min(ratios):,.0f} times at least; "
        f"the bar of {RATIO} times is {met}"
    )
    wrong = [line for line in lines if not line.is_right]
    differing = sum(line.is_right and line.note != "equal" for line in lines)
    equal = len(lines) - len(wrong) - differing
    print(f"{len(lines)} numbers: {equal} equal, {differing} different as said, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
