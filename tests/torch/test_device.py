"""Devices: numbers, names, contexts, facts, and what is refused."""

import copy

import pytest
import torch
from running import run


def test_devices_are_counted_and_the_first_is_current():
    assert torch.rdna.is_available()
    assert torch.rdna.device_count() == 2
    assert torch.rdna.current_device() == 0
    assert torch.device("rdna").type == "rdna"


def test_the_current_device_decides_where_tensors_are_made():
    with torch.rdna.device(1):
        assert torch.rdna.current_device() == 1
        assert torch.empty(1, device="rdna").device == torch.device("rdna:1")
        with torch.rdna.device("rdna:0"):
            assert torch.rdna.current_device() == 0
        with torch.rdna.device(None):
            assert torch.rdna.current_device() == 1
    assert torch.rdna.current_device() == 0


def test_set_device_takes_numbers_names_and_devices():
    for device in (1, "rdna:1", torch.device("rdna", 1)):
        torch.rdna.set_device(device)
        assert torch.rdna.current_device() == 1
        torch.rdna.set_device(0)
    torch.rdna.set_device(1)
    torch.rdna.set_device(-1)
    assert torch.rdna.current_device() == 1


def test_device_of_follows_a_tensor():
    tensor = torch.empty(1, device="rdna:1")
    with torch.rdna.device_of(tensor):
        assert torch.rdna.current_device() == 1
    with torch.rdna.device_of(torch.empty(1)):
        assert torch.rdna.current_device() == 0


def test_factories_in_a_device_context_make_tensors_there():
    with torch.device("rdna:1"):
        assert torch.zeros(2).device == torch.device("rdna:1")


@pytest.mark.parametrize("wrong", [2, 9])
def test_a_number_beyond_the_last_is_refused_with_those_that_are_there(wrong):
    sentence = f"rdna:{wrong} does not exist; there are devices rdna:0 to rdna:1"
    for attempt in (
        lambda: torch.empty(1, device=f"rdna:{wrong}"),
        lambda: torch.rdna.set_device(wrong),
        lambda: torch.ones(1).to(f"rdna:{wrong}"),
        lambda: torch.rdna.get_device_properties(wrong),
        lambda: torch.rdna.synchronize(wrong),
        lambda: torch.rdna.mem_get_info(wrong),
    ):
        with pytest.raises(RuntimeError, match=sentence):
            attempt()


def test_what_names_no_device_is_refused():
    with pytest.raises(ValueError, match="a device of type rdna is expected, not cpu"):
        torch.rdna.set_device("cpu")
    with pytest.raises(TypeError, match="a device is a number"):
        torch.rdna.get_device_name(1.5)


def test_properties_tell_the_truth():
    properties = torch.rdna.get_device_properties(0)
    assert properties.amdgpu_name.startswith(properties.kind)
    assert properties.is_host_simulated == (properties.kind == "cpu")
    assert properties.name == torch.rdna.get_device_name()
    assert properties.total_memory == torch.rdna.mem_get_info()[1]
    assert properties.multi_processor_count > 0
    assert properties.warp_size > 0
    assert properties.gcnArchName == (properties.architecture if properties.kind == "hip" else "")
    assert (torch.rdna.get_device_capability() == (0, 0)) == properties.is_host_simulated
    assert torch.rdna.is_bf16_supported()


def test_the_accelerator_of_torch_is_rdna():
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator().type == "rdna"
    assert torch.accelerator.device_count() == torch.rdna.device_count()
    torch.accelerator.set_device_index(1)
    assert torch.rdna.current_device() == 1
    torch.rdna.set_device(0)
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()


def test_nothing_is_opened_before_the_first_use():
    done = run(
        "import torch, amdgpu.torch\n"
        "torch.rdna.device_count(); torch.rdna.get_device_name(); torch.manual_seed(3)\n"
        "print(torch.rdna.is_initialized())\n"
        "torch.rdna.init()\n"
        "print(torch.rdna.is_initialized())\n"
    )
    assert done.stdout.split() == ["False", "True"]


