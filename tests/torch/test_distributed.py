"""Collectives of tensors of rdna, and training by two processes."""

import faulthandler
import os
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PROCESSES = 2
SECONDS = int(os.environ.get("AMDGPU_TEST_SECONDS", "100"))

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
    # A limit that is given is kept: the other process asks later.
    if rank == 0:
        work = dist.all_reduce(own.clone(), async_op=True)
        if os.environ.get("AMDGPU_TORCH_COLLECTIVES") == "gloo":
            with pytest.raises(RuntimeError, match="has not ended after 100 ms"):
                work.wait(timedelta(milliseconds=100))
        work.wait()
    else:
        time.sleep(1)
        dist.all_reduce(own.clone())
    with pytest.raises(ValueError, match="expected, not one of cpu"):
        dist.all_gather([torch.empty(4, device=device), torch.empty(4)], own)
    dist.barrier()


def order(rank):
    """Collectives begin behind what the current stream computes, and what comes behind `wait` finds their results, in any stream."""
    device = torch.device("rdna", rank)
    streams = [torch.rdna.current_stream(), torch.rdna.Stream()]
    for size in (1, 1000, 1 << 20):
        for repetition in range(6):
            with torch.rdna.stream(streams[repetition % 2]):
                x = torch.full((size,), 1.0 + rank, device=device)
                for _ in range(5):
                    x = x * 2
                work = dist.all_reduce(x, async_op=True)
                y = torch.full((size,), 7.0 + rank, device=device)
                work.wait()
                dist.broadcast(y, 0)
                assert ((x - y).sum() / size).item() == 96 - 7
    # Memory is kept until the collective has passed it, also where nobody waits.
    for _ in range(20):
        dist.all_reduce(torch.ones(1 << 16, device=device), async_op=True)
        torch.zeros(1 << 16, device=device)
    dist.barrier()


def lists_and_distributed_tensors(rank):
    """Functional collectives, which distributed tensors use, and collectives of lists and of objects."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    device = torch.device("rdna", rank)
    mesh = init_device_mesh("rdna", (PROCESSES,))
    own = torch.arange(4.0, device=device) + 10 * rank
    sums = DTensor.from_local(own, mesh, [Partial()])
    assert sums.redistribute(mesh, [Replicate()]).to_local().tolist() == [10.0, 12.0, 14.0, 16.0]
    assert sums.redistribute(mesh, [Shard(0)]).to_local().tolist() == ([10.0, 12.0] if rank == 0 else [14.0, 16.0])
    assert DTensor.from_local(own, mesh, [Shard(0)]).full_tensor().tolist() == [*range(4), *range(10, 14)]
    parts = [torch.full((3,), float(10 * rank + to), device=device) for to in range(PROCESSES)]
    share = torch.empty(3, device=device)
    dist.reduce_scatter(share, parts)
    assert share.tolist() == [10.0 + 2 * rank] * 3
    exchanged = [torch.empty(3, device=device) for _ in range(PROCESSES)]
    dist.all_to_all(exchanged, parts)
    assert [one[0].item() for one in exchanged] == [rank, 10 + rank]
    texts = [None, None]
    dist.all_gather_object(texts, f"rank {rank}")
    assert texts == ["rank 0", "rank 1"]


def sharded(rank):
    """Parameters in shards (FSDP) take the steps of the whole model in one process."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    device = torch.device("rdna", rank)
    mesh = init_device_mesh("rdna", (PROCESSES,))
    half = slice(rank, None, PROCESSES)

    def steps(model, x, labels):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), labels).backward()
            optimizer.step()

    alone, x, labels = model_and_data(device)
    steps(alone, x, labels)
    model, *_ = model_and_data(device)
    for part in (model[0], model[2], model):
        fully_shard(part, mesh=mesh)
    steps(model, x[half], labels[half])
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(ours.full_tensor().cpu(), theirs.detach().cpu())
    wrapped = FullyShardedDataParallel(model_and_data(device)[0], device_id=device, use_orig_params=True)
    steps(wrapped, x[half], labels[half])
    with FullyShardedDataParallel.summon_full_params(wrapped):
        for ours, theirs in zip(wrapped.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach().cpu())


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

    # Where processes wait for each other for good, each says where.
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    torch.rdna.set_device(rank)
    dist.init_process_group(
        "cpu:gloo,rdna:rdna", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=PROCESSES
    )
    globals()[name](rank)
    dist.destroy_process_group()
    # Threads of torch's gloo let go of tensors of the host a moment after a collective, for which they need the interpreter.
    time.sleep(0.5)


@pytest.mark.parametrize("name", ["collectives", "order", "lists_and_distributed_tensors", "training", "sharded"])
def test_two_processes(name):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(PROCESSES):
        program = f"import runpy; runpy.run_path({__file__!r})['run']({rank}, {port}, {name!r})"
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        if not torch.cuda.is_available():
            environment["AMDGPU_TORCH_COLLECTIVES"] = "gloo"
        children.append(
            subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment)
        )
    told = [child.communicate(timeout=SECONDS + 20)[1] for child in children]
    assert [child.returncode for child in children] == [0, 0], "\n".join(told)


@pytest.mark.parametrize(
    ("setting", "error", "text"),
    [("mpi", ValueError, "is none of auto, gloo, nccl"), ("nccl", RuntimeError, "AMDGPU_TORCH_COLLECTIVES=nccl: ")],
)
def test_a_wrong_engine_is_refused(monkeypatch, setting, error, text):
    monkeypatch.setenv("AMDGPU_TORCH_COLLECTIVES", setting)
    # Two devices of one GPU, or none that torch sees.
    with pytest.raises(error, match=text):
        dist.init_process_group("rdna", store=dist.HashStore(), rank=0, world_size=3)
    if dist.is_initialized():
        dist.destroy_process_group()
