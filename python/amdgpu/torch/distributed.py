"""`torch.distributed` for tensors of rdna: the backend `rdna` copies through pinned memory and lets gloo talk to the other processes.

    torch.distributed.init_process_group("cpu:gloo,rdna:rdna", ...)

Each process does its collectives in the order in which they were asked for, in a thread of its own; they end before `Work.wait()` returns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future

NAME = "rdna"


def _pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Its values in memory of the host without gaps, which the device copies to without a detour."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    return host.copy_(tensor.detach())


def _nested(function: Callable[[torch.Tensor], Any], tensors: Any) -> Any:
    if isinstance(tensors, torch.Tensor):
        return function(tensors)
    return [_nested(function, one) for one in tensors]


def _write_back(tensors: Any, hosts: Any) -> None:
    if isinstance(tensors, torch.Tensor):
        tensors.detach().copy_(hosts)
        return
    for one, host in zip(tensors, hosts, strict=True):
        _write_back(one, host)


class StagedProcessGroup(dist.ProcessGroup):  # type: ignore[misc]  # types are checked without torch
    """Collectives of tensors of rdna by gloo, on copies in pinned memory of the host."""

    def __init__(self, rank: int, size: int, gloo: Any) -> None:
        super().__init__(rank, size)
        self._gloo = gloo
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="amdgpu-collectives")

    def getBackendName(self) -> str:  # noqa: N802 - torch asks for it so
        """What torch calls the backend."""
        return NAME

    def _start(self, results: Any, staged: Sequence[Any], call: Callable[..., Any]) -> Any:
        """Runs a collective of gloo on copies of tensors, and copies what it wrote back.

        Args:
            results: Which of the tensors it writes, one of `staged`; None for none.
            staged: Tensors, or lists of them.
            call: Is given the copies.
        """
        done: torch.futures.Future[Any] = torch.futures.Future()
        # What the caller's stream has not computed yet is waited for by the copies, which are made in its order.
        device = torch.rdna.current_device()
        stream = torch.rdna.current_stream()

        def work() -> None:
            try:
                torch.rdna.set_device(device)
                with torch.rdna.stream(stream), torch.no_grad():
                    hosts = [_nested(_pinned, one) for one in staged]
                    call(*hosts).wait()
                    for one, host in zip(staged, hosts, strict=True):
                        if one is results:
                            _write_back(one, host)
                    torch.rdna.synchronize(device)
            except Exception as error:  # noqa: BLE001 - it is raised by Work.wait()
                done.set_exception(error)
            else:
                done.set_result(results)

        self._thread.submit(work)
        return _create_work_from_future(done)

    def allreduce(self, tensors: Any, opts: Any = None) -> Any:
        """The sum, or what the options name, of the tensors of all processes, in each."""
        opts = opts or dist.AllreduceOptions()
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        return self._start(tensors, [tensors], lambda hosts: self._gloo.allreduce(hosts, opts))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """The same of several tensors."""
        plain = dist.AllreduceOptions()
        plain.reduceOp = (opts or plain).reduceOp

        def one_by_one(hosts: list[torch.Tensor]) -> Any:
            for host in hosts[:-1]:
                self._gloo.allreduce([host], plain).wait()
            return self._gloo.allreduce(hosts[-1:], plain)

        return self._start(tensors, [tensors], one_by_one)

    def broadcast(self, tensors: Any, opts: Any = None) -> Any:
        """The tensors of one process in all."""
        opts = opts or dist.BroadcastOptions()
        return self._start(tensors, [tensors], lambda hosts: self._gloo.broadcast(hosts, opts))

    def reduce(self, tensors: Any, opts: Any = None) -> Any:
        """As allreduce, in one process."""
        opts = opts or dist.ReduceOptions()
        return self._start(tensors, [tensors], lambda hosts: self._gloo.reduce(hosts, opts))

    def allgather(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """The tensors of all processes in each."""
        opts = opts or dist.AllgatherOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._gloo.allgather(made, hosts, opts))

    def _allgather_base(self, result: Any, tensor: Any, opts: Any = None) -> Any:
        opts = opts or dist.AllgatherOptions()
        return self._start(result, [result, tensor], lambda made, host: self._gloo._allgather_base(made, host, opts))  # noqa: SLF001 - torch's

    def gather(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """As allgather, in one process."""
        opts = opts or dist.GatherOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._gloo.gather(made, hosts, opts))

    def scatter(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A tensor of one process to each."""
        opts = opts or dist.ScatterOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._gloo.scatter(made, hosts, opts))

    def reduce_scatter(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A share of the sum to each process; gloo sums everything everywhere."""
        own = dist.AllreduceOptions()
        own.reduceOp = (opts or dist.ReduceScatterOptions()).reduceOp

        def summed(made: list[torch.Tensor], hosts: list[list[torch.Tensor]]) -> Any:
            for index, parts in enumerate(hosts):
                whole = torch.stack(parts)
                self._gloo.allreduce([whole], own).wait()
                made[index].copy_(whole[self.rank()])
            return _Done()

        return self._start(results, [results, tensors], summed)

    def _reduce_scatter_base(self, result: Any, tensor: Any, opts: Any = None) -> Any:
        parts = list(tensor.chunk(self.size()))
        return self.reduce_scatter([result.view(parts[0].shape)], [parts], opts)

    def alltoall(self, results: Any, tensors: Any, opts: Any = None) -> Any:
        """A tensor of each process to each."""
        opts = opts or dist.AllToAllOptions()
        return self._start(results, [results, tensors], lambda made, hosts: self._gloo.alltoall(made, hosts, opts))

    def alltoall_base(self, result: Any, tensor: Any, to: Any, of: Any, opts: Any = None) -> Any:
        """A part of a tensor of each process to each."""
        opts = opts or dist.AllToAllOptions()
        call = functools.partial(self._gloo.alltoall_base, opts=opts)
        return self._start(result, [result, tensor], lambda made, host: call(made, host, to, of))

    # The names of torch 2.15.
    all_gather_single = _allgather_base
    reduce_scatter_single = _reduce_scatter_base
    all_to_all_single = alltoall_base

    def send(self, tensors: Any, to: int, tag: int = 0) -> Any:
        """Tensors to a process."""
        return self._start(None, [tensors], lambda hosts: self._gloo.send(hosts, to, tag))

    def recv(self, tensors: Any, of: int, tag: int = 0) -> Any:
        """Tensors of a process."""
        return self._start(tensors, [tensors], lambda hosts: self._gloo.recv(hosts, of, tag))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """Tensors of whichever process sends some."""
        return self._start(tensors, [tensors], lambda hosts: self._gloo.recv_anysource(hosts, tag))

    def barrier(self, opts: Any = None) -> Any:
        """Every process gets here, with what its device was asked for done."""
        opts = opts or dist.BarrierOptions()
        return self._start(None, [], lambda: self._gloo.barrier(opts))


class _Done:
    """Work that has ended."""

    def wait(self) -> bool:
        """At once."""
        return True


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> StagedProcessGroup:
    gloo = dist.ProcessGroupGloo(dist.PrefixStore("amdgpu-rdna", store), rank, size, timeout)
    return StagedProcessGroup(rank, size, gloo)


def register() -> None:
    """Makes `rdna` a backend of torch.distributed, once."""
    if dist.is_available() and NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _create, devices=["rdna"])
