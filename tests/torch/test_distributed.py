"""Collectives of tensors of rdna, and training by two processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PROCESSES = 2

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="torch was built without torch.distributed")


def collectives(rank):
    """Every collective with values that tell who sent what."""
    device = torch.device("rdna", rank)
    own = torch.arange(4.0, device=device) + 10 * rank
    summed = own.clone()
    dist.all_reduce(summed)
    assert summed.tolist() == [10.0, 12.0, 14.0, 16.0]
    assert summed.device == device
    largest = own.clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    assert largest.tolist() == [10.0, 11.0, 12.0, 13.0]
    sent = own.clone()
    dist.broadcast(sent, src=1)
    assert sent.tolist() == [10.0, 11.0, 12.0, 13.0]
    gathered = [torch.empty(4, device=device) for _ in range(PROCESSES)]
    dist.all_gather(gathered, own)
    assert [one[0].item() for one in gathered] == [0.0, 10.0]
    together = torch.empty(8, device=device)
    dist.all_gather_into_tensor(together, own)
    assert together.tolist() == [*range(4), *range(10, 14)]
    share = torch.empty(2, device=device)
    dist.reduce_scatter_tensor(share, own)
    assert share.tolist() == ([10.0, 12.0] if rank == 0 else [14.0, 16.0])
    exchanged = torch.empty(4, device=device)
    dist.all_to_all_single(exchanged, own)
    assert exchanged.tolist() == ([0.0, 1.0, 10.0, 11.0] if rank == 0 else [2.0, 3.0, 12.0, 13.0])
    if rank == 0:
        dist.send(own, 1)
    else:
        received = torch.empty(4, device=device)
        dist.recv(received, 0)
        assert received.tolist() == [0.0, 1.0, 2.0, 3.0]
    # Views with gaps, and work that is waited for later.
    grid = torch.ones(3, 4, device=device)
    work = dist.all_reduce(grid[:, 1:3], async_op=True)
    work.wait()
    assert grid.sum().item() == 12 + 6
    dist.barrier()


def model_and_data(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    return model, torch.randn(8, 6).to(device), torch.arange(8, device=device) % 3


def training(rank):
    """Two halves of a batch in two processes give the steps of the whole in one."""
    device = torch.device("rdna", rank)
    model, x, labels = model_and_data(device)
    shared = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
    half = slice(rank, None, PROCESSES)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(shared(x[half]), labels[half]).backward()
        optimizer.step()
    alone, x, labels = model_and_data(device)
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(alone(x), labels).backward()
        optimizer.step()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu())


def run(rank, port, name):
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "python")]
    import amdgpu.torch  # noqa: F401

    torch.rdna.set_device(rank)
    dist.init_process_group(
        "cpu:gloo,rdna:rdna", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES
    )
    globals()[name](rank)
    dist.destroy_process_group()


@pytest.mark.parametrize("name", ["collectives", "training"])
def test_two_processes(name):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(PROCESSES):
        program = f"import runpy; runpy.run_path({__file__!r})['run']({rank}, {port}, {name!r})"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        children.append(
            subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment)
        )
    told = [child.communicate(timeout=240)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], "\n".join(told)
