"""Every command of the README and the pages is run, in the order in which it stands there.

Left out, by name: the README's test command, which would run this test, and the part of the other that
makes the environment (an installation takes minutes and a network; `.ci/run` does both in an empty clone).
"""

import asyncio
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from pydantic import AliasChoices

from app.api.problems import PROBLEM_TYPES
from app.domain.search.catalogue import SEARCHES
from app.settings import Settings
from tests.api.journey import walk
from tests.api.operations import OPERATIONS
from tests.processes import HANG_SECONDS, held_port
from tests.unit.services.workbooks import workbook

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVE = ".venv/bin/python -m app serve\n"
INSTALL = re.compile(r"^python3 -m venv .*?requirements\.lock && ")
PORT = "8000"


def blocks(page):
    """(language, text) of every fenced block; the README's test command is left out."""
    found = FENCE.findall((ROOT / page).read_text())
    return [(language, text) for language, text in found if "-m pytest -n" not in text]


def pages_with_commands():
    pages = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [page for page in pages if any(language == "sh" for language, _ in blocks(page))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a workbook, and with this interpreter and checkout as ``.venv/bin/python``."""
    folder = tmp_path_factory.mktemp("clone")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    people = [(f"p-{n}", ("Gary", "Boston")[n % 2], ("White", "Black")[n % 4 // 2]) for n in range(12)]
    (folder / "people.xlsx").write_bytes(workbook(("id", "city", "race"), *people))
    return folder


@pytest.fixture(scope="module")
def port():
    with held_port() as port:
        yield port


@pytest.fixture(scope="module")
def environment(short_folder, port):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRIVACY_RISK_")}
    kept.pop("DATABASE_URL", None)
    return kept | {"PRIVACY_RISK_HOME": str(short_folder / "readme"), "PRIVACY_RISK_PORT": str(port)}


@pytest.fixture(scope="module")
def service(folder, environment):
    """The service, started by the README's own command."""
    assert ("sh", SERVE) in blocks("README.md")
    log = (folder / "serve.log").open("wb")
    process = subprocess.Popen(
        SERVE.split(), cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    base_url = f"http://127.0.0.1:{environment['PRIVACY_RISK_PORT']}"
    try:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            assert process.poll() is None, (folder / "serve.log").read_text()
            assert time.monotonic() < deadline, (folder / "serve.log").read_text()
            try:
                if httpx.get(f"{base_url}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield base_url
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


def marked(page):
    text = (ROOT / page).read_text()
    needs_data = "=$PRIVACY_RISK_DATA/" in text
    return pytest.param(page, marks=[pytest.mark.real_data] * needs_data)


@pytest.mark.readme
@pytest.mark.parametrize("page", [marked(page) for page in pages_with_commands()])
def test_every_command_of_the_page_does_what_the_page_says(page, folder, environment, service):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if "=$PRIVACY_RISK_DATA/" in (ROOT / page).read_text() and "PRIVACY_RISK_DATA" not in os.environ:
        pytest.skip("PRIVACY_RISK_DATA is not set: no public data sets")
    script, expected = ["set -euo pipefail"], []
    for language, text in blocks(page):
        if language == "sh" and text != SERVE:
            text = INSTALL.sub("", text).replace(f":{PORT}/", f":{environment['PRIVACY_RISK_PORT']}/")
            script += [text]
        elif language == "text":
            expected.append(text)
    variables = dict(environment, API=f"{service}/v1")
    variables["KEY"] = variables["PRIVACY_RISK_API_KEY"] = key_of_tenant(Path(page).stem, folder, environment)
    if "PRIVACY_RISK_DATA" in os.environ:
        variables["PRIVACY_RISK_DATA"] = os.environ["PRIVACY_RISK_DATA"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for text in expected:
        assert text in done.stdout, done.stdout
    if page == "README.md":
        shown = (ROOT / "docs" / "risk-utility-map.svg").read_bytes()
        assert (folder / "demo-output" / "risk-utility-map.svg").read_bytes() == shown


def key_of_tenant(name, folder, environment):
    command = [".venv/bin/python", "-m", "app", "bootstrap", name]
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return made.stdout.strip()


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
