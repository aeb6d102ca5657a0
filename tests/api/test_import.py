"""What `import amdgpu` does, and what it must not do."""

import json

GPU_LIBRARIES = (
    "libamdhip64",
    "libcuda.so",
    "libnvidia-ml",
    "librocm",
    "libjulia",
    "libLLVM",
    "libllvmlite",
    "libagpu_",
)


def test_import_opens_no_gpu_library_and_starts_no_thread(run_python):
    done = run_python(
        "import amdgpu, json, os\n"
        "maps = open('/proc/self/maps').read()\n"
        "print(json.dumps({'threads': len(os.listdir('/proc/self/task')),"
        f" 'opened': [name for name in {GPU_LIBRARIES!r} if name in maps]}}))"
    )
    assert json.loads(done.stdout) == {"threads": 1, "opened": []}


def test_import_loads_neither_numpy_nor_llvm_nor_asyncio(run_python):
    done = run_python(
        "import sys, amdgpu\nprint([m for m in ('numpy', 'llvmlite', 'asyncio', 'rich') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]"


def test_parts_that_few_programs_use_are_loaded_when_they_are_named(run_python):
    done = run_python(
        "import sys, amdgpu\n"
        "late = ('anneal', 'interchange', 'search')\n"
        "print([name for name in late if f'amdgpu.{name}' in sys.modules])\n"
        "print('search' in dir(amdgpu), amdgpu.search.__name__, amdgpu.anneal.__name__, amdgpu.interchange.__name__)\n"
        "print(hasattr(amdgpu, 'no_such_part'))\n"
    )
    assert done.stdout.splitlines() == ["[]", "True amdgpu.search amdgpu.anneal amdgpu.interchange", "False"]


def test_listing_devices_starts_no_thread(run_python):
    done = run_python("import amdgpu, os\namdgpu.list_devices()\nprint(len(os.listdir('/proc/self/task')))")
    assert done.stdout.strip() == "1"


def test_version_is_that_of_the_workspace():
    import re
    from pathlib import Path

    import amdgpu

    manifest = (Path(__file__).parents[2] / "Cargo.toml").read_text()
    assert amdgpu.__version__ == re.search(r'^version = "(.+)"$', manifest, re.MULTILINE).group(1)
