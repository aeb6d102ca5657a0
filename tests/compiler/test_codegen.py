"""`amdgpu.codegen`: LLVM IR text to objects and assembly, errors, threads."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import linking
import llvmlite
import pytest
from amdgpu import codegen
from relocations import LOADABLE_RELOCATIONS, relocations

pytestmark = pytest.mark.llvm

SUM = """
define i64 @sum(ptr %values, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi i64 [ 0, %entry ], [ %more, %loop ]
  %p = getelementptr inbounds i64, ptr %values, i64 %i
  %value = load i64, ptr %p
  %more = add i64 %total, %value
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret i64 %more
}
"""

COPY = """
define void @copy(ptr noalias %to, ptr noalias %from, i64 %bytes) nounwind {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
define i32 @pick(i64 %i) nounwind {
  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def host(ir: str, level: int = 3, emit: str = "object") -> bytes:
    return codegen.generate(ir, *codegen.host_target(), level, emit)


@pytest.mark.parametrize("level", range(4))
def test_generated_objects_compute(level: int) -> None:
    code = host(SUM, level)
    assert code.startswith(b"\x7fELF")
    engine = linking.link(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("sum"))
    values = (ctypes.c_int64 * 100)(*range(100))
    assert function(ctypes.addressof(values), 100) == 4950


PARALLEL_SUM = (
    SUM.replace("label %loop\nend:", "label %loop, !llvm.loop !0\nend:")
    + '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.parallel_accesses", !2}\n!2 = distinct !{}\n'
)


def test_parallel_loops_are_vectorised_from_level_two_on() -> None:
    plain, fast = host(PARALLEL_SUM, 1, "assembly").decode(), host(PARALLEL_SUM, 3, "assembly").decode()
    assert "vpaddq" not in plain
    assert "vpaddq" in fast


def test_code_without_parallel_loops_only_passes_the_clean_up() -> None:
    text = host(SUM, 3, "assembly").decode()
    assert "vpaddq" not in text
    assert text.count("addq") <= 2


LOOP = PARALLEL_SUM.split("!0 = ", maxsplit=1)[0]
LOOP_METADATA = PARALLEL_SUM[len(LOOP) :]


def copies(count: int) -> str:
    return "".join(LOOP.replace("@sum", f"@sum{index}") for index in range(count))


def said_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr("amdgpu.codegen.llvm._fall_back", said.append)
    return said


def test_modules_of_many_functions_get_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by(monkeypatch)
    text = copies(600) + LOOP_METADATA
    assert len(text) > codegen.llvm.LARGE_BYTES
    assert "vpaddq" in host(text, 2, "assembly").decode()
    assert not said


def test_large_functions_get_cheaper_passes_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by(monkeypatch)
    calls = "".join(f"  %r{index} = call i64 @sum{index}(ptr %p, i64 %n)\n" for index in range(600))
    caller = f"define void @all(ptr %p, i64 %n) {{\n{calls}  ret void\n}}\n"
    assert "vpaddq" not in host(caller + copies(600) + LOOP_METADATA, 2, "assembly").decode()
    assert [reason for reason in said if "clean-up" in reason] == said != []


def test_functions_that_call_each_other_are_measured() -> None:
    one = "define void @one() {\n  call void @two()\n  ret void\n}\n"
    two = "define void @two() {\n  call void @one()\n  call void @leaf()\n  call void @leaf()\n  ret void\n}\n"
    leaf = "define internal void @leaf() alwaysinline {\n  ret void\n}\n"
    parts = [len(text) - 1 for text in (one, two, leaf)]
    assert codegen.llvm.largest_function(one + two + leaf) >= parts[1] + 2 * parts[2]
    assert codegen.llvm.largest_function(one + two + leaf) <= sum(parts) + parts[2] + parts[0]
    assert codegen.llvm.largest_function("") == 0


def test_assembly_is_text_and_has_the_symbol() -> None:
    assert "sum:" in host(SUM, 2, "assembly").decode()


@pytest.mark.skipif(codegen.host_target()[0].split("-")[0] != "x86_64", reason="relocations of x86-64")
def test_objects_need_only_what_the_loader_of_kernels_provides() -> None:
    for ir in (SUM, COPY):
        types, undefined = relocations(host(ir))
        assert types <= set(LOADABLE_RELOCATIONS), types
        assert undefined <= {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"}, undefined


def test_gpu_targets_give_objects_and_ptx() -> None:
    kernel = (
        "define amdgpu_kernel void @k(ptr addrspace(1) %p) {{ store i32 1, ptr addrspace(1) %p ret void }}".format()
    )
    assert codegen.generate(kernel, "amdgcn-amd-amdhsa", "gfx1100", "", 3, "object").startswith(b"\x7fELF")
    ptx = codegen.generate(
        kernel.replace("amdgpu_kernel", "ptx_kernel"), "nvptx64-nvidia-cuda", "sm_90", "", 3, "object"
    ).decode()
    assert ".target sm_90" in ptx
    assert ".entry k(" in ptx


@pytest.mark.parametrize(
    "ir", ["this is no LLVM IR", "define i32 @f() { ret i64 1 }", "define void @f() { call void @missing() ret void }"]
)
def test_refused_code_raises_with_the_words_of_llvm(ir: str) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)LLVM IR parsing error.*error:"):
        host(ir)
    assert host(SUM).startswith(b"\x7fELF")


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="emit is 'bitcode'"):
        codegen.generate(SUM, *codegen.host_target(), 3, "bitcode")
    with pytest.raises(ValueError, match="optimization_level is 4"):
        codegen.generate(SUM, *codegen.host_target(), 4, "object")
    with pytest.raises(RuntimeError, match="enochian"):
        codegen.generate(SUM, "enochian-unknown-unknown", "", "", 3, "object")


def test_identity_names_the_version_of_llvmlite() -> None:
    assert codegen.identity().startswith(f"llvmlite {llvmlite.__version__}, ")


def test_host_target_describes_this_machine() -> None:
    triple, cpu, features = codegen.host_target()
    assert triple.endswith("-linux-gnu")
    assert cpu
    assert all(feature[0] in "+-" for feature in features.split(","))


def test_code_is_the_same_from_many_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len({bytes(code) for code in pool.map(lambda _: host(SUM), range(64))}) == 1


def test_llvm_is_loaded_on_first_use_only() -> None:
    check = "import amdgpu.codegen, sys; sys.exit('llvmlite.binding' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


LDS = """
target triple = "amdgcn-amd-amdhsa"
@t = internal addrspace(3) global [80000 x i8] poison, align 4
define amdgpu_kernel void @k(i32 %i) "target-cpu"="gfx1100" {
  %p = getelementptr i8, ptr addrspace(3) @t, i32 %i
  store volatile i8 1, ptr addrspace(3) %p
  ret void
}
"""


def test_what_ends_llvms_process_is_an_exception_here_and_the_next_module_compiles() -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"LLVM gave up on this kernel: .*exceeds limit"):
            codegen.generate(LDS, "amdgcn-amd-amdhsa", "gfx1100", "", 2, "object")
        assert host(SUM).startswith(b"\x7fELF")


