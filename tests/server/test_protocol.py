"""Phoenix Channels as the server speaks them, frame by frame, in both versions."""

import numpy as np
import pytest

pytest.importorskip("starlette")
from server_client import client, running

UNMATCHED = ("error", {"reason": "unmatched topic"})


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


@pytest.fixture(params=[1, 2])
def any_version(server, request):
    with client(server, version=request.param) as connected:
        yield connected


@pytest.fixture
def v2(server):
    with client(server) as connected:
        yield connected


def test_a_heartbeat_is_answered(any_version):
    assert any_version.call("heartbeat", topic="phoenix") == ("ok", {})


def test_other_events_of_the_phoenix_topic_are_unmatched(any_version):
    assert any_version.call("nonsense", topic="phoenix") == UNMATCHED


def test_a_join_is_answered_with_its_own_ref(v2):
    v2.send(["3", "3", "gpu:api", "phx_join", {}])
    join_ref, ref, topic, event, payload = v2.receive()
    assert (join_ref, ref, topic, event, payload["status"]) == ("3", "3", "gpu:api", "phx_reply", "ok")
    assert "device:list" in payload["response"]["events"]


def test_version_1_is_answered_with_exactly_its_keys(server):
    with client(server, version=1) as old:
        old.send({"topic": "gpu:api", "event": "phx_join", "payload": {}, "ref": "1"})
        frame = old.receive()
        assert set(frame) == {"topic", "event", "payload", "ref"}
        assert (frame["topic"], frame["event"], frame["ref"]) == ("gpu:api", "phx_reply", "1")


def test_no_vsn_means_version_1(server):
    from server_client import Client
    from websockets.sync.client import connect

    with connect(server.base_url.replace("http", "ws") + "socket/websocket") as socket:
        assert Client(socket, version=1).call("heartbeat", topic="phoenix") == ("ok", {})


@pytest.mark.parametrize("topic", ["gpu", "gpu:nothing", "room:lobby", "gpu:telemetryx", "", "ünïcode:💥"])
def test_topics_that_do_not_exist_cannot_be_joined(any_version, topic):
    assert any_version.join(topic) == UNMATCHED
    assert any_version.call("anything", topic=topic) == UNMATCHED


def test_a_message_for_a_topic_that_was_not_joined_is_unmatched(v2):
    v2.send(["9", "1", "gpu:api", "device:list", {}])
    assert v2.receive() == [None, "1", "gpu:api", "phx_reply", {"status": "error", "response": UNMATCHED[1]}]


def test_a_push_is_answered_with_its_ref_and_the_join_ref(v2):
    v2.join("gpu:api")
    v2.push("gpu:api", "device:list", ref="77")
    frame = v2.receive()
    assert frame[:4] == [v2.joined["gpu:api"], "77", "gpu:api", "phx_reply"]
    assert frame[4]["response"]["devices"][-1]["kind"] == "cpu"


def test_a_push_without_join_ref_is_accepted(v2):
    v2.join("gpu:api")
    v2.send([None, "5", "gpu:api", "device:list", {}])
    assert v2.reply("5")[0] == "ok"


def test_a_push_with_a_stale_join_ref_is_dropped(v2):
    v2.join("gpu:api")
    v2.send(["stale", "5", "gpu:api", "device:list", {}])
    ref = v2.push("phoenix", "heartbeat")
    assert v2.reply(ref) == ("ok", {})
    assert not v2.aside


def test_a_push_without_ref_is_not_answered(v2):
    v2.join("gpu:api")
    v2.send([None, None, "gpu:api", "nonsense", {}])
    assert v2.call("heartbeat", topic="phoenix") == ("ok", {})
    assert not v2.aside


def test_leaving_is_answered_before_the_channel_is_closed(v2):
    v2.join("gpu:api")
    join_ref = v2.joined["gpu:api"]
    v2.send([join_ref, "16", "gpu:api", "phx_leave", {}])
    assert v2.receive() == [join_ref, "16", "gpu:api", "phx_reply", {"status": "ok", "response": {}}]
    assert v2.receive() == [join_ref, join_ref, "gpu:api", "phx_close", {}]
    assert v2.call("device:list") == UNMATCHED


