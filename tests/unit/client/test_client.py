import json

import httpx
import pytest

from privacy_risk import AnswerError, Client, ProblemError, Progress, Retries, RunFailed
from privacy_risk.events import EventParser


def resource(name):
    return {"id": f"id-{name}", "name": name, "sha256": "00", "created_at": "2026-01-01T00:00:00Z"}


def run(state, progress=None):
    return {"id": "run-1", "state": state, "attempt": 1, "progress": progress, "error": None}


def client_of(handler):
    return Client(
        "http://service/", "abc.secret", transport=httpx.MockTransport(handler), retries=Retries(attempts=1)
    )


def test_every_call_carries_the_key_and_stays_below_the_version():
    seen = []

    def handler(request):
        seen.append((request.method, request.url.path, request.headers["authorization"]))
        return httpx.Response(201, json=resource("race"))

    with client_of(handler) as client:
        created = client.hierarchies.create({"name": "race"})
    assert (created.id, created.name) == ("id-race", "race")
    assert seen == [("POST", "/v1/hierarchies", "Bearer abc.secret")]


def test_measures_are_asked_for_under_the_addresses_of_the_service():
    seen = []

    def handler(request):
        seen.append((request.method, request.url.path))
        return httpx.Response(200, json={"POST": run("queued"), "GET": {"measures": []}}[request.method])

    with client_of(handler) as client:
        assert client.measurements.start_run({"measure": {"kind": "anonymity"}}).state == "queued"
        assert client.catalogue() == {"measures": []}
    assert seen == [("POST", "/v1/measurements/runs"), ("GET", "/v1/catalogue")]


def test_attackers_and_frontiers_are_asked_for_under_the_addresses_of_the_service():
    seen = []

    def handler(request):
        seen.append((request.method, request.url.path))
        if request.url.path.endswith("/map"):
            return httpx.Response(200, text="<svg/>")
        order = {"holds": True, "first_breach": None, "own_rows_consistent": True}
        return httpx.Response(200, json=order if "orders" in request.url.path else run("queued"))

    with client_of(handler) as client:
        assert client.dictionary_sets.compare("members", "members-themselves", "register")["holds"] is True
        assert client.frontiers.start_run({"name": "all"}).state == "queued"
        assert client.frontiers.picture("all") == "<svg/>"
    assert seen == [
        ("POST", "/v1/dictionary-orders"),
        ("POST", "/v1/frontiers"),
        ("GET", "/v1/frontiers/all/map"),
    ]


def test_a_problem_becomes_an_error_with_its_whole_document():
    document = {
        "type": "/problems/invalid-input",
        "title": "Invalid input",
        "status": 422,
        "detail": "Two faults.",
        "errors": [
            {"pointer": "/name", "code": "missing", "message": "A name is needed.", "remedy": "Add it."}
        ],
    }
    with (
        client_of(lambda request: httpx.Response(422, json=document)) as client,
        pytest.raises(ProblemError) as caught,
    ):
        client.rules.create({})
    assert caught.value.document == document
    assert (caught.value.status, caught.value.code) == (422, "invalid-input")
    assert "/name: A name is needed. Add it." in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b'"text"'])
def test_an_error_of_something_in_between_is_a_problem_too(body):
    with (
        client_of(lambda request: httpx.Response(502, content=body)) as client,
        pytest.raises(ProblemError) as caught,
    ):
        client.rules.get("proposal")
    assert caught.value.status == 502


@pytest.mark.parametrize(
    "body",
    [
        {"status": "error", "errors": "no"},
        {"status": None, "errors": ["no", None]},
        {"status": 200, "errors": {"pointer": "/name"}},
        {"status": [], "errors": None, "type": None, "detail": 7},
    ],
)
def test_a_problem_of_something_in_between_has_the_status_of_its_answer(body):
    with (
        client_of(lambda request: httpx.Response(503, json=body)) as client,
        pytest.raises(ProblemError) as caught,
    ):
        client.rules.get("proposal")
    assert caught.value.status == 503
    assert str(caught.value).startswith("503 ")


def test_nothing_is_waited_for_for_ever():
    """An upload may take any time once it is connected; a stream of events shows that it is alive."""
    asked = {}

    def handler(request):
        asked[request.url.path.rsplit("/", 1)[-1]] = request.extensions["timeout"]
        if request.url.path.endswith("/events"):
            return httpx.Response(200, content=b"")
        return httpx.Response(201, json=resource("x") | run("succeeded"))

    with client_of(handler) as client:
        client.uploads.create_from("x", b"a\n1\n", "csv")
        client.runs.wait("run-1")
    assert (asked["uploads"]["connect"], asked["uploads"]["read"]) == (60.0, None)
    assert 15.0 < asked["events"]["read"] <= 60.0
    assert asked["events"]["connect"] == 60.0


