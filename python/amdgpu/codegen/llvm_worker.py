"""LLVM itself: what `amdgpu.codegen` asks of it, and the program that does so in a process of its own.

As a program it imports nothing of the package, so that it starts quickly. It reads requests from standard input and writes answers to
standard output, one after the other, until the input ends. Text that LLVM prints goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import struct
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, BinaryIO

# Lengths of the JSON of a request and of the LLVM IR behind it.
REQUEST: Final = struct.Struct("<IQ")
# What an answer is, and its length.
ANSWER: Final = struct.Struct("<BQ")
RESULT, REFUSAL, NO_LLVM = range(3)
# Address space of the process: the largest module that the compiler hands over takes a tenth of it.
MEMORY_BYTES: Final = 6 << 30
# LLVM walks expressions and graphs by recursion; the limit of the system is often 8 MiB.
STACK_BYTES: Final = 64 << 20


def set_up() -> ModuleType:
    """The module ``llvmlite.binding`` with all targets registered. To be called once in a process."""
    llvm: ModuleType = importlib.import_module("llvmlite.binding")

    # Addresses of shared and local memory on NVIDIA take 32 bits, as in the vendor's compiler; LLVM's default is 64.
    llvm.set_option("amdgpu", "--nvptx-short-ptr")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def host(llvm: ModuleType) -> tuple[str, str, dict[str, bool]]:
    """Triple, name and features of this machine's processor."""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def generate(llvm: ModuleType, llvm_ir: str, request: dict[str, Any]) -> bytes:
    """Optimises a module at the level of the request and generates code for it, with less effort where it names a `code_level`.

    Raises:
        RuntimeError: LLVM refuses the module or the target; the message is LLVM's own.
    """
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(llvm_ir, context)
        try:
            target = llvm.Target.from_triple(request["triple"])
            # Position-independent code with the small code model: what an in-process loader can place anywhere.
            machine = target.create_target_machine(
                cpu=request["cpu"],
                features=request["features"],
                opt=request.get("code_level", request["level"]),
                reloc="pic",
                codemodel="default",
            )
            with machine:
                module.triple = request["triple"]
                module.data_layout = str(machine.target_data)
                module.verify()
                _optimise(llvm, machine, module, request["level"], is_finished=request["is_finished"])
                if request["is_text"]:
                    text: str = machine.emit_assembly(module)
                    return text.encode()
                code: bytes = machine.emit_object(module)
                return code
        finally:
            module.close()
    finally:
        context.close()


def _optimise(llvm: ModuleType, machine: Any, module: Any, level: int, *, is_finished: bool) -> None:
    tuning = llvm.create_pipeline_tuning_options(level)
    tuning.loop_vectorization = level >= 2
    tuning.slp_vectorization = level >= 2
    tuning.loop_interleaving = level >= 2
    tuning.loop_unrolling = level >= 1
    builder = llvm.create_pass_builder(machine, tuning)
    passes = _clean_up(llvm) if is_finished and level > 0 else builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        # llvmlite's `close` frees no pass manager: among its bases `ObjectRef`, whose `_dispose` does nothing, comes first. 10 KB each.
        llvm.ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
        passes.detach()


def _clean_up(llvm: ModuleType) -> Any:
    """What code needs that is optimised already: calls inlined, private memory in registers, instructions merged."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_dead_store_elimination_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    return passes


def _limit_process() -> None:
    import resource
    import signal

    # Ctrl-C is meant for the process that asks, which ends this one when it gives up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for limit, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_STACK, STACK_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _answer(out: BinaryIO, kind: int, text: bytes) -> None:
    out.write(ANSWER.pack(kind, len(text)))
    out.write(text)
    out.flush()


def _behind_the_library() -> int:
    """The place in `sys.path` behind the standard library: that of the first folder with installed packages."""
    return next((place for place, path in enumerate(sys.path) if path.endswith("-packages")), len(sys.path))


def main(folder: str) -> None:
    """Answers requests; `folder` holds llvmlite."""
    import signal

    _limit_process()
    requests = sys.stdin.buffer
    # What llvmlite or LLVM print must not come between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Behind what comes with Python, since the folder may hold modules of any name, and before other folders with an llvmlite of their own.
    sys.path.insert(_behind_the_library(), folder)
    llvm: ModuleType | None = None
    while len(head := requests.read(REQUEST.size)) == REQUEST.size:
        header_bytes, text_bytes = REQUEST.unpack(head)
        request = json.loads(requests.read(header_bytes))
        text = requests.read(text_bytes).decode()
        try:
            llvm = llvm or set_up()
        except Exception as error:  # noqa: BLE001 whatever keeps llvmlite from loading is the answer
            _answer(out, NO_LLVM, str(error).encode())
            continue
        if request["ask"] == "host":
            _answer(out, RESULT, json.dumps(host(llvm)).encode())
            continue
        # The work that LLVM may do, as processor time: the signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])
        try:
            result = (RESULT, generate(llvm, text, request))
        except RuntimeError as error:
            result = (REFUSAL, str(error).encode())
        signal.setitimer(signal.ITIMER_PROF, 0)
        _answer(out, *result)
    # Nothing to tidy up: what this process has, the system takes back.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
