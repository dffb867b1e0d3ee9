"""What the suggested release shows of five tables: the table of docs/alternatives.md, printed anew.

``PRIVACY_RISK_DATA=… python -m tests.compared_tables`` asks of each for 5-anonymity, at most 2 % suppressed,
with roles and hierarchies as they are proposed.
"""

from __future__ import annotations

import io
import os
import random
import time
from pathlib import Path

import pandas as pd

import privacy_risk as pr
from app.samples.patients import csv_of_patients

PEOPLE = 5_000


def payroll(people: int) -> pd.DataFrame:
    """An invented payroll of fourteen columns."""
    draw = random.Random(14)
    jobs = {
        "Finance": ("Accountant", "Analyst", "Controller"),
        "Engineering": ("Engineer", "Senior Engineer", "Technician"),
        "Sales": ("Sales Associate", "Account Manager"),
        "Human Resources": ("Recruiter", "HR Generalist"),
        "Operations": ("Clerk", "Supervisor", "Warehouse Worker"),
        "Legal": ("Counsel",),
    }
    rows = []
    for number in range(people):
        department = draw.choices(list(jobs), (10, 30, 25, 5, 28, 2))[0]
        born, hired = draw.randrange(1958, 2003), draw.randrange(2005, 2025)
        left = draw.random() < 0.2
        rows.append(
            {
                "Employee ID": f"E{100000 + number}",
                "First Name": draw.choice(("Ann", "Bob", "Cara", "Dan", "Eve", "Finn", "Gina", "Hugh")),
                "Last Name": draw.choice(("Smith", "Jones", "Brown", "Lee", "Diaz", "Patel", "Novak")),
                "Gender": draw.choice("MF"),
                "Birth Date": f"{born}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
                "ZIP": f"{draw.choice((10, 11, 60, 94))}{draw.randrange(40):03}",
                "Marital Status": draw.choices(("Single", "Married", "Divorced", "Widowed"), (4, 5, 2, 1))[0],
                "Education": draw.choice(("High School", "Bachelor", "Master", "Doctorate", "Some College")),
                "Hire Date": f"{hired}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}",
                "Leaving Date": f"2025-{draw.randrange(1, 11):02}-{draw.randrange(1, 29):02}" if left else "",
                "Department": department,
                "Job Title": draw.choice(jobs[department]),
                "Full Time": draw.choices(("yes", "no"), (5, 1))[0],
                "Annual Salary": f"${round(draw.lognormvariate(11, 0.4), -1):,.2f}",
            }
        )
    return pd.DataFrame(rows)


def tables() -> dict[str, tuple[pd.DataFrame, dict[str, object]]]:
    """Name → table, and what is said of it beside what is proposed."""
    data = Path(os.environ["PRIVACY_RISK_DATA"])
    texts = {"dtype": str, "keep_default_na": False}
    patients = pd.read_csv(io.BytesIO(csv_of_patients(PEOPLE)), sep=";", encoding="latin-1", **texts)
    gss = pd.read_csv(next((data / "gss-wages").glob("*.csv")), **texts)
    cards = pd.read_csv(data / "creditcard-int" / "creditcard_int.csv", sep=";", **texts)
    return {
        "patients": (patients, {}),
        "payroll": (payroll(PEOPLE), {}),
        "Adult": (
            pd.read_csv(data / "arx-adult" / "adult.csv", sep=";", **texts),
            {"sensitive": ["occupation"]},
        ),
        "GSS wages": (gss, {"sensitive": ["realrinc"]}),
        "credit cards": (
            cards.iloc[:, :5],
            {"quasi_identifiers": ["SEX", "EDUCATION", "MARRIAGE", "AGE", "LIMIT_BAL"]},
        ),
    }


def main() -> None:
    """Print a row per table."""
    print("| Table | Suggested | What it shows | Suppressed | Loss | One level per column loses | Seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, (table, said) in tables().items():
        began = time.perf_counter()
        found = pr.compare(table, k=5, rows_are="persons", **said)
        seconds = time.perf_counter() - began
        own = found[found.suggested]
        first = found["one_level_per_column"]
        shown = "; ".join(
            f"{column['attribute']} {100 * column['shown_share']:.0f} %"
            for column in own["columns"]
            if column["shown_share"] is not None
        )
        hidden = [column["attribute"] for column in first["columns"] if column["shown_share"] == 0]
        lost = f"{first['loss']:.3f}" + (f", hides {', '.join(hidden)}" if hidden else "")
        print(
            f"| {name}, {len(table):,} records | {found.suggested.replace('_', ' ')} | {shown} "
            f"| {own['suppressed_records']:,} | {own['loss']:.3f} | {lost} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
