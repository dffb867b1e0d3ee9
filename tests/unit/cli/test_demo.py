"""The demonstration against a stub of the service: what it asks, what it shows, how it fails."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.cli.operations import Operations, RunningService
from app.cli.program import run
from app.samples import JOURNEY
from app.samples.files import write_sample

LEVELS = {"city": 0, "race": 0, "birth_date": 3, "income": 0}
PREVIEW = {
    "columns": ["member_id", "city", "race", "birth_date", "income"],
    "rows": [
        ["P1", "West Lafayette", "White", "1975-05-10", "52k"],
        ["P2", "Chicago", "Black", "1980-01-02", "40k"],
        ["P3", "Boston", None, "1990-03-04", "61k"],
    ],
    "total_rows": 200,
}
RELEASE = b"city,race,birth_date,income\nBoston,,*,61k\nChicago,Black,*,40k\nWest Lafayette,White,*,52k\n"
AFTER = [
    ["West Lafayette", "White", None, "52k"],
    ["Chicago", "Black", None, "40k"],
    ["Boston", None, None, "61k"],
]
"""The first records under the rule; the release has its rows in an order of its own."""
RULE_PREVIEW = {"columns": PREVIEW["columns"][1:], "records": [{"row": 1, "after": own} for own in AFTER]}
RECORDS = b"row,count,probability,phi,loss,utility\r\n1,7,0.142857,7.028688,1.004098,13\r\n2,1,1,7,7,13\r\n"


def score(risk, highest, utility):
    return {
        "risk_average": risk,
        "risk_max": highest,
        "loss_quantiles": {"0.5": risk},
        "utility_average": utility,
        "min_consistent": 1,
        "absent": 0,
    }


class Stub:
    """Answers of the service by (method, path), and the bodies it was sent."""

    def __init__(self):
        self.sent = {}
        self.result = {"status": "optimal", "rule": {"kind": "table_level", "levels": LEVELS}, "ties": 1}
        self.run_state = "succeeded"
        self.too_large = set()

    def answer(self, method, path, body):
        self.sent[method, path, body.get("name")] = body
        resource = {"id": "x", "name": body.get("name", "x"), "sha256": "0", "rows": 200, "entities": 500}
        resource |= {"leaves": 5, "height": 2, "status": "ready"}
        run_document = {
            "id": "run-1",
            "state": self.run_state,
            "attempt": 1,
            "error": {"code": "worker-lost"},
        }
        points = [
            {"levels": LEVELS, "risk": 0.06, "utility": 10.0},
            {"levels": LEVELS, "risk": "inf", "utility": 13},
        ]
        match method, path.removeprefix("/v1").split("?")[0].split("/")[1:]:
            case "GET", ["datasets", _, "preview"]:
                return 200, PREVIEW
            case "GET", ["releases", _, "data"]:
                return 200, RELEASE
            case "GET", ["assessments", _, "records"]:
                return 200, RECORDS
            case "POST", ["assessments"] if body["name"] in self.too_large:
                return 202, resource | {"result": None, "run": run_document}
            case ("POST", ["assessments"]) | ("GET", ["assessments", _]):
                return 201, resource | {"result": score(0.4, "inf", 10.0)}
            case ("POST", ["optimisations"]) | ("GET", ["runs", _]):
                return 200, run_document
            case "GET", ["runs", _, "events"]:
                data = json.dumps({"stage": "rules", "done": 150, "total": 300, "rate": None})
                return 200, f"id: 1\nevent: progress\ndata: {data}\n\n".encode()
            case "GET", ["runs", _, "result"]:
                return 200, self.result
            case "GET", ["runs", _, "map"]:
                return 200, {"rules": 300, "points": points}
            case "POST", ["rule-previews"]:
                return 200, RULE_PREVIEW
            case "POST", _:
                return 201, resource
        return 404, {"type": "/problems/not-found", "title": "There is nothing here", "status": 404}


@pytest.fixture
def stub():
    return Stub()


@pytest.fixture
def operations(stub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet

        def read_body(self):
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def do_GET(self):
            content = self.read_body()
            is_json = self.headers.get("content-type") == "application/json"
            status, answer = stub.answer(self.command, self.path, json.loads(content) if is_json else {})
            payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
            self.wfile.flush()

        do_POST = do_GET

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    stopped = []
    service = RunningService(
        f"http://127.0.0.1:{server.server_port}", "pre.secret", 1, lambda: None, lambda: stopped.append(True)
    )
    verbs = dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None) | {
        "start_service": lambda home, **_: service
    }
    yield Operations(**verbs)
    server.shutdown()
    server.server_close()
    assert stopped, "the service was left running"


@pytest.fixture
def demo(operations, tmp_path):
    def run_demo(*more):
        return run(["demo", "--scale", "0.01", "--output", str(tmp_path / "out"), *more], operations)

    return run_demo


def test_it_shows_records_rules_and_files(demo, tmp_path, capsys):
    assert demo() == 0
    out = capsys.readouterr().out
    assert "7 consistent people, sensitivity 7.028688, loss 1.004098, utility 13" in out
    assert "optimisation: rules 150 of 300 (50 %)" in out
    for line in (
        "before  West Lafayette  White      1975-05-10  52k",
        "before  Boston          (missing)  1990-03-04  61k",
        "after   Boston          *          *           61k",
    ):
        assert line in out
    assert "highest single loss" in out
    assert "city 0, race 0, birth_date 3, income 0" in out
    assert (tmp_path / "out" / "members-release.csv").read_bytes() == RELEASE
    assert (tmp_path / "out" / "risk-utility-map.svg").read_text().startswith("<svg")


def test_with_json_there_is_one_object_and_nothing_else(demo, capsys):
    assert demo("--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["optimum"]["rule"]["levels"] == LEVELS
    assert report["optimum"]["highest_loss"] == "inf"
    assert report["sizes"]["records"] == 200
    assert {"service", "uploads", "optimisation", "total"} <= set(report["seconds"])
    assert len(report["records"]["before"]) == len(report["records"]["after"]) == 3


@pytest.mark.parametrize(("stated", "floor"), [(True, 9), (False, 10.0)])
def test_the_utility_floor_is_that_of_the_journey_or_of_the_proposal(demo, stub, tmp_path, stated, floor):
    write_sample(tmp_path / "own", 200, 500)
    journey = tmp_path / "own" / JOURNEY
    if not stated:
        journey.write_text(journey.read_text().partition("[optimisation]")[0])
    demo("--json", "--journey", str(journey))
    question = stub.sent["POST", "/v1/optimisations", "members-optimum"]
    assert question["objective"] == {"kind": "min_risk", "utility_floor": floor}


def test_a_score_too_large_for_a_direct_answer_becomes_a_run(demo, stub):
    stub.too_large = {"demo-as-is-score"}
    assert demo("--json") == 0
    # The other score is answered at once, and nobody asks for it again.
    assert [path for method, path, _ in stub.sent if method == "GET" and "/assessments/" in path] == [
        "/v1/assessments/x", "/v1/assessments/demo-as-is-score/records?format=csv"
    ]  # fmt: skip


def test_an_infeasible_objective_is_said_and_status_1(demo, stub, tmp_path, capsys):
    stub.result = {"status": "infeasible", "rule": None}
    assert demo() == 1
    assert "No rule satisfies the objective: infeasible" in capsys.readouterr().out
    assert not (tmp_path / "out" / "members-release.csv").exists()


def test_a_failed_run_is_an_error_that_names_its_cause(demo, stub, capsys):
    stub.run_state = "failed"
    assert demo("--json") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "failed" in captured.err
    assert "worker-lost" in captured.err


def test_a_refusal_of_the_service_ends_the_demonstration_with_its_words(demo, stub, capsys):
    answer = stub.answer
    problem = {
        "type": "/problems/conflict",
        "title": "Conflict",
        "status": 409,
        "detail": "The name is taken.",
    }
    stub.answer = lambda method, path, body: (
        (409, problem) if path == "/v1/rules" else answer(method, path, body)
    )
    assert demo("--json") == 1
    assert "The name is taken." in capsys.readouterr().err


def test_serve_prints_where_to_go_and_the_key(demo, capsys):
    assert demo("--serve") == 0
    out = capsys.readouterr().out
    assert "/docs" in out
    assert "pre.secret" in out
