"""The operators of torch's own test suite: float32, a few samples of each family, beside the CPU.

`native_families.txt` has the families that run without the CPU. AMDGPU_BLESS=1 writes it anew; what stands there may not be lost.
"""

import itertools
import os
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_map

NATIVE = Path(__file__).with_name("native_families.txt")
SAMPLES = 4
# Their results are random, not set, of layouts that rdna does not have, or they run on torch's own GPUs only.
LEFT_OUT = (
    *(
        "rand",
        "dropout",
        "empty",
        "normal",
        "bernoulli",
        "multinomial",
        "exponential",
        "uniform",
        "cauchy",
        "geometric",
        "rrelu",
    ),
    *("fractional_max_pool", "sparse", "jiterator"),
)
# Families that give something else than the CPU, with the reason.
KNOWN = {
    "as_strided.partial_views": "its samples are views of a base, which copies to another device leave behind",
    "nn.functional.multi_head_attention_forward": "its samples draw dropout",
    "tensor_split": "takes its indices from the CPU on every device",
}


def is_comparable(family):
    name = family.full_name if hasattr(family, "full_name") else family.name
    return torch.float32 in family.dtypes and not any(word in name for word in LEFT_OUT)


def moved(value):
    if not isinstance(value, torch.Tensor):
        return torch.device("rdna", 0) if value in ("cpu", torch.device("cpu")) else value
    copy = value.detach().to("rdna")
    return copy.requires_grad_(value.requires_grad)


def check_sample(family, sample):
    given = (sample.input, sample.args, sample.kwargs)
    one, args, kwargs = tree_map(lambda value: value.clone() if isinstance(value, torch.Tensor) else value, given)
    wanted = family.op(one, *args, **kwargs)
    one, args, kwargs = tree_map(moved, given)
    found = family.op(one, *args, **kwargs)
    for ours, theirs in zip(tree_flatten(found)[0], tree_flatten(wanted)[0], strict=True):
        if isinstance(theirs, torch.Tensor):
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), equal_nan=True, rtol=1e-3, atol=1e-4)
        else:
            assert ours == theirs


def run_families():
    """Families that differ from the CPU, and those that ran without it."""
    from torch.testing._internal.common_methods_invocations import op_db

    torch.rdna.set_fallback_mode("silent")
    wrong, native, count = {}, [], 0
    for family in filter(is_comparable, op_db):
        name = family.name + (f".{family.variant_test_name}" if family.variant_test_name else "")
        count += 1
        torch.rdna.reset_fallback_report()
        before = sum(torch.rdna.native_report().values())
        try:
            for sample in itertools.islice(family.sample_inputs("cpu", torch.float32), SAMPLES):
                if not sample.kwargs.get("dropout_p"):
                    check_sample(family, sample)
        except Exception as error:  # noqa: BLE001 - whatever an operator raises is a difference
            wrong[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        if not torch.rdna.fallback_report() and sum(torch.rdna.native_report().values()) > before:
            native.append(name)
    return wrong, native, count


@pytest.mark.filterwarnings("ignore")
def test_families_give_what_the_cpu_gives():
    torch.manual_seed(0)
    wrong, native, count = run_families()
    unknown = {name: reason for name, reason in wrong.items() if name not in KNOWN}
    assert count > 500
    assert len(wrong) <= 5, wrong
    assert unknown == {}
    if os.environ.get("AMDGPU_BLESS") == "1":
        NATIVE.write_text("\n".join(sorted(native)) + "\n")
    lost = set(NATIVE.read_text().split()) - set(native)
    assert lost == set(), "families that ran without the CPU and no longer do"
