"""The profile of a dataset: how many records are unique by what, in words first, then in numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.web.runs import told
from app.web.visits import Page, Visit
from app.web.words import ROWS_SAID, address, is_ref, model_name, number, share
from privacy_risk import Json, ProblemError, Run
from privacy_risk.persons import rows_told
from privacy_risk.singled_out import listed, singled_out_told, values_alone_told

WHOLE_PROFILE: Final = {"kind": "privacy_profile"}

_MEANINGS: Final[Mapping[str, str]] = {
    "k": "records, or persons, in the smallest class (k)",
    "mean_size": "records of a class on average",
    "unique_share": "share of the records that are unique",
    "prosecutor.highest": "chance to pick the right record, for the record that is worst off",
    "prosecutor.average_per_record": "the same on average",
    "prosecutor.share_at_risk": "share of the records for which it is above 0.2",
    "journalist.highest": "chance to pick the right person of the population, at worst",
    "journalist.average": "the same on average",
    "journalist.share_at_risk": "share of the records for which it is above 0.2",
    "marketer.share_re_identified": "share of the records that a match of all gets right",
    "distinct_l": "different values in the class with fewest (distinct ℓ)",
    "entropy_l": "values as many as count by their entropy (entropy ℓ)",
    "c_min(2)": "least c of recursive (c,2)-diversity",
    "c_min(3)": "least c of recursive (c,3)-diversity",
    "alpha": "greatest share of one value in a class (α)",
    "t.equal": "distance of a class from the table, all values equally far apart (t)",
    "t.ordered": "distance of a class from the table, by the order of the values (t)",
    "t.hierarchical": "distance of a class from the table, by the hierarchy (t)",
    "t.kl": "divergence of a class from the table (Kullback–Leibler)",
    "t.js": "divergence of a class from the table (Jensen–Shannon)",
    "delta.natural": "greatest change of a value's share, absent values counted (δ)",
    "delta_of_present.natural": "greatest change of a present value's share (δ)",
    "beta_basic": "greatest relative gain on a value (basic β)",
    "beta_enhanced": "greatest relative gain on a value, bounded (enhanced β)",
    "complete.share_of_records": "share of the records in classes with a single value",
    "near.share_of_records": "share of the records in classes with nearly a single value",
    "share_exposed": "share of the records in classes with too much of a value",
    "share_exposed(0)": "share of the records given away to whoever rules out nothing",
    "share_exposed(1)": "share of the records given away to whoever can rule out one value",
    "worst_belief": "greatest belief in values that mean nearly the same",
}
"""What the figures of the measure ``privacy_profile`` say, by their names."""


async def profile(visit: Visit) -> Page:
    """The profile, or how far the runs are that measure it, or what it takes."""
    dataset = (await visit.client.datasets.get(visit.ref)).document
    told_first = rows_told(dataset, await visit.client.datasets.profile(dataset["name"], limit=1), ROWS_SAID)
    shown: dict[str, Any] = {"dataset": dataset, "known": quasi_identifiers(dataset), "rows_told": told_first}
    if not shown["known"]:
        return Page("profile.html", shown)
    asked = visit.request.query_params.get("run", "")
    run = await visit.client.runs.get(asked) if is_ref(asked) else None
    if run is not None and run.state != "succeeded":
        return Page("profile.html", {**shown, "run": _followed(run)})
    try:
        found = await visit.client.measurements.create(_question(dataset))
    except ProblemError as problem:
        if problem.status not in (403, 409, 422):
            raise
        return Page("profile.html", {**shown, "refusal": problem.document}, problem.status)
    if found.run is not None and not found.run.is_final:
        return Page("profile.html", {**shown, "run": _followed(found.run)})
    return Page("profile.html", {**shown, **_in_words(dataset, found.document["result"])})


def _followed(run: Run) -> Json:
    """What the page shows of a run that is measuring."""
    return {**told(run), "id": run.id, "error": run.error}


async def begun(visit: Visit, dataset: Json) -> str:
    """The address of the profile once it is measured or has its run; an equal run is not repeated."""
    run = None
    if quasi_identifiers(dataset):
        with contextlib.suppress(ProblemError):  # the page of the profile tells
            run = (await visit.client.measurements.create(_question(dataset))).run
    return address("datasets", dataset["name"], "profile", run=None if run is None else run.id)


def quasi_identifiers(dataset: Json) -> list[str]:
    """The columns that others may know."""
    return [own["name"] for own in dataset["attributes"] if own["role"] == "quasi_identifier"]


def _question(dataset: Json) -> Json:
    """What is measured: the profile, and what singles people out."""
    return {"dataset": dataset["name"], "measure": {**WHOLE_PROFILE, "singled_out": True}}


def _in_words(dataset: Json, models: Json) -> Json:
    """What the template shows of a whole profile."""
    singled = models["singled_out"]
    by_name = {(own["name"], own["attribute"]): own["value"] for own in models["figures"]}
    # By sensitive attribute, those of the classes alone under no name.
    shown: dict[str, list[Json]] = {"": []}
    for own in models["figures"]:
        said = {
            **own,
            "said": meaning(own["name"]),
            "title": model_name(own["measure"]),
            "is_share": is_share(own["name"]),
        }
        shown.setdefault(own["attribute"] or "", []).append(said)
    return {
        "judged": models["judged"],
        "figures": shown,
        "unmeasured": models["left_out"],
        "unique": singled["singled_out"],
        "headline": headline(singled),
        "consequences": list(consequences(by_name)),
        "singled": singled,
        "singled_told": (*singled_out_told(singled), *values_alone_told(models)),
    }


def meaning(name: str) -> str:
    """What a figure says, in words."""
    return _MEANINGS.get(name) or name.replace("_", " ").replace(".", ": ")


def is_share(name: str) -> bool:
    """Whether a figure is a share of the records, which people read in per cent."""
    return _MEANINGS.get(name, "").startswith("share of the records")


def headline(found: Json) -> str:
    """How many records, or persons, are unique, by what."""
    unique, records, judged = found["singled_out"], found["persons"], found["judged"]
    by, what = listed(judged["quasi_identifiers"]), "record" if judged["persons"] is None else "person"
    if unique == 0:
        return f"None of the {number(records)} {what}s is unique by {by}."
    if records == 1:
        return f"The only {what} is unique by {by}."
    if unique == records:
        return f"All {number(records)} {what}s are unique by {by}."
    are = "is" if unique == 1 else "are"
    return f"{number(unique)} of {number(records)} {what}s {are} unique by {by}."


def consequences(figures: Mapping[tuple[str, str | None], Any]) -> Iterator[str]:
    """What follows for whoever is in the table, a sentence each; ``figures`` by name and attribute."""
    k, mean = figures.get(("k", None)), figures.get(("prosecutor.average_per_record", None))
    if k is not None and k > 1:
        yield f"Every record hides among at least {number(k)} that look alike."
    if mean is not None:
        yield (
            f"Those who know these of somebody in the table pick the right record with a chance of "
            f"{share(mean, 1)} on average."
        )
    for (name, attribute), value in figures.items():
        if name == "complete.share_of_records" and value:
            yield (
                f"For {share(value, 1)} of the records they also learn {attribute} with certainty: all that "
                "look alike have the same."
            )
