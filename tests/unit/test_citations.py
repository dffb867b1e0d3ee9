"""Whatever code, catalogue and pages cite, a reader finds: works in References, notions in Definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFERENCES = ROOT / "docs" / "references.md"
DEFINITIONS = ROOT / "docs" / "definitions.md"
PAPERS = ROOT / "docs" / "papers.md"
"""Below the heading that names a work it lists its places."""
TEXTS = {".py", ".md", ".html", ".txt", ".yml", ".yaml"}

# Names that only the house knows, and parts of works by nickname.
INTERNAL = re.compile(
    r"\b(?:[ED]-\d+\b|BKA\b|DIS\b|(?:TV|INV)-\d|[Ff]ield models,? \d|specification,? \d"
    r"|[Tt]he specification\b|[Dd]ecision-theoretic framework"
    r"|[βℓ]-(?:likeness|diversity),? (?:[Ss]ections? |[Dd]ef\. )?\d"
    r"|(?<!PhD )[Dd]issertation[,)]|hypothes[ei]s of \d)|§ ?\d"
)
PLACE = re.compile(
    r"\b(?:sections?|chapters?|theorems?|lemmas?|definitions?|algorithms?|equations?|propositions?|figures?"
    r"|figs?\.|defs?\.|thms?\.|eqs?\.) \(?\d",
    re.IGNORECASE,
)
# A named work with nothing but its own clause between it and the place: no semicolon, no end of a sentence.
OF_A_WORK = re.compile(r"(?:\((?:19|20)\d\d\)|\bRFC \d+)(?:(?!\.\)? [A-Z])[^;])*$")
BARE = re.compile(r"(?:[a-z)] \(|by |of |in |see )[1-9]\d?\.\d{1,2}(?:\.\d)?(?:[;,][^)]*)?\)")
REACH = 200
CITED = re.compile(r"Definitions: ([^;.():\"'`\]]+)")
YEAR = re.compile(r"(?<=[^\W\d_.]) \((?:19|20)\d\d\)|(?<=al\.) \((?:19|20)\d\d\)")
LOOSE_YEAR = re.compile(r"\b(?:et al\.?|[A-Z][\w-]+ and [A-Z][\w-]+),? (?:19|20)\d\d\b")
LINK = re.compile(r"\]\((?:(definitions|references)\.md)?#([^)]+)\)")


def headings(page: Path, level: str) -> list[str]:
    return re.findall(rf"^{level} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


@cache
def works() -> frozenset[str]:
    return frozenset(headings(REFERENCES, "###"))


@cache
def notions() -> frozenset[str]:
    return frozenset(name.casefold() for name in headings(DEFINITIONS, "###"))


@cache
def by_surname() -> re.Pattern[str]:
    """The last name of a listed work, or its only one, and a year without parentheses of its own."""
    names = {re.escape(work.rsplit(" (", 1)[0].split(" and ")[-1]) for work in works()}
    return re.compile(rf"\b(?:{'|'.join(sorted(names))}),? (?:19|20)\d\d\b")


def anchor(heading: str) -> str:
    """The fragment that readers of Markdown make of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def one_line(text: str) -> str:
    """The text without its line ends: neither comment marks nor the seams of string literals."""
    text = re.sub(r"[\"'] *\n\s*[\"']", "", text)
    return re.sub(r"\s*\n\s*(?:#:? ?)?", " ", text)