def test_a_refused_download_is_a_problem_not_data():
    problem = {"type": "/problems/forbidden", "title": "No", "status": 403, "detail": "This needs data:read."}
    with (
        client_of(lambda request: httpx.Response(403, json=problem)) as client,
        pytest.raises(ProblemError, match="data:read"),
    ):
        b"".join(client.releases.data("members-release"))


def test_lists_follow_the_cursor_to_the_end():
    pages = {None: (["c", "b"], "next"), "next": (["a"], None)}

    def handler(request):
        names, cursor = pages[request.url.params.get("cursor")]
        return httpx.Response(200, json={"items": [resource(name) for name in names], "next_cursor": cursor})

    with client_of(handler) as client:
        assert [item.name for item in client.rules.list()] == ["c", "b", "a"]


def test_an_upload_is_streamed_with_its_dialect():
    def handler(request):
        assert request.url.params["name"] == "members"
        assert request.url.params["delimiter"] == ";"
        assert "content-length" not in request.headers
        assert request.read() == b"a;b\n1;2\n"
        return httpx.Response(201, json=resource("members"))

    with client_of(handler) as client:
        assert (
            client.uploads.create_from("members", iter([b"a;b\n", b"1;2\n"]), delimiter=";").name == "members"
        )


def event(number, kind, data):
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def test_waiting_for_a_run_reports_progress_and_resumes_a_broken_stream():
    progress = [{"stage": "rules", "done": done, "total": 30, "rate": 10.0} for done in (10, 20, 30)]
    asked = []
    states = iter(["running", "succeeded"])

    def handler(request):
        if request.url.path.endswith("/events"):
            asked.append(request.headers.get("last-event-id"))
            number = len(asked)
            return httpx.Response(200, content=event(number, "progress", progress[number]))
        return httpx.Response(200, json=run(next(states)))

    seen = []
    with client_of(handler) as client:
        assert client.runs.wait("run-1", seen.append).state == "succeeded"
    assert asked == [None, "1"]
    assert seen == [Progress("rules", 20, 30, 10.0), Progress("rules", 30, 30, 10.0)]


@pytest.mark.parametrize("state", ["failed", "cancelled", "expired"])
def test_a_run_that_ends_without_a_result_is_an_error_that_says_why(state):
    document = run(state) | {"error": {"code": "worker-lost", "message": "It was lost three times."}}

    def handler(request):
        if request.url.path.endswith("/events"):
            return httpx.Response(200, content=b"")
        return httpx.Response(200, json=document)

    with client_of(handler) as client, pytest.raises(RunFailed, match="lost three times") as caught:
        client.runs.wait("run-1")
    assert caught.value.run.state == state


def test_comments_and_several_data_lines_of_an_event_stream_are_understood():
    lines = [": ping", "", "id: 4", "event: state", 'data: {"state":', 'data: "running"}', "", "id: 5"]
    parser = EventParser()
    events = [event for line in lines if (event := parser.take(line)) is not None]
    assert [(e.number, e.type, e.data) for e in events] == [("4", "state", {"state": "running"})]


def test_a_batch_is_appended_under_its_key():
    seen = []

    def handler(request):
        seen.append((request.url.path, request.headers["idempotency-key"], json.loads(request.content)))
        return httpx.Response(201, json={"step": 1, "records": [], "running": {}})

    with client_of(handler) as client:
        appended = client.sequential_disclosures.append(
            "enquiries", [{"values": {"city": "Gary"}}], {"kind": "levels", "levels": {}}, "key-1"
        )
    assert appended["step"] == 1
    body = {"records": [{"values": {"city": "Gary"}}], "rule": {"kind": "levels", "levels": {}}}
    assert seen == [("/v1/sequential-disclosures/enquiries/batches", "key-1", body)]


PAGE = httpx.Response(200, html="<p>Log in to the network</p>")


@pytest.mark.parametrize(
    "answer",
    [
        PAGE,
        httpx.Response(200, json={}),
        httpx.Response(200, json={"id": "i", "name": None, "sha256": "0"}),
        httpx.Response(200, json={"id": "i", "state": "succeeded", "attempt": True}),
        httpx.Response(200, json={"items": {}}),
        httpx.Response(200, json={"items": ["x"]}),
        httpx.Response(200, json=[]),
        httpx.Response(204),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.datasets.get("members"),
        lambda client: client.datasets.create({}),
        lambda client: client.datasets.page(),
        lambda client: list(client.datasets.list()),
        lambda client: client.runs.get("run-1"),
        lambda client: client.runs.page(),
        lambda client: list(client.runs.list()),
        lambda client: client.api_keys.all(),
        lambda client: client.webhooks.all(),
        lambda client: client.releases.frame("members"),
        lambda client: client.hierarchies.create_from_csv("race", b""),
    ],
)
def test_what_something_else_answers_in_its_place_is_told_from_an_answer(answer, call):
    with client_of(lambda _: answer) as client, pytest.raises(AnswerError, match="stand in between"):
        call(client)


