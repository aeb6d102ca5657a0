"""Indices that are none, where kernels of a device compute: no operator waits for them, and the next wait for the device tells of them."""

import textwrap

import pytest
from running import run

HEAD = textwrap.dedent("""
    import amdgpu.torch, torch
    import torch.nn.functional as F

    def told(work):
        torch.rdna.synchronize()
        work()
        try:
            torch.rdna.synchronize()
        except IndexError as error:
            return str(error)
        return "nothing"

    table = torch.arange(10.0).view(5, 2).to("rdna")
    index = torch.tensor([1, 7, 2]).to("rdna")
""")


def simulated(program):
    return run(HEAD + textwrap.dedent(program), AMDGPU_DEVICES="sim:gfx1100", AMDGPU_TORCH_DEVICE="sim:gfx1100", AMDGPU_TORCH_POISON=None).stdout


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("F.embedding(index, table)", "embedding: index 7 at place 1 of the indices is out of range: 5 are there"),
        ("table[index]", "index 7 at place 1"),
        ("table.gather(0, torch.full_like(table[:1], 5, dtype=torch.int64))", "index 5 at place"),
        ("F.nll_loss(table, torch.tensor([0, 1, 2, 1, 0]).to('rdna'))", "nll_loss: index 2 at place 2"),
        ("torch.ops.aten.embedding_dense_backward(table[:3], index, 5, -1, False)", "embedding_gradient: index 7 at place 1"),
    ],
)
def test_the_next_wait_tells_of_an_index_that_is_none(call, sentence):
    out = simulated(f"print(told(lambda: {call}))\nprint(told(lambda: F.embedding(index * 0, table)))")
    first, second = out.strip().splitlines()
    assert sentence in first
    assert second == "nothing"


def test_what_a_bad_index_names_is_left_out_and_the_device_goes_on():
    out = simulated("""
        rows = torch.zeros(4).to("rdna")
        def write():
            rows[torch.tensor([9, 2]).to("rdna")] = torch.tensor([5.0, 6.0]).to("rdna")
        print("index 9" in told(write))
        print(rows.tolist(), (table + 1).sum().item())
        found = []
        print("index 7" in told(lambda: found.append(F.embedding(index, table))))
        print(found[0].tolist())
        try:
            F.embedding(index, table).sum().item()
        except IndexError:
            print("item")
    """)
    assert out.strip().splitlines() == [
        "True",
        "[0.0, 0.0, 6.0, 0.0] 55.0",
        "True",
        "[[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]]",
        "item",
    ]
