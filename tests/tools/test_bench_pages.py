"""Records of benchmarks become sections of a page, one for each machine, and pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

from suite import page

SUITE = Path(page.__file__).parent


def record(processor: str, **more: Any) -> dict[str, Any]:
    machine = {"processor": processor, "cores": 2, "load_average": [0.1, 0.2, 0.3], "commit": "abc", **more}
    return {
        "date": "2026-11-22T10:00:00Z",
        "machine": machine,
        "command": "./x bench matmul --torch /somewhere/python --threads 1",
    }


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "ROOT", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    page.PAGE.write_text("before\n<!-- speed: AMD EPYC -->\nold\n<!-- /speed: AMD EPYC -->\nafter\n")
    return page.PAGE


def test_a_record_replaces_that_of_its_machine_only(written):
    page.put_into_page("speed", record("Intel(R) Xeon(R) Processor"), "first")
    page.put_into_page("speed", record("AMD EPYC"), "new")
    page.put_into_page("speed", record("Intel(R) Xeon(R) Processor"), "second")
    text = written.read_text()
    assert "old" not in text
    assert "first" not in text
    assert (
        text.index("\nnew\n")
        < text.index("<!-- /speed: AMD EPYC -->")
        < text.index("<!-- speed: Intel Xeon Processor -->")
    )
    assert text.index("\nsecond\n") < text.index("after")
    assert text.startswith("before\n")


def test_a_page_without_marks_stays_as_it_is(written, capsys):
    before = written.read_text()
    page.put_into_page("size", record("AMD EPYC"), "lost")
    assert written.read_text() == before
    assert "page.md has no marks for size; its text would be:" in capsys.readouterr().out


def test_descriptions_name_the_machine_and_no_path():
    assert page.described(record("AMD EPYC")) == (
        "2026-11-22 10:00 UTC, AMD EPYC, 2 cores, load average 0.1, 0.2, 0.3, commit abc: `./x bench matmul --torch PYTHON --threads 1`"
    )
    of_gpu = record("AMD EPYC", gpu="NVIDIA H200, driver's CUDA 13.0")
    assert "UTC, NVIDIA H200, driver's CUDA 13.0, commit" in page.described(of_gpu)
    assert page.file_name(of_gpu, "kernels.svg") == "kernels_nvidia_h200.svg"


def test_a_record_of_tensor_operations_is_drawn_below_its_roofs(written, tmp_path):
    pytest.importorskip("matplotlib")
    written.write_text(written.read_text().replace("speed", "tensor"))
    note = "20.0 GB/s; memory 25.0 GB/s; 0.80 of it; 0.85 of its bound (memory: 9 us); 5.00 GFLOP/s at 0.25 per byte"
    rows = [
        {"case": f"{name}, {threads}T", "ours": 10.0, "peer": 20.0, "ratio": 2.0, "note": text}
        for threads in (1, 2)
        for name, text in [
            ("matrix product, 1024", "100.00 GFLOP/s at 0 per byte"),
            *((f"sum {number}", note) for number in range(29)),
        ]
    ]
    (tmp_path / "tensor-1.json").write_text(json.dumps({**record("AMD EPYC"), "rows": rows}))
    program = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import page, roofline\n"
        "page.ROOT = roofline.ROOT = roofline.RESULTS = roofline.IMAGES = Path(sys.argv[2]); page.PAGE = page.ROOT / 'page.md'\n"
        "sys.exit(roofline.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(SUITE), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| sum 7 | 10 | 2.00 | 0.80 | 0.85 | 10 | 2.00 | 0.80 | 0.85 |" in written.read_text()
    texts = [element.text for element in ET.parse(tmp_path / "roofline_amd_epyc.svg").iter() if element.text]
    for wanted in ("matrix product: 100 GFLOP/s", "memory: 25 GB/s", "sum 7", "2 threads"):
        assert wanted in texts
