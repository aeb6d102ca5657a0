"""Rule: the anchors of docs/one_call.md exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import anchors
from tidy.tests.tidy_samples import found

FILES = {
    "a/b.rs": "impl Kernel {\n    pub fn launch(&self) {}\n}\nconst LIMIT: usize = 1;\nmacro_rules! raise { () => {} }\n",
    "a/b.py": "RULES: tuple = ()\nclass Device:\n    async def open(self): ...\n",
    "a/b.zig": "pub fn matmul(a: u8) void {}\n",
    "a/b.nim": "proc compile*(text: string) = discard\ntype\n  Plan* {.pure.} = object\n",
    "a/b.jl": "softmax!(y, x) = nothing\nfunction dense(x)\nend\n",
    "a/b.h": "typedef struct { int a; } agpu_str;\nagpu_status agpu_matmul(int a);\ntypedef int (*agpu_task_fn)(void);\n",
    "a/b.ts": "export class Client {\n  async connect() {}\n}\n",
}
GOOD = [
    *("a/b.rs::launch", "a/b.rs::Kernel::launch", "a/b.rs::LIMIT", "a/b.rs::raise!"),
    *("a/b.py::RULES", "a/b.py::Device", "a/b.py::Device.open", "a/b.zig::matmul"),
    *("a/b.nim::compile", "a/b.nim::Plan", "a/b.jl::dense", "a/b.jl::softmax!"),
    *("a/b.h::agpu_str", "a/b.h::agpu_matmul", "a/b.h::agpu_task_fn", "a/b.ts::Client", "a/b.ts::connect"),
]
BAD = [
    *("a/c.rs::launch", "a/b.rs::start", "a/b.rs::Module::launch", "a/b.rs::Kernel", "a/b.py::close"),
    *("a/b.zig::mat", "a/b.nim::parse", "a/b.jl::dens", "a/b.h::agpu", "a/b.ts::Server"),
]


@pytest.mark.parametrize("anchor", GOOD)
def test_an_anchor_that_exists_passes(tmp_path: Path, anchor: str) -> None:
    assert found(anchors.check, tmp_path, {**FILES, anchors.PAGE: f"# One call\n\nSee `{anchor}`.\n"}) == []


@pytest.mark.parametrize("anchor", BAD)
def test_an_anchor_that_leads_nowhere_is_found(tmp_path: Path, anchor: str) -> None:
    page = f"# One call\n\n`a/b.zig::matmul`, then `{anchor}`.\n"
    assert found(anchors.check, tmp_path, {**FILES, anchors.PAGE: page}) == [f"{anchors.PAGE}:3 anchor"]


def test_the_page_must_be_there_and_have_anchors(tmp_path: Path) -> None:
    assert found(anchors.check, tmp_path, FILES) == [f"{anchors.PAGE}:1 anchor"]
    assert found(anchors.check, tmp_path, {**FILES, anchors.PAGE: "# One call\n"}) == [f"{anchors.PAGE}:1 anchor"]
