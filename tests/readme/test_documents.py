"""Every command of the README and the pages is run, in the order in which it stands there.

Left out, by name: the README's test command, which would run this test, and the part of the other that
makes the environment (an installation takes minutes and a network; `.ci/run` does both in an empty clone).
"""

import asyncio
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from pydantic import AliasChoices

from app.api.problems import PROBLEM_TYPES
from app.domain.search.catalogue import SEARCHES
from app.settings import Settings
from tests.api.journey import walk
from tests.api.operations import OPERATIONS
from tests.docs import (
    FENCE,
    QUICK,
    SERVE,
    blocks,
    claims,
    differences,
    environment_of,
    faults_of,
    key_of_tenant,
    masked,
    needs_data,
    pages_with_commands,
    prepare,
    result_of,
    run_commands,
    serving,
)
from tests.processes import held_port

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def environment(short_folder):
    with held_port() as port:
        yield environment_of(short_folder / "readme", port)


@pytest.fixture(scope="module")
def service(folder, environment):
    with serving(folder, environment) as base_url:
        yield base_url


def marked(page):
    return pytest.param(page, marks=[pytest.mark.real_data] * needs_data(page))


@pytest.mark.readme
@pytest.mark.parametrize("page", [marked(page) for page in pages_with_commands()])
def test_every_command_of_the_page_does_what_the_page_says(page, folder, environment, service):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if needs_data(page) and "PRIVACY_RISK_DATA" not in os.environ:
        pytest.skip("PRIVACY_RISK_DATA is not set: no public data sets")
    done = run_commands(page, folder, environment, service)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert differences(page, done.stdout) == []
    if page == "README.md":
        shown = (ROOT / "docs" / "risk-utility-map.svg").read_bytes()
        assert (folder / "demo-output" / "risk-utility-map.svg").read_bytes() == shown


def test_a_transcript_is_compared_but_for_times_dates_and_identifiers():
    (shown, *_) = [text for language, text in blocks("docs/experiments.md") if language == "text"]
    assert differences("docs/experiments.md", "") != []
    both = "".join(text for language, text in blocks("docs/experiments.md") if language == "text")
    assert differences("docs/experiments.md", both) == []
    changed = both.replace("160 cells", "161 cells")
    (said,) = differences("docs/experiments.md", changed)
    assert "160 cells as they are" in said
    assert shown != changed
    one = masked("run 0123456789abcdef of 2026-11-30T10:00:00Z took 0.31 s and found 12 records")
    other = masked("run fedcba9876543210 of 2027-01-02T23:59:59Z took 41.2 s and found 12 records")
    assert one == other
    assert one != masked("run fedcba9876543210 of 2027-01-02T23:59:59Z took 41.2 s and found 13 records")


@pytest.mark.readme
@pytest.mark.parametrize("experiment", [name for name, quick in QUICK.items() if quick])
def test_numbers_in_prose_are_those_of_quick_experiments(experiment):
    bound = [claim for claim in claims() if claim["experiment"] == experiment]
    assert bound
    result = result_of(experiment)
    assert [fault for claim in bound for fault in faults_of(claim, result)] == []


def test_every_bound_number_is_on_its_page_and_of_an_experiment_whose_time_is_known():
    for claim in claims():
        assert claim["text"] in " ".join((ROOT / claim["page"]).read_text().split()), claim["text"]
        assert claim["experiment"] in QUICK
    assert {claim["experiment"] for claim in claims()} == set(QUICK)


def test_a_number_that_is_not_found_is_named_with_what_is():
    claim = next(own for own in claims() if own["experiment"] == "N2")
    result = {"claims": [{}, {"evidence": "7 % name it, 62 % do not"}], "tables": []}
    made = {
        "page": claim["page"],
        "experiment": "N2",
        "text": "6 % name it",
        "finds": ["claims.1.evidence#0"],
    }
    (fault,) = faults_of(made, result)
    assert "6 is 7 by N2" in fault
    (fault,) = faults_of(made | {"finds": []}, result)
    assert "1 numbers, and 0 are bound" in fault
    (fault,) = faults_of(made | {"text": "no such words"}, result)
    assert "no longer says" in fault


def by_hand():
    """The commands of the worked example by curl, for a service and a key that there are."""
    text = (ROOT / "docs" / "by-hand.md").read_text()
    worked = text[text.index("## The same by hand") :]
    scripts = [text for language, text in FENCE.findall(worked) if language == "sh" and text != SERVE]
    return "\n".join(scripts)


