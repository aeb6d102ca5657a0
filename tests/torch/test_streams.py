"""Streams and events."""

import pytest
import torch


def test_the_default_stream_is_current_at_first():
    assert torch.rdna.current_stream() == torch.rdna.default_stream()
    assert torch.rdna.current_stream("rdna:1").device == torch.device("rdna:1")


def test_a_stream_is_current_in_its_context():
    stream = torch.rdna.Stream()
    with torch.rdna.stream(stream):
        assert torch.rdna.current_stream() == stream
        with torch.rdna.stream(None):
            assert torch.rdna.current_stream() == stream
    assert torch.rdna.current_stream() == torch.rdna.default_stream()
    other = torch.rdna.Stream(device=1)
    with torch.rdna.stream(other):
        assert torch.rdna.current_device() == 1
    assert torch.rdna.current_device() == 0
    torch.rdna.set_stream(stream)
    assert torch.accelerator.current_stream() == stream
    torch.rdna.set_stream(torch.rdna.default_stream())


def test_streams_are_told_apart():
    streams = [torch.rdna.Stream() for _ in range(5)]
    assert len({stream.stream_id for stream in streams}) == 5
    assert all(stream != torch.rdna.default_stream() for stream in streams)


def test_work_of_streams_is_ordered_by_events(device):
    first, second = torch.rdna.Stream(), torch.rdna.Stream()
    x = torch.zeros(1 << 20, device=device)
    event = torch.rdna.Event()
    first.wait_stream(torch.rdna.current_stream())
    for value in range(1, 20):
        with torch.rdna.stream(first):
            x.copy_(torch.full((1 << 20,), float(value)).pin_memory(), non_blocking=True)
            event.record(first)
        second.wait_event(event)
        with torch.rdna.stream(second):
            seen = x.clone()
        first.wait_stream(second)
    second.synchronize()
    assert seen.min().item() == seen.max().item() == 19


def test_events_measure_time(device):
    start, end = torch.rdna.Event(enable_timing=True), torch.rdna.Event(enable_timing=True)
    assert start.query()
    start.record()
    torch.zeros(1 << 20, device=device).clone()
    end.record()
    end.synchronize()
    assert end.query()
    assert 0 <= start.elapsed_time(end) < 60_000
    torch.rdna.synchronize()
    assert torch.rdna.current_stream().query()


def test_events_that_were_not_recorded_have_no_times():
    with pytest.raises((RuntimeError, ValueError), match="recorded"):
        torch.rdna.Event(enable_timing=True).elapsed_time(torch.rdna.Event(enable_timing=True))
    with pytest.raises(NotImplementedError, match="between processes"):
        torch.rdna.Event(interprocess=True)


def test_memory_that_a_stream_uses_is_not_handed_out(device):
    stream = torch.rdna.Stream()
    x = torch.full((1 << 20,), 3.0, device=device)
    stream.wait_stream(torch.rdna.current_stream())
    with torch.rdna.stream(stream):
        y = torch.empty_like(x)
        for _ in range(20):
            y.copy_(x, non_blocking=True)
    x.record_stream(stream)
    del x
    torch.zeros(1 << 20, device=device)
    stream.synchronize()
    assert y.min().item() == 3
    with pytest.raises(RuntimeError, match="record_stream: a stream of rdna:0 is expected"):
        torch.ones(1, device=device).record_stream(torch.rdna.Stream(device=1))


def test_tensors_made_in_a_stream_are_freed_in_it(device, collected):
    before = torch.rdna.memory_allocated()
    stream = torch.rdna.Stream()
    for _ in range(50):
        with torch.rdna.stream(stream):
            x = torch.ones(1 << 16).to(device, non_blocking=True)
            (x.clone() * 1).clone()
    stream.synchronize()
    del x
    torch.rdna.synchronize()
    assert torch.rdna.memory_allocated() == before


def test_backward_runs_in_the_stream_of_forward(device):
    x = torch.ones(3, device=device, requires_grad=True)
    stream = torch.rdna.Stream()
    with torch.rdna.stream(stream):
        (x * x).sum().backward()
    torch.rdna.current_stream().wait_stream(stream)
    assert x.grad.tolist() == [2, 2, 2]
