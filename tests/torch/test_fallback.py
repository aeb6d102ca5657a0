"""Operators without a kernel."""

import pytest
import torch
from running import run

# An operator of which nobody would write a kernel by hand.
RARE = torch.special.bessel_j0


def test_operators_without_a_kernel_run_on_the_cpu_and_are_counted(device):
    torch.rdna.set_fallback_mode("silent")
    torch.rdna.reset_fallback_report()
    x = torch.rand(10)
    assert torch.equal(RARE(x.to(device)).cpu(), RARE(x))
    RARE(x.to(device))
    counted = {row.operator: row for row in torch.rdna.fallback_report()}
    row = next(row for name, row in counted.items() if "bessel_j0" in name)
    assert row.calls == 2
    assert row.bytes >= 80


def test_it_is_told_once_for_each_operator():
    done = run(
        "import torch, amdgpu.torch\nx = torch.ones(3).to('rdna')\nfor _ in range(3): torch.special.bessel_j0(x)\n",
        AMDGPU_TORCH_FALLBACK=None,
    )
    assert done.stderr.count("bessel_j0.out has no rdna kernel for Float[3]") == 1
    assert "it runs on the CPU, with" in done.stderr
    silent = run(
        "import torch, amdgpu.torch\ntorch.special.bessel_j0(torch.ones(3).to('rdna'))\n",
        AMDGPU_TORCH_FALLBACK="silent",
    )
    assert "kernel" not in silent.stderr


def test_the_cpu_can_be_forbidden(device):
    x = torch.ones(3).to(device)
    torch.rdna.set_fallback_mode("error")
    assert torch.rdna.get_fallback_mode() == "error"
    with pytest.raises(NotImplementedError, match=r"bessel_j0.* has no rdna kernel for Float\[3\].*forbids"):
        RARE(x)
    # What the shim itself does needs no kernel.
    assert x.view(3, 1).to("cpu").sum() == 3


def test_modes_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="known are warn, silent, error"):
        torch.rdna.set_fallback_mode("loud")
    done = run(
        "import torch, amdgpu.torch\n"
        "try:\n    torch.special.bessel_j0(torch.ones(3).to('rdna'))\n"
        "except ValueError as error:\n    print(error)\n",
        AMDGPU_TORCH_FALLBACK="loud",
    )
    assert "loud" in done.stdout


def test_results_written_in_place_and_into_out_arrive(device):
    torch.rdna.set_fallback_mode("silent")
    x = torch.rand(4)
    y = x.to(device)
    y.erfinv_()
    assert torch.equal(y.cpu(), x.clone().erfinv_())
    out = torch.empty(0, device=device)
    torch.special.bessel_j0(x.to(device), out=out)
    assert torch.equal(out.cpu(), RARE(x))
    view = torch.zeros(4, 2, device=device)
    view[:, 0].copy_(x.to(device))
    view[:, 0].erfinv_()
    assert torch.equal(view[:, 0].cpu(), x.clone().erfinv_())
    assert view[:, 1].tolist() == [0] * 4


def test_an_error_of_the_cpu_arrives_as_it_is(device):
    torch.rdna.set_fallback_mode("silent")
    with pytest.raises((RuntimeError, torch.linalg.LinAlgError)):
        torch.linalg.cholesky(-torch.eye(3, device=device))
