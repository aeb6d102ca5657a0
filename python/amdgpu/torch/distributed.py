"""`torch.distributed` for tensors of rdna: the backend `rdna`, by the engines that torch has.

    torch.distributed.init_process_group("cpu:gloo,rdna:rdna", ...)

Where this torch computes on the same GPUs and every process of the machine has one of its own, NCCL (RCCL on AMD) works on the tensors' own
memory. Else they are copied to pinned memory and gloo talks to the other processes. `AMDGPU_TORCH_COLLECTIVES` chooses.

Each process does its collectives in the order in which they were asked for, in a thread of its own; they end before `Work.wait()` returns.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future

from amdgpu.torch.exchange import as_array

NAME = "rdna"
SETTING = "AMDGPU_TORCH_COLLECTIVES"


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Its values in memory of the host without gaps, which the device copies to without a detour."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor.detach())


def _nested(function: Callable[[torch.Tensor], Any], tensors: Any) -> Any:
    if isinstance(tensors, torch.Tensor):
        return function(tensors)
    return [_nested(function, one) for one in tensors]


def _write_back(tensors: Any, copies: Any) -> None:
    if isinstance(tensors, torch.Tensor):
        if copies.data_ptr() != tensors.data_ptr():
            tensors.detach().copy_(copies)
        return
    for one, copy in zip(tensors, copies, strict=True):
        _write_back(one, copy)


class StagedProcessGroup(dist.ProcessGroup):  # type: ignore[misc]  # types are checked without torch
    """Collectives of tensors of rdna by gloo, on copies in pinned memory of the host."""

    def __init__(self, rank: int, size: int, engine: Any) -> None:
        super().__init__(rank, size)
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="amdgpu-collectives")

    def getBackendName(self) -> str:  # noqa: N802 - torch asks for it so
        """What torch calls the backend."""
        return NAME

    def _start(self, results: Any, given: Sequence[Any], call: Callable[..., Any]) -> Any:
        """Runs a collective of the engine, and sees to it that what it wrote is in the tensors.

        Args:
            results: Which of the tensors it writes, one of `given`; None for none.
            given: Tensors, or lists of them.
            call: Is given what the engine can work on in their place, and gives the engine's work.
        """
        done: torch.futures.Future[Any] = torch.futures.Future()
        device = torch.rdna.current_device()
        # What the caller's stream has not computed yet is waited for: what is done here is done in its order.
        stream = torch.rdna.current_stream()

        def work() -> None:
            try:
                torch.rdna.set_device(device)
                with torch.rdna.stream(stream), torch.no_grad():
                    self._collect(results, given, call)
                    torch.rdna.synchronize(device)
            except Exception as error:  # noqa: BLE001 - it is raised by Work.wait()
                done.set_exception(error)
            else:
                done.set_result(results)

        self._thread.submit(work)
        return _create_work_from_future(done)

    def _collect(self, results: Any, given: Sequence[Any], call: Callable[..., Any]) -> None:
        copies = [_nested(_pinned, one) for one in given]
        call(*copies).wait()
        for one, copy in zip(given, copies, strict=True):
            if one is results:
                _write_back(one, copy)

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        """The sum, or what the options name, of the tensors of all processes, in each."""
        opts = opts or dist.AllreduceOptions()
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        return self._start(tensors, [tensors], lambda hosts: self._engine.allreduce(hosts, opts))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """The same of several tensors."""
        plain = dist.AllreduceOptions()
        plain.reduceOp = (opts or plain).reduceOp

        def one_by_one(hosts: list[torch.Tensor]) -> Any:
            for host in hosts[:-1]:
                self._engine.allreduce([host], plain).wait()
            return self._engine.allreduce(hosts[-1:], plain)

        return self._start(tensors, [tensors], one_by_one)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        """The tensors of one process in all."""
        opts = opts or dist.BroadcastOptions()
        return self._start(tensors, [tensors], lambda hosts: self._engine.broadcast(hosts, opts))

    def reduce(self, tensors: Any, opts: Any = None) -> Any:
        """As allreduce, in one process."""
        opts = opts or dist.ReduceOptions()
        return self._start(tensors, [tensors], lambda hosts: self._engine.reduce(hosts, opts))

    def allgather(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """The tensors of all processes in each."""
        opts = opts or dist.AllgatherOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._engine.allgather(made, hosts, opts))

    def _allgather_base(self, result: Any, tensor: Any, opts: Any = None) -> Any:
        opts = opts or dist.AllgatherOptions()
        return self._start(result, [result, tensor], lambda made, host: self._engine._allgather_base(made, host, opts))  # noqa: SLF001 - torch's

    def gather(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """As allgather, in one process."""
        opts = opts or dist.GatherOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._engine.gather(made, hosts, opts))

    def scatter(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A tensor of one process to each."""
        opts = opts or dist.ScatterOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._engine.scatter(made, hosts, opts))

    def reduce_scatter(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A share of the sum to each process; gloo sums everything everywhere."""
        own = dist.AllreduceOptions()
        own.reduceOp = (opts or dist.ReduceScatterOptions()).reduceOp

        def summed(made: list[torch.Tensor], hosts: list[list[torch.Tensor]]) -> Any:
            for index, parts in enumerate(hosts):
                whole = torch.stack(parts)
                self._engine.allreduce([whole], own).wait()
                made[index].copy_(whole[self.rank()])
            return _Done()

        return self._start(results, [results, tensors], summed)

    def _reduce_scatter_base(self, result: Any, tensor: Any, opts: Any = None) -> Any:
        parts = list(tensor.chunk(self.size()))
        return self.reduce_scatter([result.view(parts[0].shape)], [parts], opts)

    def alltoall(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A tensor of each process to each."""
        opts = opts or dist.AllToAllOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._engine.alltoall(made, hosts, opts))

    def alltoall_base(self, result: Any, tensor: Any, to: Any, of: Any, opts: Any = None) -> Any:
        """A part of a tensor of each process to each."""
        opts = opts or dist.AllToAllOptions()
        call = functools.partial(self._engine.alltoall_base, opts=opts)
        return self._start(result, [result, tensor], lambda made, host: call(made, host, to, of))

    # The names of torch 2.15.
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base

    def send(self, tensors: Any, to: int, tag: int = 0) -> Any:
        """Tensors to a process."""
        return self._start(None, [tensors], lambda hosts: self._engine.send(hosts, to, tag))

    def recv(self, tensors: Any, of: int, tag: int = 0) -> Any:
        """Tensors of a process."""
        return self._start(tensors, [tensors], lambda hosts: self._engine.recv(hosts, of, tag))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Tensors of whichever process sends some."""
        return self._start(tensors, [tensors], lambda hosts: self._engine.recv_anysource(hosts, tag))

    def barrier(self, opts: Any = None) -> Any:
        """Every process gets here, with what its device was asked for done."""
        opts = opts or dist.BarrierOptions()
        return self._start(None, [], lambda: self._engine.barrier(opts))


class SharedProcessGroup(StagedProcessGroup):
    """Collectives of tensors of rdna by NCCL or RCCL, in their own memory, which torch's own device sees."""

    def _collect(self, results: Any, given: Sequence[Any], call: Callable[..., Any]) -> None:
        whole = [_nested(_without_gaps, one) for one in given]
        torch.rdna.current_stream().record_event().synchronize()
        views = [_nested(_as_peer, one) for one in whole]
        peer = torch.device("cuda", _peer_index(torch.rdna.current_device()))
        with torch.cuda.device(peer):
            call(*views).wait()
            # Behind the wait torch's own stream is where the engine is done.
            torch.cuda.current_stream().synchronize()
        for one, copy in zip(given, whole, strict=True):
            if one is results:
                _write_back(one, copy)

    def barrier(self, opts: Any = None) -> Any:
        """Every process gets here, with what its device was asked for done."""
        opts = opts or dist.BarrierOptions()
        opts.device_ids = [_peer_index(torch.rdna.current_device())]
        return self._start(None, [], lambda: self._engine.barrier(opts))

    def reduce_scatter(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A share of the sum to each process."""
        opts = opts or dist.ReduceScatterOptions()
        return self._start(results, [results, tensors], lambda made, own: self._engine.reduce_scatter(made, own, opts))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Is refused: NCCL has to know who sends."""
        raise NotImplementedError(
            f"NCCL does not receive from whichever process sends: name the process, or set {SETTING}=gloo"
        )


class _Done:
    """Work that has ended."""

    def wait(self) -> bool:
        """At once."""
        return True


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> StagedProcessGroup:
    asked = os.environ.get(SETTING, "auto")
    if asked not in ("auto", "gloo", "nccl"):
        raise ValueError(f"{SETTING}={asked!r} is none of auto, gloo, nccl")
    why_not = _why_no_nccl(size)
    if asked == "nccl" and why_not:
        raise RuntimeError(f"{SETTING}=nccl: {why_not}")
    own = dist.PrefixStore("amdgpu-rdna", store)
    if asked == "gloo" or why_not:
        return StagedProcessGroup(rank, size, dist.ProcessGroupGloo(own, rank, size, timeout))
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = timeout  # noqa: SLF001 - torch's own name for it
    return SharedProcessGroup(rank, size, dist.ProcessGroupNCCL(own, rank, size, options))


def _why_no_nccl(size: int) -> str:
    """Why NCCL or RCCL cannot work on tensors of rdna; nothing where it can."""
    if not dist.is_nccl_available() or not torch.cuda.is_available():
        return "this torch has no NCCL, or sees no GPU of its own"
    kind = "hip" if torch.version.hip else "cuda"
    names = [torch.rdna.get_device_properties(index).amdgpu_name for index in range(torch.rdna.device_count())]
    others = [name for name in names if name.partition(":")[0] != kind]
    if others:
        return f"rdna is {', '.join(others)}, which torch's own device does not see"
    local = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if len(set(names)) < local:
        return f"{local} processes share {len(set(names))} GPU{'s' if len(set(names)) > 1 else ''}, and each needs one of its own"
    return ""


def _peer_index(index: int) -> int:
    """The number that torch's own device has for a device of rdna."""
    return int(torch.rdna.get_device_properties(index).amdgpu_name.partition(":")[2] or 0)


def _without_gaps(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach()
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _as_peer(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of torch's own device."""
    return torch.from_dlpack(as_array(tensor))


def register() -> None:
    """Makes `rdna` a backend of torch.distributed, once."""
    if dist.is_available() and NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _create, devices=["rdna"])