def test_version_1_is_told_of_no_close_that_its_next_join_could_take_for_its_own(server):
    with client(server, version=1) as old:
        old.join("gpu:api")
        assert old.call("phx_leave", topic="gpu:api") == ("ok", {})
        assert old.join("gpu:api")[0] == "ok"
        assert not old.aside


def test_leaving_what_is_not_joined_is_fine(any_version):
    assert any_version.call("phx_leave", topic="gpu:api") == ("ok", {})


def test_a_second_join_closes_the_first(v2):
    v2.send(["3", "3", "gpu:api", "phx_join", {}])
    assert v2.receive()[4]["status"] == "ok"
    v2.send(["8", "8", "gpu:api", "phx_join", {}])
    closed, joined = v2.receive(), v2.receive()
    assert closed == ["3", "3", "gpu:api", "phx_close", {}]
    assert joined[:2] == ["8", "8"]
    v2.send(["8", "9", "gpu:api", "device:list", {}])
    assert v2.reply("9")[0] == "ok"


def test_version_1_closes_the_first_before_it_answers_a_second_join(server):
    with client(server, version=1) as old:
        for ref in ("1", "2"):
            old.send({"topic": "gpu:api", "event": "phx_join", "payload": {}, "ref": ref})
        events = [old.receive() for _ in range(3)]
        assert [(frame["event"], frame["ref"]) for frame in events] == [
            ("phx_reply", "1"),
            ("phx_close", "1"),
            ("phx_reply", "2"),
        ]


def test_events_that_do_not_exist_are_errors(any_version):
    any_version.join("gpu:api")
    status, response = any_version.call("device:destroy")
    assert (status, response["reason"]) == ("error", "invalid-message")
    assert "device:list" in response["message"]
    any_version.join("gpu:telemetry")
    status, response = any_version.call("device:list", topic="gpu:telemetry")
    assert (status, response["reason"]) == ("error", "invalid-message")


def test_a_crash_in_a_channel_is_phx_error_and_the_socket_lives(server, v2, monkeypatch, caplog):
    from amdgpu.server.api import Api

    async def crash(self, event, payload):
        raise RuntimeError("a bug")

    v2.join("gpu:api")
    monkeypatch.setattr(Api, "call", crash)
    v2.push("gpu:api", "device:list")
    join_ref = v2.joined["gpu:api"]
    assert v2.receive() == [join_ref, join_ref, "gpu:api", "phx_error", {}]
    monkeypatch.undo()
    assert v2.join("gpu:api")[0] == "ok"
    assert v2.call("device:list")[0] == "ok"
    assert "a bug" in caplog.text


def test_frames_follow_the_schema_of_the_join(v2):
    status, schema = v2.join("gpu:telemetry")
    assert (status, schema["schema"], schema["rate_hz"], schema["history_seconds"]) == ("ok", "amdgpu.frame/1", 60, 300)
    assert {"name", "kind", "description"} <= set(schema["devices"][0])
    assert all({"name", "labels", "unit", "scale"} <= set(metric) for metric in schema["metrics"])
    first, second = v2.frame(), v2.frame()
    for _, _, values in (first, second):
        assert values.size == len(schema["devices"]) * len(schema["metrics"])
    assert second[0] > first[0]
    assert second[1] > first[1]
    assert abs(first[1] - schema["clock"]["monotonic_ns"] / 1e9) < 60


def test_version_1_gets_frames_as_objects(server):
    with client(server, version=1) as old:
        _, schema = old.join("gpu:telemetry")
        frame = old.event("frame")
        assert set(frame) == {"sequence", "time", "values"}
        assert np.shape(frame["values"]) == (len(schema["devices"]), len(schema["metrics"]))


