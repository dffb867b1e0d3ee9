"""What a data owner reads of a judged synthetic table: what was found and assumed, and a dozen numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from privacy_risk.text_tables import text_table

Json = Mapping[str, Any]
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h1{font-size:1.4rem}td,th{text-align:left;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #ddd;"
    "vertical-align:top}.value{white-space:nowrap}figure{margin:1.5rem 0}"
)
_SQUARES: Final = 20
"""Of a figure, in each direction."""


def headline(document: Json) -> list[str]:
    """Sentences in the order of their weight: copies, what the attacks found, what is assumed."""
    copies, held = document["distances"]["copies"], document["distances"]["copies_held_out"]
    said = []
    if copies["equal"]:
        beside = "" if held is None else f" Of the rows held out {held['equal']:,} of {held['records']:,} do."
        said.append(
            f"{copies['equal']:,} of {copies['records']:,} synthetic rows equal a row of the original, "
            f"{copies['of_unique']:,} of them one that is unique there.{beside}"
        )
    attacks = list(_attacks(document))
    has_control = document["holdout"] is not None
    if has_control:
        leaking = [name for name, own in attacks if own["risk_low"] is not None and own["risk_low"] > 0]
    else:
        leaking = [name for name, own in attacks if own["succeeds"]]
    if not attacks:
        said.append("No attack could be made: nothing is known of what the table gives away.")
    elif leaking and has_control:
        said.append(f"The table gives away more about its people than about others: {', '.join(leaking)}.")
    elif leaking:
        said.append(
            f"Better than guessing: {', '.join(leaking)}. Without rows held out nobody can tell how much of "
            "it is a leak and how much the population tells."
        )
    else:
        said.append("These attacks found no leak. That is no proof that there is none.")
    if not document["attacks"]["inference"]:
        said.append("No secret was named, so inference was not attacked.")
    if document["attacks"]["linkability"] is None:
        said.append("No two sets of columns were named, so linkability was not attacked.")
    assumed = "Assumed: a row is a person"
    if document["utility"]["pairs"] is not None:
        assumed += ", a place is a point"
    if has_control:
        assumed += ", and the rows held out are independent ones of the same population"
        overlap = document["attacks"]["overlap"]
        if overlap:
            assumed += f" ({overlap:,} of them equal a row of the original)"
    said.append(
        f"{assumed}. Intervals, each at {document['attacks']['confidence']:.0%}, hold for the choice of the "
        "attacked, not for another table of the same program."
    )
    return said


def rows_of(document: Json) -> list[tuple[str, str, str]]:
    """At most twelve: what, the value, what it is compared with."""
    rows = [
        (name, _share_text(own["main"]), _compared_text(own)) for name, own in list(_attacks(document))[:5]
    ]
    distances, utility = document["distances"], document["utility"]
    copies, held = distances["copies"], distances["copies_held_out"]
    beside_copies = "" if held is None else f"rows held out: {held['share']:.1%}"
    rows.append(("Copies of rows of the original", f"{copies['share']:.1%}", beside_copies))
    if (own := distances["quasi_identifier_copies"]) is not None:
        rows.append(
            ("Same quasi-identifiers as a unique row", f"{own['of_unique'] / own['records']:.1%}", "")
        )
    if (own := distances["apparent_matches"]) is not None and own["equal"] is not None:
        other = f"their other columns are equal: {own['equal']:.1%}"
        rows.append(("Apparent matches by quasi-identifiers", f"{own['matches']:,}", other))
    beside = [f"random rows: {distances['random']['dcr_median']:.3f}"]
    if distances["held_out"] is not None:
        beside.insert(0, f"rows held out: {distances['held_out']['dcr_median']:.3f}")
    median = f"{distances['synthetic']['dcr_median']:.3f}"
    rows.append(("Median distance to the nearest original", median, "; ".join(beside)))
    if (nearer := distances["nearer"]) is not None:
        value = f"{nearer['share']:.1%} ({nearer['low']:.1%} to {nearer['high']:.1%})"
        rows.append(("Nearer to the original than to rows held out", value, "without copying: 50.0%"))
    marginals = utility["marginals"]
    beside_score = "" if marginals["held_out"] is None else f"; rows held out: {marginals['held_out']:.0f}"
    rows.append(
        (
            f"Resemblance of sets of {marginals['k']} columns",
            f"{marginals['score']:.0f}",
            f"equal: 1,000{beside_score}",
        )
    )
    if (own := utility["pairs"]) is not None:
        said = f"median: {own['median_difference']:+.4g} km on {own['median_original']:.4g} km; left out: "
        said += f"{own['left_out_original'] + own['left_out_synthetic']:,} rows; unlisted places: "
        said += f"{own['unknown_places']:,}"
        rows.append(("Pairs to move to other bands of distance", f"{own['difference']:.1%}", said))
    worst = max(utility["columns"], key=lambda own: float(own["difference"]))
    rows.append(("Column that differs most", f"{worst['difference']:.3f}", str(worst["attribute"])))
    if utility["correlation_worst"] is not None:
        rows.append(("Greatest difference of correlations", f"{utility['correlation_worst']:.3f}", ""))
    return rows[:12]


def text_of(document: Json) -> str:
    """For a terminal."""
    table = text_table([("what", "value", "beside"), *rows_of(document)])
    return "\n".join((*headline(document), "", table))


def html_page(document: Json) -> str:
    """A page by itself, without anything to load."""
    first, *others = headline(document)
    records = document["records"]
    held = "" if records["holdout"] is None else f", {records['holdout']:,} rows held out"
    about = (
        f"{document['synthetic']}: {records['synthetic']:,} synthetic rows, judged against the "
        f"{records['original']:,} of {document['original']}{held}. Numbers are: "
        f"{', '.join(document['numeric']) or 'none'}. Drawn with the seed {document['seed']}."
    )
    cells = "".join(
        f"<tr><td>{escape(what)}</td><td class=value>{escape(value)}</td><td>{escape(beside)}</td></tr>"
        for what, value, beside in rows_of(document)
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(document["synthetic"])}, judged'
        f"</title><style>{_STYLE}</style><h1>{escape(first)}</h1>"
        f"{''.join(f'<p>{escape(own)}</p>' for own in others)}"
        f"<table><tr><th>What<th>Value<th>Beside</tr>{cells}</table>"
        f"{_figure(document['utility']['components'])}"
        "<p>Distances and resemblance prove nothing about privacy: a table far from the original can give "
        f"people away. Only attacks can show a leak, and only those that were tried.</p>"
        f"<p>{escape(about)}</p>"
        "</html>\n"
    )


def _figure(components: Json | None) -> str:
    """Both tables in the plane of two components of the original, side by side; empty where there is none."""
    if components is None:
        return ""
    most = max(max(own["original"], own["synthetic"]) for own in components["cells"])
    squares = "".join(
        f'<rect x="{left + 12 * own["first"]}" y="{12 * (_SQUARES - 1 - own["second"])}" width="12" '
        f'height="12" fill-opacity="{(own[table] / most) ** 0.5:.2f}"/>'
        for left, table in ((0, "original"), (280, "synthetic"))
        for own in components["cells"]
        if own[table]
    )
    first, second = (f"{own:.0%}" for own in components["explained"])
    about = (
        f"Original (left) and synthetic rows (right) by the first two principal components of the original, "
        f"which explain {first} and {second} of its variance: the darker, the more rows. "
        f"{components['difference']:.0%} of the rows would have to move to make the two equal."
    )
    side = 12 * _SQUARES
    frames = "".join(
        f'<rect x="{left}" width="{side}" height="{side}" fill="none" stroke="#888"/>' for left in (0, 280)
    )
    return (
        f'<figure><svg viewBox="-1 -1 {282 + side} {side + 2}" role="img" aria-label="{escape(about)}" '
        f'fill="#0f766e">{squares}{frames}</svg><figcaption>{escape(about)}</figcaption></figure>'
    )


def _attacks(document: Json) -> Iterator[tuple[str, Json]]:
    for own in document["tried"]:
        yield own["name"], own["attack"]


def _share_text(rate: Json) -> str:
    return f"{rate['rate']:.1%} ({rate['low']:.1%} to {rate['high']:.1%})"


def _compared_text(attack: Json) -> str:
    said = f"guesses: {attack['baseline']['rate']:.1%}"
    if attack["control"] is not None:
        said += f"; on rows held out: {attack['control']['rate']:.1%}"
    if attack["risk"] is not None:
        said += f"; risk: {attack['risk']:.1%} ({attack['risk_low']:.1%} to {attack['risk_high']:.1%})"
    return said
