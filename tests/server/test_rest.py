"""REST: every answer is as the OpenAPI description says, and what is wrong is refused with a reason."""

import json
import urllib.error
import urllib.request

import pytest

pytest.importorskip("starlette")
from server_client import running


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


def ask(server, path, *, method="GET", **headers):
    """Status, headers, body."""
    request = urllib.request.Request(server.base_url + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def ask_json(server, path):
    status, headers, body = ask(server, path)
    assert headers["content-type"] == "application/json"
    return status, json.loads(body)


def description(server):
    return ask_json(server, "api/v1/openapi.json")[1]


def concrete_paths(described):
    """Every path of the description with parameters that exist here."""
    import os

    import amdgpu

    known = {"{name}": amdgpu.list_devices()[-1].device, "{pid}": str(os.getpid())}
    for path in described["paths"]:
        filled = path
        for name, value in known.items():
            filled = filled.replace(name, value)
        if "{" not in filled:
            yield path, filled


def test_every_answer_is_as_described(server):
    jsonschema = pytest.importorskip("jsonschema")
    described = description(server)
    seen = 0
    for path, filled in concrete_paths(described):
        operation = described["paths"][path]["get"]
        content = operation["responses"]["200"]["content"].get("application/json")
        query = "&".join(
            f"{p['name']}=amdgpu_busy_ratio" for p in operation["parameters"] if p["in"] == "query" and p["required"]
        )
        status, answer = ask_json(server, f"{filled[1:]}?{query}") if content else (200, None)
        assert status == 200, (filled, answer)
        if content:
            jsonschema.Draft202012Validator(content["schema"]).validate(answer)
            seen += 1
    assert seen >= 5


def test_the_description_is_true_for_made_up_requests(server):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    schema = schemathesis.openapi.from_url(f"{server.base_url}api/v1/openapi.json")
    tried = 0
    for operation in schema.get_all_operations():
        strategies = [operation.ok().as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]

        @given(strategies[0] | strategies[1])
        @settings(
            max_examples=25,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        def check(case):
            case.call_and_validate(timeout=60)

        check()
        tried += 1
    assert tried >= 5


def test_devices_are_those_of_the_machine(server):
    import amdgpu

    _, answer = ask_json(server, "api/v1/devices")
    assert [device["device"] for device in answer["devices"]] == [info.device for info in amdgpu.list_devices()]
    _, by_index = ask_json(server, "api/v1/devices/0")
    assert by_index["device"] == answer["devices"][0]


def test_health_says_what_the_server_is(server):
    import os

    import amdgpu

    _, answer = ask_json(server, "api/v1/health")
    assert (answer["version"], answer["pid"], answer["allow_execute"]) == (amdgpu.__version__, os.getpid(), False)


def test_the_catalogue_is_that_of_the_package(server):
    from amdgpu._generated.metrics import METRICS

    _, answer = ask_json(server, "api/v1/catalogue")
    assert [row["name"] for row in answer["metrics"]] == [metric.name for metric in METRICS]


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("api/v1/nothing", 404, "invalid-argument"),
        ("api/v2/health", 404, "invalid-argument"),
        ("api/v1/devices/cuda:99", 404, "device-not-found"),
        ("api/v1/boundaries?pid=0", 400, "invalid-argument"),
        ("api/v1/boundaries?pid=abc", 400, "invalid-argument"),
        ("api/v1/health?colour=red", 400, "invalid-argument"),
        ("metrics?compat=ganglia", 400, "invalid-argument"),
    ],
)
def test_what_is_wrong_is_refused_with_a_reason(server, path, status, reason):
    found, answer = ask_json(server, path)
    assert (found, answer["reason"]) == (status, reason)
    assert answer["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed_by_rest(server, method):
    for path in ("api/v1/devices", "metrics", ""):
        assert ask(server, path, method=method)[0] == 405


def test_answers_are_not_taken_for_anything_else(server):
    for path in ("api/v1/devices", "metrics", "", "api/v1/nothing"):
        _, headers, _ = ask(server, path)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_the_page_is_served_or_says_how_to_build_it(server):
    from amdgpu.server.static_files import FOLDER

    status, headers, body = ask(server, "")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'self'" in headers["content-security-policy"]
    if not (FOLDER / "index.html").is_file():
        assert b"./x build" in body


def test_files_outside_the_dashboard_are_not_served(server, tmp_path):
    import asyncio

    from amdgpu.server.static_files import Dashboard

    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>page</title>")
    (folder / "assets" / "app-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")

    def get(path):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            # A client that waits for its answer.
            return await asyncio.get_running_loop().create_future()

        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "root_path": ""}
        asyncio.run(Dashboard(folder)(scope, receive, send))
        headers = dict(sent[0]["headers"])
        return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])

    assert get("/")[2] == b"<title>page</title>"
    assert get("/kernels")[2] == b"<title>page</title>"
    status, headers, body = get("/assets/app-1a2b.js")
    assert (status, body) == (200, b"1")
    assert b"immutable" in headers[b"cache-control"]
    for path in ("/../secret.txt", "/assets/../../secret.txt", "/missing.js", "//secret.txt"):
        status, _, body = get(path)
        assert body != b"secret"
        assert status == 404
