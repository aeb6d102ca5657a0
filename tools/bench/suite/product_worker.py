"""The process of one contender of `./x bench matmul`: `product_worker.py ours|numpy|torch`, commanded by JSON lines on standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suite import products
from suite.worker import timed

PRECISIONS = {"float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "float16": "fp16", "int8": "int8"}
EPSILONS = {"float32": 2**-24, "float64": 2**-53, "bfloat16": 2**-7, "float16": 2**-10, "int8": 2**-50}


def ours(a: Any, b: Any, out: Any, dtype: str) -> Callable[[], Any]:
    """A call of `matrix_multiply`; one that names no device and precision where the default is meant, as `a @ b` names none."""
    import amdgpu

    precision = PRECISIONS[dtype]
    if out is not None:
        return lambda: amdgpu.matrix_multiply(a, b, 0, precision, out=out)
    return (
        (lambda: amdgpu.matrix_multiply(a, b))
        if dtype == "float32"
        else lambda: amdgpu.matrix_multiply(a, b, 0, precision)
    )


def numpy(a: Any, b: Any, out: Any, _dtype: str) -> Callable[[], Any]:
    """A call of NumPy."""
    return (lambda: a @ b) if out is None else lambda: np.matmul(a, b, out=out)


def torch(a: Any, b: Any, out: Any, dtype: str) -> Callable[[], Any]:
    """A call of PyTorch, whose narrow products are oneDNN's; the result comes back as NumPy's for the check, widened."""
    import torch as library

    if dtype == "int8":
        left, right, target = (library.from_numpy(array) for array in (a, b, out))
        return lambda: library._int_mm(left, right, out=target).numpy()  # noqa: SLF001  (the only int8 product it has)
    kind = getattr(library, dtype)
    left, right = (library.from_numpy(array).to(kind) for array in (a, b))
    target = library.empty(out.shape, dtype=kind)

    def product() -> Any:
        library.mm(left, right, out=target)
        return target

    return product


def main(contender: str) -> None:
    """Serves until standard input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    call = {"ours": ours, "numpy": numpy, "torch": torch}[contender]
    if "amdgpu" not in sys.modules and contender == "ours":
        import amdgpu  # noqa: F401  (before the first answer, so that no case pays for it)
        import ml_dtypes  # noqa: F401  (bfloat16 by name)
    run: Callable[[], Any] | None = None
    about = f"{contender}, NumPy {np.__version__}"
    if contender == "torch":
        import torch as library

        about = f"PyTorch {library.__version__}"
    print(json.dumps({"about": about}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any] = {}
        if command["do"] == "prepare":
            case = products.GROUPS[command["group"]][command["index"]]
            dtype = command["dtype"]
            # PyTorch rounds float32 to bfloat16 as NumPy does (nearest, ties to even) and its environment has no `ml_dtypes`.
            held = "float32" if contender == "torch" and dtype != "int8" else dtype
            a, b = case.operands(held)
            target = products.empty((case.rows, case.columns), np.int32 if dtype == "int8" else held)
            run = call(a, b, None if case.is_fresh else target, dtype)
            result = run()
            if contender == "torch" and dtype != "int8":
                result = result.float().numpy()
            answer["wrong"] = products.disagreement(a, b, result, EPSILONS[dtype])
        elif command["do"] == "time":
            if run is None:
                raise SystemExit("asked for the time of nothing")
            answer["seconds"] = timed(run, command["count"], command["untimed"])
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
