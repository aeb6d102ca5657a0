"""Writes traces of records: Perfetto's format or Chrome's, as the file's ending says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from amdgpu.cli.failure import UsageError

PERFETTO_ENDINGS = (".pftrace", ".perfetto-trace", ".pb")
CHROME_ENDINGS = (".json",)
# The reason of a fallback is a name, and its record has the number.
NO_NAME = ""


def check_ending(path: str) -> None:
    """Refuse a file whose ending says no format, before the program runs.

    Raises:
        UsageError: It does not.
    """
    if not path.endswith(PERFETTO_ENDINGS + CHROME_ENDINGS):
        raise UsageError(
            f"{path}: the ending says which format is written: {', '.join(PERFETTO_ENDINGS)} for Perfetto (ui.perfetto.dev), "
            ".json for Chrome (chrome://tracing, and Perfetto too)"
        )


def write(path: str, snapshots: Sequence[Mapping[str, Any]]) -> int:
    """Write the records of the snapshots, one process or several.

    Returns:
        Bytes written.

    Raises:
        OSError: The file cannot be written.
    """
    data = _chrome(snapshots) if path.endswith(CHROME_ENDINGS) else _perfetto(snapshots)
    Path(path).write_bytes(data)
    return len(data)


def with_records(snapshot: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A snapshot whose records are these, in the words of `amdgpu.telemetry.events()`, with the names that they have."""
    names = list(snapshot["names"]["names"])
    devices = list(snapshot["names"]["devices"])
    known = list(records)
    for record in known:
        _put(names, record["name_id"], record["name"])
        if record.get("reason") is not None:
            _put(names, record["detail"][0], record["reason"])
        if record["device"] is not None and record.get("device_name"):
            _put(devices, record["device"], record["device_name"])
    return {**snapshot, "records": known, "names": {**snapshot["names"], "names": names, "devices": devices}}


def _put(names: list[str], place: int, name: str) -> None:
    names.extend([NO_NAME] * (place + 1 - len(names)))
    names[place] = name


def _chrome(snapshots: Sequence[Mapping[str, Any]]) -> bytes:
    """One process as the exporter writes it; of several, each one's tracks follow those of the one before."""
    from amdgpu import _native

    documents = [json.loads(_native.telemetry_chrome_trace_of(json.dumps(snapshot))) for snapshot in snapshots]
    events: list[dict[str, Any]] = []
    for number, (snapshot, document) in enumerate(zip(snapshots, documents, strict=True)):
        shift = max((event["pid"] for event in events), default=0) if number else 0
        for event in document["traceEvents"]:
            if len(documents) > 1 and event["ph"] == "M" and event["name"] == "process_name":
                event["args"]["name"] += f" (pid {snapshot['process_id']})"
            events.append({**event, "pid": event["pid"] + shift})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()


def _perfetto(snapshots: Sequence[Mapping[str, Any]]) -> bytes:
    """Traces of Perfetto are lists of packets: one process after the other is one trace."""
    from amdgpu.telemetry import exporters

    return b"".join(exporters.perfetto(snapshot) for snapshot in snapshots)
