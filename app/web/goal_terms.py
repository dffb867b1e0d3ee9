"""What a release can be asked to reach: the fields of the form, their numbers, and the question they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from app.web.forms import Fault, Form
from app.web.words import ROWS_SAID, heights_of, number
from privacy_risk import Json
from privacy_risk.anonymisation import KEPT, written
from privacy_risk.persons import doubt_of, rows_told
from privacy_risk.release_policy import persons_per_value
from privacy_risk.usual import APART, BETAS, MAX_SUPPRESSED, NUMBERS, OTHERS, likeness_told, number_of

CLOSENESS: Final = "t_closeness"
LIKENESS: Final = "beta_likeness"
ALTERNATIVES: Final = "alternatives"
"""The objective that several releases answer."""
USUAL_K: Final = 5
USUAL_L: Final = 3
USUAL_T: Final = 0.3
USUAL_BETA: Final = 2
USUAL_SUPPRESSED: Final = 100 * MAX_SUPPRESSED
"""Per cent of the records."""

TEMPLATES: Final[Mapping[str, str]] = {
    "k": "k-anonymity",
    "l": "k-anonymity with ℓ-diversity",
    "t": "k-anonymity with t-closeness",
    "beta": "k-anonymity with β-likeness",
    "register": "Least risk against an attacker with a register",
}
"""What can be asked for, by the value of the field ``template``."""


def important(name: str) -> str:
    """The field that makes a column important."""
    return f"important/{name}"


def pairs(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Names as choices that are shown by their names."""
    return [(name, name) for name in names]


