"""Indices that are none: the CPU device refuses them at once, and on a GPU the next wait for the device tells of them."""

import pytest
import torch
from torch.nn import functional

AT_ONCE = torch.rdna.get_device_properties(0).is_host_simulated


def told(work):
    """What is said of an index in `work`, by the call or by the next wait."""
    torch.rdna.synchronize()
    try:
        work()
        assert not AT_ONCE, "the CPU device refuses indices at once"
    except RuntimeError as error:
        assert AT_ONCE
        return str(error)
    with pytest.raises(IndexError) as caught:
        torch.rdna.synchronize()
    return str(caught.value)


@pytest.fixture
def table(device):
    return torch.arange(10.0).view(5, 2).to(device)


@pytest.fixture
def index(device):
    return torch.tensor([1, 7, 2]).to(device)


CALLS = {
    "embedding": (lambda table, index: functional.embedding(index, table), "index 7 at place 1"),
    "index": (lambda table, index: table[index], "index 7"),
    "gather": (lambda table, index: table.gather(0, torch.full_like(table[:1], 5, dtype=torch.int64)), "index 5"),
    "nll_loss": (
        lambda table, index: functional.nll_loss(table, torch.tensor([0, 1, 2, 1, 0]).to(table.device)),
        " 2 at place 2",
    ),
    "embedding_gradient": (
        lambda table, index: torch.ops.aten.embedding_dense_backward(table[:3], index, 5, -1, False),
        "index 7 at place 1",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_index_that_is_none_is_told_of(name, table, index):
    call, sentence = CALLS[name]
    assert sentence in told(lambda: call(table, index))
    # The device works on, and nothing is told twice.
    assert functional.embedding(index.clamp(max=4), table).tolist() == [[2.0, 3.0], [8.0, 9.0], [4.0, 5.0]]
    torch.rdna.synchronize()


def test_what_is_written_to_such_an_index_is_left_out(device):
    rows = torch.zeros(4).to(device)

    def write():
        rows[torch.tensor([9, -7]).to(device)] = 5.0

    assert "out of" in told(write)
    assert rows.tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.skipif(AT_ONCE, reason="the CPU device refuses indices at once")
def test_copies_to_the_host_tell_of_it_too(table, index):
    rows = functional.embedding(index, table)
    with pytest.raises(IndexError, match="embedding: index 7 at place 1 of the indices is out of range: 5 are there"):
        rows.sum().item()
    assert rows.tolist() == [[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]]
