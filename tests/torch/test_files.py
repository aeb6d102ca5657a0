"""Files, copies of objects, loaders and processes."""

import copy
import io
import os
import pickle
import subprocess
import sys

import pytest
import torch
from running import run


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


def test_tensors_are_saved_and_loaded_where_they_were(device):
    x = torch.arange(6.0, device="rdna:1")
    loaded = torch.load(saved({"x": x, "view": x[2:]}))
    assert loaded["x"].device == torch.device("rdna:1")
    assert loaded["view"].tolist() == [2, 3, 4, 5]
    assert loaded["view"].untyped_storage().data_ptr() == loaded["x"].untyped_storage().data_ptr()


@pytest.mark.parametrize("where", ["cpu", "rdna:1", torch.device("rdna", 0), lambda storage, _: storage])
def test_map_location_moves_what_is_loaded(where, device):
    for x in (torch.arange(3.0, device=device), torch.arange(3.0)):
        loaded = torch.load(saved(x), map_location=where)
        assert loaded.tolist() == [0, 1, 2]
        if not callable(where):
            assert loaded.device == torch.device(where)


def test_a_location_that_is_not_there_is_refused(device):
    with pytest.raises(RuntimeError, match="rdna"):
        torch.load(saved(torch.ones(2)), map_location="rdna:7")


def test_states_of_modules_and_optimizers_survive(device):
    model = torch.nn.Linear(2, 2).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    state = torch.load(saved([model.state_dict(), optimizer.state_dict()]))
    other = torch.nn.Linear(2, 2).to(device)
    other.load_state_dict(state[0])
    torch.optim.AdamW(other.parameters()).load_state_dict(state[1])
    assert torch.equal(other.weight.cpu(), model.weight.cpu())


def test_objects_are_copied_and_pickled(device):
    x = torch.ones(2, device=device, requires_grad=True)
    y = copy.deepcopy(x)
    with torch.no_grad():
        y.fill_(2)
    assert x.tolist() == [1, 1]
    assert y.requires_grad
    assert pickle.loads(pickle.dumps(x)).device == device
    storage = copy.deepcopy(x.detach().untyped_storage())
    assert storage.device == device
    assert storage.cpu().nbytes() == 8


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_loaders_pin_batches(workers, device):
    data = torch.utils.data.TensorDataset(torch.arange(20.0).view(10, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=5, pin_memory=True, num_workers=workers)
    total = 0.0
    for (batch,) in loader:
        assert batch.is_pinned()
        total += batch.to(device, non_blocking=True).sum().item()
    assert total == 190


FORK = """
import os, sys, torch, amdgpu.torch
torch.rdna.set_fallback_mode("silent")
if sys.argv[1:] == ["used"] or USED:
    kept = torch.ones(4).to("rdna")
process = os.fork()
if process == 0:
    try:
        x = torch.ones(3).to("rdna")
        print("used", (x + 1).tolist(), flush=True)
    except RuntimeError as error:
        print("refused", error, flush=True)
    kept = None
    os._exit(0)
_, status = os.waitpid(process, 0)
print("status", status, torch.ones(2).to("rdna").cpu().tolist())
"""


def test_a_child_of_a_process_that_used_the_device_is_told():
    done = run(FORK.replace("USED", "True"))
    assert "refused rdna devices were used before this process was forked" in done.stdout
    assert "start processes with the method 'spawn'" in done.stdout
    assert "status 0 [1.0, 1.0]" in done.stdout


REFUSED = """
import os, torch, amdgpu.torch
kept, other = torch.ones(4, 4, device="rdna"), torch.ones(4, 4, device="rdna")
generator = torch.Generator("rdna")
if os.fork() == 0:
    for name, attempt in {
        "add": lambda: kept + other, "in place": lambda: kept.add_(other), "product": lambda: kept @ other, "fill": lambda: kept.zero_(),
        "relu": lambda: torch.relu(kept), "read": lambda: kept.cpu(), "random": lambda: kept.normal_(generator=generator),
        "synchronize": lambda: torch.rdna.synchronize(), "stream": lambda: torch.rdna.Stream().synchronize(),
        "event": lambda: torch.rdna.Event().record(),
    }.items():
        try:
            attempt()
            print(name, "was done", flush=True)
        except RuntimeError as error:
            print(name, "refused" if "before this process was forked" in str(error) else error, flush=True)
    print(kept.shape, kept.view(16).shape, flush=True)
    os._exit(0)
_, status = os.wait()
print("status", status, (kept + other).sum().item())
"""


def test_every_use_of_the_device_is_refused_in_such_a_child():
    lines = run(REFUSED).stdout.splitlines()
    assert len(lines) == 12
    assert [line for line in lines[:10] if not line.endswith(" refused")] == []
    assert lines[10] == "torch.Size([4, 4]) torch.Size([16])"
    assert lines[11] == "status 0 32.0"


def test_the_import_opens_no_driver():
    program = "import torch, amdgpu.torch; torch.rdna.set_fallback_mode('silent'); print('imported')"
    environment = {**os.environ, "AMDGPU_TORCH_DEVICE": "", "LD_DEBUG": "files"}
    environment.pop("AMDGPU_TORCH_POISON", None)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=240
    )
    assert "imported" in done.stdout
    loads = [line for line in done.stderr.splitlines() if "dynamically loaded by" in line and "libamdgpu" in line]
    assert loads != []
    # Libraries of torch itself may load the driver.
    assert [line for line in loads if "libcuda.so" in line or "libamdhip64" in line] == []


def test_a_child_may_use_the_device_first():
    done = run(FORK.replace("USED", "False"))
    assert "used [2.0, 2.0, 2.0]" in done.stdout
    assert "status 0 [1.0, 1.0]" in done.stdout


def test_processes_that_are_spawned_have_devices_of_their_own(tmp_path):
    program = tmp_path / "spawned.py"
    program.write_text(
        "import multiprocessing, torch, amdgpu.torch\n"
        "torch.rdna.set_fallback_mode('silent')\n"
        "def work(number, queue):\n"
        "    queue.put((torch.full((2,), float(number)).to('rdna') * 2).tolist())\n"
        "if __name__ == '__main__':\n"
        "    torch.ones(2).to('rdna')\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    queue = context.Queue()\n"
        "    process = context.Process(target=work, args=(3, queue))\n"
        "    process.start(); print(queue.get(timeout=120)); process.join()\n"
    )
    done = run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')", check=False)
    if done.returncode:
        # Children import the program by its path, which runpy does not tell them.
        import subprocess
        import sys

        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout.strip() == "[6.0, 6.0]"