@dataclass(frozen=True)
class Subject:
    """What of a dataset its goals depend on: ``sensitive`` attributes with their different values.

    ``banded`` are amounts of which every value that leaves is to be of k persons; ``registers`` and
    ``sensitivities`` the dictionaries and sensitivity profiles that fit it.
    """

    name: str
    sha256: str
    rows: int
    quasi_identifiers: tuple[str, ...]
    sensitive: Mapping[str, int]
    greatest_utility: int
    banded: tuple[str, ...] = ()
    registers: tuple[str, ...] = ()
    sensitivities: tuple[str, ...] = ()
    doubt: str = ""
    rows_told: str = ""
    likeness_told: str = ""

    @classmethod
    def of(
        cls, dataset: Json, profile: Json, registers: tuple[str, ...], sensitivities: tuple[str, ...]
    ) -> Subject:
        """From the documents of the dataset and its profile."""
        roles: dict[str, list[str]] = {"quasi_identifier": [], "sensitive": []}
        for own in dataset["attributes"]:
            roles.setdefault(own["role"], []).append(own["name"])
        distinct = {own["name"]: own["distinct"] for own in profile["attributes"]}
        banded = tuple(persons_per_value(dataset, 1))
        likeness = [{"kind": LIKENESS, "beta": USUAL_BETA, "attribute": own} for own in roles["sensitive"]]
        asked = {"privacy": likeness, "persons_per_value": banded}
        return cls(
            dataset["name"],
            dataset["sha256"],
            dataset["rows"],
            tuple(roles["quasi_identifier"]),
            {name: distinct[name] for name in roles["sensitive"]},
            sum(heights_of(dataset).values()),
            banded,
            registers,
            sensitivities,
            doubt_of(profile),
            rows_told(dataset, profile, ROWS_SAID),
            " ".join(likeness_told(dataset, profile, asked)),
        )

    @property
    def diverse(self) -> tuple[str, ...]:
        """The sensitive attributes that have values to be told apart."""
        return tuple(name for name, values in self.sensitive.items() if values > 1)

    @property
    def has_register(self) -> bool:
        """Whether a risk can be computed for it."""
        return bool(self.registers and self.sensitivities)

    def choices(self) -> list[str]:
        """The templates that can be asked of it."""
        of_values = ["l", "t", "beta"] if self.diverse else []
        asked = ["k", *of_values, *(["register"] if self.has_register else [])]
        return asked if self.quasi_identifiers else [one for one in asked if one == "register"]

    def recommended(self) -> dict[str, Any]:
        """The fields as they stand before anything is changed: what these data can most likely reach."""
        shown: dict[str, Any] = {
            "template": "l" if self.diverse and self.quasi_identifiers else self.choices()[0],
            "k": min(USUAL_K, max(self.rows // 2, 1)),
            "suppressed": f"{USUAL_SUPPRESSED:g}",
            "floor": self.greatest_utility // 2,
        }
        for name in self.diverse:
            shown[f"l/{name}"] = min(USUAL_L, self.sensitive[name])
            shown[f"t/{name}"] = f"{USUAL_T:g}" if self.can_be_close(name) else ""
            shown[f"beta/{name}"] = f"{USUAL_BETA}" if self.can_be_close(name) else ""
        return shown

    def can_be_close(self, name: str) -> bool:
        """Whether classes of a usual size can have values distributed as in the whole table."""
        return self.sensitive[name] ** 2 <= self.rows


@dataclass(frozen=True)
class Asked:
    """A question for an optimisation without its name, and the field behind each of its criteria."""

    question: Json
    fields: tuple[str, ...] = ()

    def place(self, pointer: str) -> str:
        """The field of the form that a place in the question's body comes from."""
        parts = pointer.split("/")
        if parts[:2] == ["objective", "privacy"] and len(parts) > 2 and parts[2].isdecimal():
            return self.fields[int(parts[2])]
        known = {
            "objective/suppression_limit": "suppressed",
            "objective/utility_floor": "floor",
            "dictionary": "dictionary",
            "sensitivity": "sensitivity",
        }
        return known.get(pointer, "")


class _Reader:
    """Reads the numbers of a form and notes what is wrong with them."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.faults: list[Fault] = []

    def refuse(self, field: str, said: str, remedy: str = "") -> None:
        self.faults.append(Fault(field, said, remedy))

    def number(
        self, field: str, name: str, least: float, most: float, *, is_whole: bool = False
    ) -> float | None:
        """The number between the bounds; None where nothing stands, or something wrong."""
        kind = "a whole number" if is_whole else "a number"
        remedy = f"Give {kind} from {number(least)} to {number(most)}."
        try:
            given = self.form.number(field)
        except ValueError:
            self.refuse(field, f"{name} is no number.", remedy)
            return None
        if given is None:
            return None
        if not least <= given <= most or (is_whole and given != int(given)):
            self.refuse(field, f"{name} is out of range.", remedy)
            return None
        if written(given) != Fraction(self.form.text(field)):
            self.refuse(field, f"{name} is not kept exactly.", f"Give a number {KEPT}.")
            return None
        return given

    def required(self, field: str, name: str, least: float, most: float, *, is_whole: bool = False) -> float:
        """The same, where something has to stand."""
        if not self.form.text(field):
            self.refuse(
                field, f"{name} is missing.", f"Give a number from {number(least)} to {number(most)}."
            )
        given = self.number(field, name, least, most, is_whole=is_whole)
        return least if given is None else given

    def chosen(self, field: str, name: str, choices: Mapping[str, str] | tuple[str, ...]) -> str:
        """One of the choices."""
        given = self.form.text(field)
        if given not in choices:
            self.refuse(field, f"{name} is none of the choices.", "Choose one of them.")
        return given


def asked_in(form: Form, subject: Subject) -> Asked | tuple[Fault, ...]:
    """The question that a form asks of a dataset, or all that is wrong with the form."""
    read = _Reader(form)
    template = form.text("template")
    if template not in subject.choices():
        return (
            Fault("", "What is to be reached was not chosen, or this table does not allow it.", "Choose it."),
        )
    asked = _least_risk(read, subject) if template == "register" else _least_loss(read, subject, template)
    return tuple(read.faults) or asked


def _least_risk(read: _Reader, subject: Subject) -> Asked:
    floor = read.required("floor", "The least utility", 0, subject.greatest_utility)
    return Asked(
        {
            "dataset": subject.name,
            "dictionary": read.chosen("dictionary", "The register", subject.registers),
            "sensitivity": read.chosen("sensitivity", "The sensitivity profile", subject.sensitivities),
            "objective": {"kind": "min_risk", "utility_floor": floor},
        }
    )


def _least_loss(read: _Reader, subject: Subject, template: str) -> Asked:
    k = _k(read, subject)
    privacy: list[dict[str, Any]] = [{"kind": "k_anonymity", "k": k}]
    fields = ["k"]
    for name in subject.diverse if template in ("l", "t") else ():
        asked = _diversity(read, subject, name)
        if asked:
            privacy.append(asked)
            fields.append(f"l/{name}")
    for name in subject.diverse if template == "t" else ():
        t = read.number(f"t/{name}", f"t of {name}", 0, 1)
        if t is not None:
            privacy.append({"kind": CLOSENESS, "t": t, "attribute": name, "distance": "equal"})
            fields.append(f"t/{name}")
    for name in subject.diverse if template == "beta" else ():
        beta = read.number(f"beta/{name}", f"β of {name}", *BETAS)
        if beta is not None:
            privacy.append({"kind": LIKENESS, "beta": beta, "attribute": name})
            fields.append(f"beta/{name}")
    wanted = f"{template}/"
    if template != "k" and not any(field.startswith(wanted) for field in fields) and not read.faults:
        first = f"{template}/{subject.diverse[0]}"
        read.refuse(first, f"No number stands for any {NUMBERS[template]}.", "Give one at least.")
    share = read.required("suppressed", "The suppression limit", 0, 100) / 100
    objective = {
        "kind": ALTERNATIVES,
        "privacy": privacy,
        "suppression_limit": share,
        "important": [name for name in subject.quasi_identifiers if read.form.text(important(name))],
    }
    if subject.banded:
        objective["persons_per_value"] = dict.fromkeys(subject.banded, k)
    return Asked({"dataset": subject.name, "objective": objective}, tuple(fields))


def _k(read: _Reader, subject: Subject) -> int:
    try:
        given = read.form.number("k")
    except ValueError:
        given = None
    if given is not None and given > subject.rows:
        said = f"The table has {subject.rows:,} records, so no class can have {number(given)}."
        read.refuse("k", said, f"k is at most {subject.rows:,}.")
        return subject.rows
    return int(read.required("k", "k", 1, subject.rows, is_whole=True))


def _diversity(read: _Reader, subject: Subject, name: str) -> dict[str, Any] | None:
    field, values = f"l/{name}", subject.sensitive[name]
    try:
        given = read.form.number(field)
    except ValueError:
        given = None
    if given is not None and given > values:
        said = f"{name} has {values:,} different values, so no class can have {number(given)}."
        read.refuse(field, said, f"ℓ is at most {values:,}; leave it empty to ask nothing of {name}.")
        return None
    asked = read.number(field, f"ℓ of {name}", 1, values, is_whole=True)
    if asked is None:
        return None
    model = {"kind": "distinct_l_diversity", "l": int(asked), "attribute": name}
    if len(subject.sensitive) > 1:
        model["others"] = read.chosen("others", "What the attacker knows besides", OTHERS)
    return model


_OF_ALTERNATIVES: Final = {"kind", "privacy", "suppression_limit", "important", "persons_per_value"}
_OF_LEAST_RISK: Final = {
    "failure": None,
    "utility": "depth_sum",
    "risk_model": "I",
    "absent_policy": "zero",
    "attacker_view": "known",
    "aggregate": "average",
}
"""What the form leaves as it usually is."""


def fields_of(optimisation: Json) -> dict[str, str] | None:
    """The fields that ask the question of an optimisation again; None if the form cannot ask it."""
    objective = optimisation["objective"]
    if optimisation["scope"] != "table_level":
        return None
    if objective["kind"] in ("min_loss", ALTERNATIVES):
        return _fields_of_alternatives(objective)
    is_usual = all(optimisation.get(name) == usual for name, usual in _OF_LEAST_RISK.items())
    if objective["kind"] != "min_risk" or objective.get("utility_floor") is None or not is_usual:
        return None
    names = {name: str(optimisation[name]) for name in ("dictionary", "sensitivity")}
    return {"template": "register", "floor": f"{objective['utility_floor']:g}", **names}


def _fields_of_alternatives(objective: Json) -> dict[str, str] | None:
    """The same question, where one rule of least loss was asked for: what it loses as alternatives do."""
    asked = {name: value for name, value in objective.items() if name != "loss"}
    is_usual = objective.get("loss", "geometric") in ("geometric", {"kind": "geometric"})
    if not is_usual or not set(asked) <= _OF_ALTERNATIVES or not _are_usual(objective["privacy"]):
        return None
    fields = {"suppressed": f"{100 * objective['suppression_limit']:.10g}", "others": APART}
    template = "k"
    for own in objective["privacy"]:
        letter = number_of(own)
        fields[letter if letter == "k" else f"{letter}/{own['attribute']}"] = f"{own[letter]:.15g}"
        fields["others"] = own.get("others", fields["others"])
        template = max(template, letter, key=list(NUMBERS).index)
    return {"template": template, **fields, **{important(name): "on" for name in asked.get("important", ())}}


def _are_usual(privacy: Sequence[Json]) -> bool:
    """Whether these are criteria that the form asks for: k-anonymity, then of sensitive attributes."""
    kinds = {own["kind"] for own in privacy[1:]}
    is_asked = kinds <= {"distinct_l_diversity", CLOSENESS} or kinds == {LIKENESS}
    return [own["kind"] for own in privacy[:1]] == ["k_anonymity"] and all(
        is_asked
        and own.get("attribute") is not None
        and own.get("distance", "equal") == "equal"
        and own.get("bound", "enhanced") == "enhanced"
        and own.get("groups") is None
        and own.get("beta_negative") is None
        for own in privacy[1:]
    )