def test_the_worked_example_and_the_examples_of_the_interface_have_no_name_in_common():
    script = by_hand()
    readme = set(re.findall(r"""--json '\{\s*"name": "([^"]+)\"""", script))
    for names, body in re.findall(r"^for name in (.+?); do\n(.+?)^done", script, re.MULTILINE | re.DOTALL):
        (pattern,) = re.findall(r"[?]name=([^\"]+)", body)
        readme |= {pattern.replace("$name", name) for name in names.split()}
    assert {"club-members", "club-census", "club-city", "club-harm", "club-optimum"} < readme
    examples = {value["name"] for value in example_bodies() if "name" in value} | {
        own["value"]
        for _, _, operation in OPERATIONS
        for parameter in operation.get("parameters", ())
        if parameter["name"] == "name"
        for own in parameter.get("examples", {}).values()
    }
    assert {"members", "census", "city", "members-harm", "members-optimum"} < examples
    assert readme & examples == set()


def example_bodies():
    for method, _, operation in OPERATIONS:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if method == "POST":
            yield from (own["value"] for own in content.get("examples", {}).values())


@pytest.mark.readme
@pytest.mark.parametrize("first", ["readme", "examples"])
def test_the_worked_example_and_the_examples_of_the_interface_run_on_one_service(
    first, folder, environment, service
):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    key = key_of_tenant(f"both-{first}", folder, environment)
    if first == "examples":
        asyncio.run(send_examples(service, key))
    script = re.sub(r"^export (KEY|API)=.*$", "", by_hand(), flags=re.MULTILINE)
    variables = environment | {"API": f"{service}/v1", "KEY": key}
    command = ["bash", "-c", f"set -euo pipefail\n{script}"]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    if first == "readme":
        asyncio.run(send_examples(service, key))


class Worker:
    """The service has one, which is waited for."""

    def __init__(self, client):
        self.client = client

    async def work_off(self, run):
        while (await self.client.get(f"/v1/runs/{run}", headers={"Prefer": "wait=20"})).json()["state"] in (
            "queued",
            "running",
        ):
            pass


async def send_examples(service, key):
    """All up to those that would send messages to other servers."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=service, headers=headers, timeout=60) as client:
        sent = 0
        async for step, answer in walk(Worker(client), client, before="webhooks"):
            ended = step.operation_id == "cancel_run" and answer.status_code == 409
            assert ended or answer.is_success, (step.operation_id, step.key, answer.text)
            sent += 1
        assert sent > 100


def test_the_readme_holds_the_two_commands():
    text = (ROOT / "README.md").read_text()
    for lock, command in (("requirements.lock", "app demo"), ("requirements-dev.lock", "pytest -n logical")):
        install = f".venv/bin/pip install --require-hashes -r {lock}"
        assert f"\npython3 -m venv .venv && {install} && .venv/bin/python -m {command}\n" in text


def test_links_between_the_pages_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_listed_once_in_the_index_which_the_short_readme_names():
    listed = re.findall(r"^1\. \[.+?\]\((.+?\.md)\)", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md"
    )
    readme = (ROOT / "README.md").read_text()
    assert "(docs/index.md)" in readme
    assert len(readme.splitlines()) <= 140


def test_every_problem_of_the_service_has_its_paragraph():
    text = (ROOT / "docs" / "problems.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == {problem.code for problem in PROBLEM_TYPES}
    for problem in PROBLEM_TYPES:
        section = sections[problem.code]
        assert section.startswith(f"{problem.status}. {problem.title}.")
        assert problem.meaning in section
        assert problem.remedy in section


def test_every_locked_dependency_is_in_the_notice():
    notice = (ROOT / "NOTICE").read_text()
    locked = set(re.findall(r"^([a-z0-9_.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert locked
    assert {name for name in locked if f"\n  {name} " not in notice} == set()


def test_every_setting_is_documented_with_its_default():
    text = (ROOT / "docs" / "operating.md").read_text()
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        # Of several names the first is the one that is documented.
        variable = alias.choices[0] if isinstance(alias, AliasChoices) else alias
        variable = variable or f"PRIVACY_RISK_{name.upper()}"
        default = (
            "as above"
            if field.default_factory
            else ""
            if field.default in (None, ())
            else f"`{field.default}`"
        )
        assert f"| `{variable}` | {field.description} | {default} |\n" in text


def test_every_command_is_documented(monkeypatch, capsys):
    text = (ROOT / "docs" / "operating.md").read_text()
    monkeypatch.setattr(sys, "argv", ["app", "--help"])
    with pytest.raises(SystemExit):
        runpy.run_module("app", run_name="__main__")
    usage = capsys.readouterr().out
    commands = set(re.findall(r"^    ([a-z-]+) ", usage, re.MULTILINE))
    assert {"serve", "demo"} <= commands
    pages = text + (ROOT / "docs" / "demo.md").read_text()
    assert {command for command in commands if f"python -m app {command}" not in pages} == set()


def test_every_search_stands_on_the_page_on_choosing_one():
    page = (ROOT / "docs" / "choosing-an-algorithm.md").read_text()
    for search in SEARCHES:
        assert f"`{search.name}`" in page, search.name