def test_without_a_device_the_import_works_and_uses_say_what_is_missing():
    done = run(
        "import torch, amdgpu.torch\n"
        "print(torch.rdna.is_available(), torch.rdna.device_count())\n"
        "torch.rdna.manual_seed(1); torch.manual_seed(1)\n"
        "try:\n    torch.empty(1, device='rdna')\n"
        "except RuntimeError as error:\n    print(error)\n",
        AMDGPU_TORCH_DEVICE="null:nothing",
    )
    assert done.stdout.startswith("False 0\nthere is no rdna device")
    assert "AMDGPU_TORCH_DEVICE=cpu" in done.stdout


def test_tensors_of_two_devices_do_not_mix(device):
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device=device) + torch.ones(2)
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device=device) + torch.ones(2, device="rdna:1")


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_sparse_and_quantised_tensors_are_refused(device):
    x = torch.ones(2, 2, device=device)
    with pytest.raises(NotImplementedError, match="rdna has no sparse tensors; make them dense"):
        x.to_sparse()
    with pytest.raises(NotImplementedError, match="rdna has no quantised tensors"):
        torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    with pytest.raises((NotImplementedError, RuntimeError), match="sparse"):
        torch.eye(2).to_sparse().to(device)
    with pytest.raises(NotImplementedError, match="rdna has no compressed sparse tensors"):
        torch.eye(2).to_sparse_csr().to(device).to_dense()
    with pytest.raises(NotImplementedError, match="rdna has no sparse tensors"):
        torch.eye(2).to_sparse() @ x


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_lists_of_tensors_are_refused_but_in_the_layout_jagged(device):
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    with pytest.raises(NotImplementedError, match=r"rdna has no nested tensors of this layout; take torch\.jagged"):
        torch.nested.nested_tensor(parts).to(device).unbind()
    jagged = torch.nested.nested_tensor(parts, device=device, layout=torch.jagged)
    assert (jagged * 2).sum().item() == 36


def test_modules_move_by_name():
    module = torch.nn.Linear(2, 2).rdna()
    assert module.weight.is_rdna
    assert module.weight.rdna(1).device == torch.device("rdna:1")
    assert module.cpu().weight.device.type == "cpu"


def tied_modules():
    table, product = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False)
    product.weight = table.weight
    return torch.nn.ModuleList([table, product])


def test_modules_keep_their_parameters_when_they_move():
    module = tied_modules()
    kept = module[0].weight
    steps = torch.optim.SGD(module.parameters(), lr=0.5)
    for move in (
        module.rdna,
        module.half,
        module.cpu,
        module.float,
        lambda: module.to("rdna:1"),
        lambda: module.to("rdna"),
    ):
        move()
        assert module[0].weight is kept
        assert module[1].weight is kept
    module[1](module[0](torch.tensor([1, 3], device="rdna"))).sum().backward()
    before = kept.detach().clone()
    steps.step()
    torch.testing.assert_close(kept.detach(), before - 0.5 * kept.grad)
    module.cpu()
    assert kept.grad.device.type == "cpu"
    steps.step()


def test_parameters_take_memory_of_another_device():
    weight = torch.nn.Parameter(torch.ones(2, 3))
    weight.data = torch.full((2, 3), 2.0, device="rdna")
    (weight * 3).sum().backward()
    assert weight.grad.device == weight.device == torch.device("rdna:0")
    weight.grad, weight.data = None, torch.zeros(2, 3)
    (weight * 3).sum().backward()
    assert weight.grad.device.type == "cpu"
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        weight.data = torch.eye(2).to_sparse()


def test_gradients_of_tied_weights_are_those_of_the_cpu():
    module = tied_modules()
    words = torch.tensor([1, 3, 3])

    def gradient(device):
        moved = copy.deepcopy(module).to(device)
        moved[1](moved[0](words.to(device))).square().sum().backward()
        return moved[0].weight.grad.cpu()

    torch.testing.assert_close(gradient("rdna"), gradient("cpu"))