def files() -> Iterator[Path]:
    for folder in ("app", "privacy_risk", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in TEXTS and "static" not in path.parts:
                yield path
    yield ROOT / "README.md"


@cache
def texts() -> dict[Path, str]:
    return {path: one_line(path.read_text(encoding="utf-8")) for path in files()}


def nicknames(text: str, is_code: bool) -> list[str]:
    """What cites by a name that is not in the pages of references and definitions."""
    found = [hit.group() for hit in INTERNAL.finditer(text)]
    for hit in PLACE.finditer(text):
        if not OF_A_WORK.search(text[max(0, hit.start() - REACH) : hit.start() + 1]):
            found.append(hit.group())
    return found + ([hit.group() for hit in BARE.finditer(text)] if is_code else [])


def unknown_works(text: str) -> list[str]:
    """Citations by author and year that References does not list, or that are not in its form."""
    found = []
    for hit in YEAR.finditer(text):
        before = text[max(0, hit.end() - REACH) : hit.end()]
        if not before.endswith(tuple(works())):
            found.append(before[-60:])
    return found + [hit.group() for own in (LOOSE_YEAR, by_surname()) for hit in own.finditer(text)]


def unknown_notions(text: str) -> list[str]:
    """Names after "Definitions:" that are no heading there; several are separated by commas."""
    return [
        name.strip()
        for hit in CITED.finditer(text)
        for name in hit.group(1).split(",")
        if name.strip().casefold() not in notions()
    ]


def test_every_citation_resolves():
    found = []
    for path, text in texts().items():
        wrong = nicknames(text, path.suffix == ".py") + unknown_notions(text)
        if path == PAPERS:
            wrong = [own for own in wrong if not PLACE.match(own)]
        # The text of a policy is part of what its version stands for: templates keep their form.
        if path != REFERENCES and path.suffix != ".yaml":
            wrong += unknown_works(text)
        found += [f"{path.relative_to(ROOT)}: {own}" for own in wrong]
    assert found == []


def test_every_link_to_a_definition_or_a_work_resolves():
    anchors = {
        page.stem: {anchor(name) for level in ("##", "###") for name in headings(page, level)}
        for page in (DEFINITIONS, REFERENCES)
    }
    found = [
        f"{path.name}: {page or path.stem}#{fragment}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        for page, fragment in LINK.findall(path.read_text(encoding="utf-8"))
        if (page or path.stem) in anchors and fragment not in anchors[page or path.stem]
    ]
    assert found == []


def test_a_name_is_given_once_and_every_listed_work_is_cited():
    for page in (DEFINITIONS, REFERENCES):
        names = [anchor(name) for level in ("##", "###") for name in headings(page, level)]
        assert len(set(names)) == len(names)
    citing = [text for path, text in texts().items() if path != REFERENCES]
    assert [work for work in sorted(works()) if not any(work in text for text in citing)] == []


@pytest.mark.parametrize(
    "text",
    [
        "Ties are broken by D-2.",
        "The guarantee is false (E-42).",
        "BKA 5",
        "DIS Fig. 4.13",
        "Three modes (specification 4.1).",
        "k-anonymity (field models 1)",
        "the definition is that of the specification",
        "Lower bound (section 12.3).",
        "Fouad (2012) says so; section 12.3 does not",
        "Fouad (2012) says so. Section 12.3 does not",
        "Beliefs (ℓ-diversity, section 3.1)",
        "as precisely or vaguer (8.1)",
        "(see 17.2)",
    ],
)
def test_what_nobody_can_look_up_is_found(text):
    assert nicknames(text, True)


@pytest.mark.parametrize(
    "text",
    [
        "Cao and Karras (2012), sections 5 and 6.2, with absolute errors",
        "(Machanavajjhala (2008), definitions 3.9, 3.10)",
        "Fouad (2012), algorithm 2, theorem 4.5.1",
        "h11 takes it though RFC 9112 (6.1) warns",
        "at most 0.1 (Definitions: tolerance)",
        "float(1.5) + max(2.5, 3.5)",
    ],
)
def test_what_can_be_looked_up_is_not(text):
    assert nicknames(text, True) == []


def test_citations_are_read_across_lines():
    text = one_line('# (Definitions: order\n    # of ties)\n"""Bounds\n    by Fouad\n    (2012)."""')
    assert unknown_notions(text) == unknown_works(text) == []
    assert unknown_notions(one_line("# (Definitions: order\n    # of tea)")) == ["order of tea"]


@pytest.mark.parametrize(
    "text",
    [
        "Nobody (2012)",
        "Cao and Nobody (2012)",
        "Fouad (2011)",
        "Li, Li and Venkatasubramanian (2007)",
        "Sweeney 2002",
        "Dankar et al. 2012",
        "Pitman (Hoshino 2001)",
        "Gionis and Tassa, 2009",
    ],
)
def test_a_work_that_is_not_listed_or_not_in_form_is_found(text):
    assert unknown_works(text)


@pytest.mark.parametrize("text", ["Fouad (2012)", "(Wong et al. (2006)).", "by Gionis and Tassa (2009), too"])
def test_a_listed_work_is_known(text):
    assert unknown_works(text) == []


def test_each_notion_of_a_list_must_be_a_heading():
    assert unknown_notions('"Definitions: risk, utility; Fouad (2012)"') == []
    assert unknown_notions("(Definitions: risk, use)") == ["use"]
