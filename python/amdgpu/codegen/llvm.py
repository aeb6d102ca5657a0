"""Runs LLVM's optimiser and code generator through llvmlite.

May be called from any thread. Every call works in an LLVM context of its own, so nothing is shared between calls and nothing
stays behind; llvmlite itself lets one thread at a time into LLVM and releases the GIL meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amdgpu.codegen.loader import binding

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_EMITTED: Final = ("object", "assembly")
_MAX_LEVEL: Final = 3


def identity() -> str:
    """Name and version of the code generator; part of the key of cached kernels.

    Does not load LLVM: a process that finds all its kernels in the cache never needs it, and a version of llvmlite belongs to one
    version of LLVM.
    """
    import llvmlite

    return f"llvmlite {llvmlite.__version__}"


def generate(  # noqa: PLR0917 the signature that the Rust side calls
    llvm_ir: str, triple: str, cpu: str, features: str, optimization_level: int, emit: str
) -> bytes:
    """Optimises a module and generates code for it.

    Args:
        llvm_ir: Text of the module.
        triple: Target triple.
        cpu: Processor, as LLVM names it; empty for a generic one.
        features: LLVM feature string, for example ``+fma,+avx2``.
        optimization_level: 0 to 3; loops and straight-line code are vectorised from 2 on.
        emit: ``object`` for a relocatable object (for ``nvptx64`` PTX text), ``assembly`` for text.

    Returns:
        The object or the text.

    Raises:
        RuntimeError: LLVM refuses the module or the target; the message is LLVM's own.
        ValueError: an argument has no meaning.
        ImportError: llvmlite is not installed.
    """
    if emit not in _EMITTED:
        raise ValueError(f"emit is '{emit}'; it can be {' or '.join(_EMITTED)}")
    if not 0 <= optimization_level <= _MAX_LEVEL:
        raise ValueError(f"optimization_level is {optimization_level}; it can be 0 to {_MAX_LEVEL}")
    llvm = binding()
    context = llvm.create_context()
    module = llvm.parse_assembly(llvm_ir, context)
    try:
        machine = _target_machine(llvm, triple, cpu, features, optimization_level)
        with machine:
            module.triple = triple
            module.data_layout = str(machine.target_data)
            module.verify()
            _optimise(llvm, machine, module, optimization_level)
            if emit == "assembly" or triple.startswith("nvptx"):
                text: str = machine.emit_assembly(module)
                return text.encode()
            code: bytes = machine.emit_object(module)
            return code
    finally:
        module.close()
        context.close()


def _target_machine(llvm: ModuleType, triple: str, cpu: str, features: str, level: int) -> Any:
    target = llvm.Target.from_triple(triple)
    # Position-independent code with the small code model: what an in-process loader can place anywhere.
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="default")


def _optimise(llvm: ModuleType, machine: Any, module: Any, level: int) -> None:
    tuning = llvm.create_pipeline_tuning_options(level)
    tuning.loop_vectorization = level >= 2
    tuning.slp_vectorization = level >= 2
    tuning.loop_interleaving = level >= 2
    tuning.loop_unrolling = level >= 1
    builder = llvm.create_pass_builder(machine, tuning)
    passes = builder.getModulePassManager()
    passes.run(module, builder)
