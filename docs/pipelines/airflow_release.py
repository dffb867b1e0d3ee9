"""An Airflow DAG that publishes a table only once its policy lets it pass.

The step ``gate`` is a process like any other: its exit status is the verdict, so that the same lines are a
step of dbt, Dagster or a shell script. What comes after it does not run unless it has ended with 0.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

FOLDER = Path("/srv/releases")
REASONS = {1: "the policy says no", 2: "there is no verdict"}


@dag(schedule=None, catchup=False, tags=["privacy"])
def release_members() -> None:
    """Make the table, judge it, publish it."""

    @task
    def make_release() -> str:
        """Whatever makes the table to be released, such as ``dbt build``."""
        return str(FOLDER / "members-release.csv")

    @task
    def gate(release: str) -> str:
        """Judge the finished file; trying again would change nothing, so that a refusal is final."""
        command = ["privacy-risk", "gate", "gate/policy.yaml", "--dataset", "data/members.csv"]
        command += ["--tables", "gate/tables.toml", "--release", release, "--key", "member_id"]
        command += ["--report", f"{release}.evidence.json", "--output", f"json={release}.verdict.json"]
        status = subprocess.run(command, cwd=FOLDER, check=False).returncode  # noqa: S603
        if status != 0:
            raise AirflowFailException(REASONS.get(status, f"the gate ended with {status}"))
        return release

    @task
    def publish(release: str) -> None:
        """Hand the table out, and its evidence beside it."""
        Path(release).rename(FOLDER / "public" / Path(release).name)

    publish(gate(make_release()))


release_members()
