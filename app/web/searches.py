"""What searches looked at: the map of risk and utility, the lattice, and each rule on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from app.charts.drawing import Caption
from app.charts.lattice import LatticeRule, draw_lattice
from app.charts.rule_map import BEST, RuleMark, Threshold, draw_rule_map
from app.web.data import of_dataset
from app.web.goal_terms import ALTERNATIVES
from app.web.lattices import Levels, neighbours, part_of, way_to
from app.web.policies import named, requirements_of, thresholds_of
from app.web.release_words import title_of
from app.web.rules import ladder, sample_of
from app.web.scores import VIEWS, score
from app.web.visits import Handler, NoSuchPage, Page, Visit, found
from app.web.words import address, as_number, code_of, heights_of, levels_in_words, levels_of
from privacy_risk import Json

MOST_NAMED: Final = 2
"""Assessed rules that are marked on a map, beside the best one."""


class Search:
    """A search with a map: its document, the points, and where rules are on the site."""

    def __init__(self, kind: str, document: Json, heights: Mapping[str, int]) -> None:
        self.kind = kind
        self.document = document
        self.heights = heights
        result = document["result"] or {}
        self.points: list[Json] = [
            point for point in result.get("points") or () if point.get("levels") is not None
        ]
        self.by_levels = {self.code(point["levels"]): point for point in self.points}
        rule = result.get("rule") or {}
        self.best: Levels | None = None if rule.get("levels") is None else self.code(rule["levels"])

    @property
    def name(self) -> str:
        """The name of the search."""
        return str(self.document["name"])

    def code(self, levels: Mapping[str, int]) -> Levels:
        """The levels in the order of the schema."""
        return tuple(levels.get(attribute, 0) for attribute in self.heights)

    def href(self, levels: Levels) -> str:
        """The page of one of its rules."""
        return address(self.kind, self.name, "rules", code_of(levels))

    def label(self, levels: Levels) -> str:
        """The rule in one line."""
        return levels_in_words(dict(zip(self.heights, levels, strict=True)))

    def risk(self, levels: Levels) -> float | None:
        """The risk of the rule; None where the search did not keep it."""
        point = self.by_levels.get(levels)
        return None if point is None else as_number(point["risk"])

    def row(self, levels: Levels) -> Json:
        """A rule as a row of a table."""
        point = self.by_levels.get(levels, {})
        return {
            "levels": dict(zip(self.heights, levels, strict=True)),
            "href": self.href(levels),
            "risk": point.get("risk"),
            "utility": point.get("utility"),
            "kind": point.get("kind"),
            "is_best": levels == self.best,
        }

    def rows(self) -> list[Json]:
        """All points, from the greatest utility down."""
        points = sorted(self.points, key=lambda p: (-as_number(p["utility"]), as_number(p["risk"])))
        return [self.row(self.code(point["levels"])) for point in points]


TITLES: Final = {"optimisations": "Optimisation", "frontiers": "Frontier"}
"""Kinds of search that have a map: the heading of their pages."""


async def _search(visit: Visit, kind: str) -> Search:
    document = (await getattr(visit.client, kind).get(visit.ref)).document
    dataset = (await visit.client.datasets.get(document["dataset"])).document
    return Search(kind, document, heights_of(dataset))


def page_of(kind: str) -> Handler:
    """The question, its answer, and every rule that was looked at."""

    async def page(visit: Visit) -> Page | Response:
        search = await _search(visit, kind)
        if (search.document.get("objective") or {}).get("kind") == ALTERNATIVES:
            return RedirectResponse(address(kind, search.name, "release"), 303)
        document, result = search.document, search.document["result"] or {}
        run = await found(visit.client.runs.get(search.name))
        # A frontier has neither an objective nor one rule, nor the score of one.
        objective, rule = document.get("objective") or {}, result.get("rule") or {}
        return Page(
            "search.html",
            {
                "search": document,
                "kind": kind,
                "title": TITLES[kind],
                "label": title_of(document, "best release"),
                "found": document["result"],
                "run": None if run is None else run.document,
                "view": VIEWS.get(document.get("attacker_view") or "", ""),
                "ladder": ladder(rule.get("levels"), search.heights),
                "criteria": [named(one) for one in objective.get("privacy") or ()],
                "losses_of": _least_loss(document["result"]),
                **score(result.get("assessment")),
                **await map_of(visit, search),
            },
        )

    return page


def _least_loss(result: Json | None) -> Json | None:
    """What a search for the least loss found, with each criterion in words; None of another search."""
    if result is None or result.get("loss") is None or result.get("privacy") is None:
        return None
    loss = result["objective"]["loss"]
    privacy = [{**one, "required": named(one["criterion"])} for one in result["privacy"]]
    name = named({"kind": loss} if isinstance(loss, str) else loss)
    # Only of losses that count otherwise than they are defined the parts are told.
    return {"attribute_losses": None, **result, "name": name, "privacy": privacy}


async def map_of(visit: Visit, search: Search) -> dict[str, Any]:
    """The picture, its table, and the policy whose thresholds are drawn."""
    policies = await found(visit.client.policies.page(limit=50))
    names = [] if policies is None else [one.name for one in policies.items]
    asked = visit.asked("policy")
    policy = None if asked is None else await found(visit.client.policies.get(asked))
    lines, elsewhere = thresholds_of(
        [] if policy is None else requirements_of(policy.document["document"]), _axis(search)
    )
    shown = {"policies": names, "policy": asked if policy else None, "elsewhere": elsewhere, "rows": []}
    if not search.points:
        return {**shown, "map": None}
    drawn = draw_rule_map(
        _caption(search),
        await _marks(visit, search),
        [*_own_thresholds(search.document), *lines],
        "Risk (highest of the records)" if _axis(search) == "risk_max" else "Risk (mean of the records)",
    )
    return {**shown, "map": Markup(drawn), "rows": search.rows()}  # noqa: S704 - made here, escaped


def _axis(search: Search) -> str:
    return "risk_max" if search.document.get("aggregate") == "max" else "risk_average"


def _caption(search: Search) -> Caption:
    n = len(search.points)
    rules = (search.document["result"] or {}).get("rules", n)
    shown = (
        f"all {n:,} rules" if n == rules else f"{n:,} of {rules:,} rules: those that no other beats in both"
    )
    return Caption(
        "map",
        f"Risk and utility of the rules for {search.document['dataset']}",
        f"Each mark is a rule, {shown}. The line joins the least risks at a utility of at least so much. "
        "The table below has the same rules.",
    )


async def _marks(visit: Visit, search: Search) -> list[RuleMark]:
    named = await _assessed(visit, search)
    marks = []
    for levels, point in search.by_levels.items():
        name, href = named.get(levels, (None, search.href(levels)))
        if levels == search.best:
            name, href = BEST, address("rules", search.name)
        utility, risk = as_number(point["utility"]), as_number(point["risk"])
        marks.append(RuleMark(utility, risk, search.label(levels), href, name))
    return marks


async def _assessed(visit: Visit, search: Search) -> dict[Levels, tuple[str, str]]:
    """Rules on the map that were assessed under the same question: name and page, the newest ones."""
    same = ("dictionary", "sensitivity", "utility", "absent_policy", "risk_model", "attacker_view")
    found_rules: dict[Levels, tuple[str, str]] = {}
    for one in await of_dataset(visit, "assessments", search.document["dataset"]):
        levels = one["rule"].get("levels")
        if levels is None or any(one.get(key) != search.document.get(key) for key in same):
            continue
        code = search.code(levels)
        if code in search.by_levels and code != search.best and len(found_rules) < MOST_NAMED:
            found_rules.setdefault(code, (one["name"], address("assessments", one["name"])))
    return found_rules


def _own_thresholds(document: Json) -> list[Threshold]:
    """What the question itself requires, where it is a number on an axis."""
    objective, lines = document.get("objective") or {}, []
    if isinstance(objective.get("utility_floor"), int | float):
        floor = float(objective["utility_floor"])
        lines.append(Threshold("utility", floor, f"asked: utility ≥ {floor:g}"))
    if isinstance(objective.get("risk_cap"), int | float):
        cap = float(objective["risk_cap"])
        lines.append(Threshold("risk", cap, f"asked: risk ≤ {cap:g}"))
    return lines


async def lattice(visit: Visit) -> Page:
    """The lattice, coloured by risk, with a way from the table as it is to the chosen rule."""
    search = await _search(visit, "optimisations")
    if not search.points:  # a search for the least loss keeps no rule's risk
        raise NoSuchPage
    asked = levels_of(visit.request.query_params.get("levels", ""), search.heights)
    chosen = search.best if asked is None else search.code(asked)
    if chosen is None:
        chosen = (0,) * len(search.heights)
    part = part_of(tuple(search.heights.values()), chosen)
    risks = {code: as_number(point["risk"]) for code, point in search.by_levels.items()}
    way = way_to(chosen, risks)
    rules = [
        LatticeRule(levels, search.risk(levels), search.label(levels), search.href(levels))
        for levels in part.rules
    ]
    caption = Caption(
        "lattice",
        f"Lattice of the rules for {search.document['dataset']}",
        "Each mark is a rule, each row a sum of levels; what discloses more is lower. Lines join rules one "
        "level apart. The strong line leads from the table as it is to the chosen rule.",
    )
    return Page(
        "lattice.html",
        {
            "search": search.document,
            "picture": Markup(draw_lattice(caption, rules, chosen, way)),  # noqa: S704 - made here, escaped
            "part": part,
            "chosen": search.label(chosen),
            "chosen_href": search.href(chosen),
            "is_best": chosen == search.best,
            "way": [search.row(levels) for levels in way],
            "rows": [search.row(levels) for levels in sorted(part.rules, key=lambda own: (sum(own), own))],
            "unknown": sum(levels not in search.by_levels for levels in part.rules),
        },
    )


def rule_of(kind: str) -> Handler:
    """One rule that a search looked at."""

    async def page(visit: Visit) -> Page:
        search = await _search(visit, kind)
        levels = levels_of(str(visit.request.path_params["levels"]), search.heights)
        if levels is None:
            raise NoSuchPage
        code = search.code(levels)
        dataset = search.document["dataset"]
        return Page(
            "rule_on_map.html",
            {
                "search": search.document,
                "kind": kind,
                "title": TITLES[kind],
                "levels": levels,
                "code": code_of(code),
                "row": search.row(code),
                "ladder": ladder(levels, search.heights),
                "near": [search.row(other) for other in neighbours(code, tuple(search.heights.values()))],
                "attributes": list(search.heights),
                "sample": await sample_of(visit, dataset, {"kind": "table_level", "levels": levels}),
            },
        )

    return page