@pytest.mark.parametrize(
    "call",
    [
        lambda client: list(client.releases.data("members")),
        lambda client: client.evaluations.evidence("gate"),
        lambda client: client.evidence.get("gate"),
        lambda client: list(client.runs.events("run-1")),
        lambda client: client.datasets.delete("members"),
    ],
)
def test_a_web_page_is_no_table_no_evidence_and_no_deletion(call):
    with client_of(lambda _: PAGE) as client, pytest.raises(AnswerError):
        call(client)


@pytest.mark.parametrize("data", ["not json", "[1]", '{"stage": "s", "done": "all", "total": 2}'])
def test_progress_that_is_none_is_an_error_of_the_client(data):
    def handler(request):
        if request.url.path.endswith("/events"):
            return httpx.Response(200, content=f"id: 1\nevent: progress\ndata: {data}\n\n".encode())
        return httpx.Response(200, json=run("succeeded"))

    with client_of(handler) as client, pytest.raises(AnswerError):
        client.runs.wait("run-1", lambda progress: None)


@pytest.mark.parametrize("cursor", ["again", 5])
def test_a_list_that_does_not_go_on_is_not_asked_for_without_end(cursor):
    page = httpx.Response(200, json={"items": [], "next_cursor": cursor})
    with client_of(lambda _: page) as client, pytest.raises(AnswerError, match="does not go on"):
        list(client.audit_events.list())


def test_whoever_waits_for_a_run_is_given_its_result():
    seen = []

    def handler(request):
        seen.append((request.url.path, request.headers.get("Prefer")))
        answered = (request.headers.get("Prefer") or "").startswith(
            "wait"
        ) and "gates" not in request.url.path
        return httpx.Response(200, json=run("succeeded") | ({"result": {"risk": 1}} if answered else {}))

    with client_of(handler) as client:
        assert client.optimisations.start_run({}, wait_seconds=20).result == {"risk": 1}
        assert client.assessments.start_run({}, wait_seconds=5).result == {"risk": 1}
        assert client.evaluations.start_run("p", {}, wait_seconds=60).result is None
        assert client.frontiers.start_run({}).result is None
    assert seen == [
        ("/v1/optimisations", "wait=20"),
        ("/v1/assessments/runs", "wait=5"),
        ("/v1/gates/p/evaluations/runs", "wait=60"),
        ("/v1/frontiers", "respond-async"),
    ]


LARGE = {"id": "i", "name": "n", "sha256": "0", "result": None}


@pytest.mark.parametrize(
    ("kind", "asked", "path"),
    [
        ("assessments", ({},), "/v1/assessments"),
        ("measurements", ({},), "/v1/measurements"),
        ("evaluations", ("p", {}), "/v1/gates/p/evaluations"),
    ],
)
def test_a_question_that_is_large_is_answered_when_its_run_has_ended(kind, asked, path):
    seen = []

    def handler(request):
        seen.append(f"{request.method} {request.url.path}")
        if request.method == "POST":
            return httpx.Response(202, json=LARGE | {"run": run("queued")})
        if request.url.path == f"/v1/{kind}/i":
            return httpx.Response(200, json=LARGE | {"result": {"risk": 1}})
        return httpx.Response(200, json=run("succeeded"))

    with client_of(handler) as client:
        found = getattr(client, kind).answer(*asked)
        assert (found.document["result"], found.run) == ({"risk": 1}, None)
        assert getattr(client, kind).create(*asked).run.state == "queued"
    assert seen[0] == seen[-1] == f"POST {path}"
    assert seen[-2] == f"GET /v1/{kind}/i"


def test_a_release_that_a_run_draws_is_waited_for():
    def handler(request):
        if request.method == "POST":
            return httpx.Response(202, json=run("queued"))
        if request.url.path == "/v1/releases/drawn":
            return httpx.Response(200, json=LARGE)
        is_result = request.url.path.endswith("/result")
        return httpx.Response(200, json={"release": "drawn"} if is_result else run("succeeded"))

    with client_of(handler) as client:
        assert client.releases.create({}).id == "i"