@pytest.mark.parametrize("suffix", ["cpu:0", "0"])
def test_a_device_has_a_topic_by_name_and_by_index(v2, suffix):
    import amdgpu

    name = suffix if suffix != "0" else amdgpu.list_devices()[0].device
    _, schema = v2.join(f"gpu:telemetry:{suffix}")
    assert [device["name"] for device in schema["devices"]] == [name]
    assert v2.frame()[2].size == len(schema["metrics"])


@pytest.mark.parametrize("suffix", ["99", "cuda:99", "-1", ""])
def test_a_device_that_is_not_there_has_none(v2, suffix):
    status, response = v2.join(f"gpu:telemetry:{suffix}")
    if suffix:
        assert (status, response["reason"]) == ("error", "device-not-found")
        assert "cpu:0" in response["message"]
    else:
        assert status == "ok"


def test_samples_come_to_who_subscribed_and_end(any_version):
    any_version.join("gpu:telemetry:cpu:0")
    topic = "gpu:telemetry:cpu:0"
    assert any_version.call("subscribe", {"coreType": "matrix"}, topic) == ("ok", {"coreTypes": ["matrix"]})
    sample = any_version.event("telemetry_update")
    assert (sample["device"], sample["coreType"]) == ("cpu:0", "matrix")
    for name in ("utilization", "memoryUsage", "temperature", "powerConsumption"):
        assert (sample[name] is None) == (name in sample["absent"])
    assert any_version.call("unsubscribe", {}, topic) == ("ok", {"coreTypes": []})
    status, response = any_version.call("subscribe", {"coreType": "tensor"}, topic)
    assert (status, response["reason"]) == ("error", "unknown-core-type")
    assert any_version.call("subscribe", {"coreType": 7}, topic)[1]["reason"] == "invalid-argument"


def test_a_launch_in_this_process_is_told(any_version, device):
    any_version.join("gpu:telemetry")
    kernel = device.compile_kernel("__global__ void told(float* x) { x[threadIdx.x] = 1; }")
    x = np.zeros(4, "float32")

    def is_told(frame):
        # What is launched before the server has found this process is not seen: launch until it is.
        kernel[1, 4](x)
        return not isinstance(frame, bytes) and "kernel_launched" in (
            frame["event"] if isinstance(frame, dict) else frame
        )

    kernels = []
    while not any(row["name"] == "told" for row in kernels):
        frame = any_version.until(is_told)
        kernels = (frame["payload"] if isinstance(frame, dict) else frame[4])["kernels"]
    row = next(row for row in kernels if row["name"] == "told")
    assert (row["core"], row["device"], row["work_items"]) == ("aura", "cpu:0", 4)
    assert row["duration_ns"] >= 0


def test_two_clients_get_the_same_frames(server, v2):
    v2.join("gpu:telemetry")
    with client(server) as other:
        other.join("gpu:telemetry")
        first, second = set(), set()
        while not first & second:
            first.add(v2.frame()[0])
            second.add(other.frame()[0])


@pytest.mark.parametrize("what", ["offered", "other", "none"])
def test_the_sub_protocol_is_answered_only_where_it_was_offered(server, what):
    from websockets.exceptions import NegotiationError

    offers = {"offered": ["phoenix"], "other": ["mqtt"], "none": None}[what]
    try:
        with client(server, subprotocols=offers) as connected:
            assert connected.socket.subprotocol == ("phoenix" if what == "offered" else None)
    except NegotiationError:
        assert what == "other"


def test_the_endpoint_answers_400_to_what_is_no_websocket(server):
    import urllib.error
    import urllib.request

    for method in ("GET", "POST"):
        request = urllib.request.Request(f"{server.base_url}socket/websocket", method=method)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        caught.value.close()
        assert caught.value.code == 400


@pytest.mark.parametrize("vsn", ["3.0.0", "x", "2", ""])
def test_versions_that_are_not_spoken_are_refused(server, vsn):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with pytest.raises(InvalidStatus) as caught:
        connect(f"{server.base_url.replace('http', 'ws')}socket/websocket?vsn={vsn}", legacy=True)
    assert caught.value.response.status_code == 403