@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_process_of_llvm_that_is_ended_is_replaced(end: signal.Signals) -> None:
    host(SUM)
    pool = codegen.llvm_process._pool
    for process in pool.idle:
        os.kill(process._process.pid, end)
    for _ in range(len(pool.idle)):
        with pytest.raises(RuntimeError, match=f"its process was ended by {end.name}"):
            host(SUM)
    assert host(SUM).startswith(b"\x7fELF")


def test_a_process_of_llvm_that_compiled_enough_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    host(SUM)
    pool = codegen.llvm_process._pool
    process = pool.idle[-1]
    monkeypatch.setattr("amdgpu.codegen.llvm_process.MAX_MODULES", process.asked + 3)
    for _ in range(3):
        assert process in pool.idle
        host(SUM)
    assert process not in pool.idle
    assert process._process.poll() is not None
    assert host(SUM).startswith(b"\x7fELF")
    assert pool.count == len(pool.idle)


def test_llvm_stops_at_its_processor_time_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by(monkeypatch)
    monkeypatch.setattr("amdgpu.codegen.llvm._BASE_SECONDS", 0.02)
    monkeypatch.setattr("amdgpu.codegen.llvm._SECONDS_PER_BYTE", 0.0)
    with pytest.raises(RuntimeError, match=r"LLVM takes more than 0\.0 s of processor time"):
        host(copies(600) + LOOP_METADATA, 2)
    assert ["does not optimise" in reason for reason in said] == [True]
    monkeypatch.undo()
    assert host(SUM).startswith(b"\x7fELF")


def test_threads_that_compile_at_once_each_get_their_own_code() -> None:
    def one(number: int) -> bool:
        return f"sum{number}:" in host(SUM.replace("@sum", f"@sum{number}"), 2, "assembly").decode()

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(one, range(32)))


def test_an_interrupt_leaves_no_answer_for_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    host(SUM)
    process = codegen.llvm_process._pool.idle[-1]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        host(SUM)
    assert "sum:" in host(SUM, 2, "assembly").decode()


def test_without_an_interpreter_llvm_runs_here_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("amdgpu.codegen.llvm_process._fall_back", said.append)
    monkeypatch.setattr("amdgpu.codegen.llvm_process._interpreter", lambda: None)
    assert host(SUM).startswith(b"\x7fELF")
    assert len(said) == 1
    assert "no Python interpreter" in said[0]
