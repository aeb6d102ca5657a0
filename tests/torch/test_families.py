"""torch's own samples of its operators give on rdna what they give on the CPU; the families that never leave the device stay on it.

`native_families.txt` lists those. `python tests/torch/test_families.py` writes it anew where there are more; it must not become shorter.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

LIST = Path(__file__).with_name("native_families.txt")
# How many samples of a family are compared.
SAMPLES = 4
TOLERANCE = 1e-4
# Results that are random, memory that is not set, or layouts that rdna does not have.
_RANDOM = """
rand randn randint rand_like randn_like randint_like normal bernoulli multinomial uniform exponential cauchy geometric log_normal randperm
svd_lowrank pca_lowrank nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout
nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.rrelu
nn.functional.multi_head_attention_forward
"""
_NOT_SET = "empty empty_like empty_strided empty_permuted new_empty new_empty_strided to_sparse"
NOT_COMPARABLE = frozenset(f"{_RANDOM} {_NOT_SET}".split())
# Why a family cannot be compared this way.
EXCEPTIONS = {
    "as_strided.partial_views": "a copy of a view on another device keeps its elements and not the memory around them",
    "tensor_split": "torch wants the places to split at on the CPU, whatever the device",
}


def moved(values: Any) -> Any:
    return tree_map(lambda value: value.to("rdna") if isinstance(value, torch.Tensor) else value, values)


def brought_back(values: Any) -> Any:
    return tree_map(lambda value: value.detach().cpu() if isinstance(value, torch.Tensor) else value, values)


def families() -> Iterator[tuple[str, Any]]:
    """Name and description of each operator that can be compared."""
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if op.name not in NOT_COMPARABLE and torch.float32 in op.dtypes and "sparse" not in name:
            yield name, op


def samples(op: Any) -> list[Any]:
    kept = []
    for sample in op.sample_inputs("cpu", torch.float32, requires_grad=False):
        # Dropout inside of an operator is random, too.
        if not sample.kwargs.get("dropout_p"):
            kept.append(sample)
        if len(kept) == SAMPLES:
            break
    return kept


def difference(op: Any, sample: Any) -> str | None:
    """What is different on rdna, empty where nothing is; None where the CPU refuses the sample."""
    try:
        wanted = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001
        return None
    options = {name: "rdna" if name == "device" else value for name, value in moved(sample.kwargs).items()}
    try:
        found = op(moved(sample.input), *moved(sample.args), **options)
        torch.testing.assert_close(
            brought_back(found), brought_back(wanted), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
        )
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return ""


def run_all() -> tuple[dict[str, str], set[str], int]:
    """Families that differ, those that ran on the device alone, and how many there are."""
    different, native, count = {}, set(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, op in families():
            count += 1
            torch.rdna.reset_fallback_report()
            compared = [text for sample in samples(op) if (text := difference(op, sample)) is not None]
            wrong = [text for text in compared if text]
            if wrong:
                different[name] = wrong[0]
            elif compared and not torch.rdna.fallback_report():
                native.add(name)
    return different, native, count


def test_families_give_what_the_cpu_gives_and_stay_on_the_device():
    pytest.importorskip("expecttest", reason="torch's descriptions of its operators need the package expecttest")
    torch.rdna.set_fallback_mode("silent")
    different, native, count = run_all()
    assert count >= 600
    assert {name: text for name, text in different.items() if name not in EXCEPTIONS} == {}
    # Versions of torch do not all have the same families.
    there = {name for name, _ in families()}
    listed = set(LIST.read_text().split())
    assert len(listed & there) >= 440
    assert (listed & there) - native == set()


if __name__ == "__main__":
    import amdgpu.torch  # noqa: F401

    torch.rdna.set_fallback_mode("silent")
    changed, stayed, total = run_all()
    kept = set(LIST.read_text().split()) if LIST.exists() else set()
    LIST.write_text("\n".join(sorted(stayed | kept)) + "\n")
    print(f"{total} families, {len(stayed)} on the device alone, different: {changed}")
    sys.exit(0 if kept <= stayed else 1)
