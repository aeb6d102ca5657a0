"""Every public name is documented and typed."""

import inspect

import amdgpu

MODULES = [
    amdgpu,
    amdgpu.anneal,
    amdgpu.dispatch,
    amdgpu.interchange,
    amdgpu.math,
    amdgpu.ops,
    amdgpu.search,
    amdgpu.telemetry,
    amdgpu.errors,
]


def public_objects():
    for module in MODULES:
        names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
        for name in names:
            value = getattr(module, name)
            if hasattr(value, "__wrapped__"):
                value = inspect.unwrap(value)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield f"{module.__name__}.{name}", value


def test_every_public_function_and_class_has_a_docstring():
    missing = []
    for name, value in public_objects():
        if not inspect.getdoc(value):
            missing.append(name)
        if inspect.isclass(value):
            missing += [
                f"{name}.{member}"
                for member, function in vars(value).items()
                if not member.startswith("_") and callable(function) and not inspect.getdoc(function)
            ]
    assert not missing


def test_every_public_python_function_is_annotated():
    missing = [
        name
        for name, value in public_objects()
        if inspect.isfunction(value) and inspect.signature(value).return_annotation is inspect.Signature.empty
    ]
    assert not missing


def test_the_names_of_the_requirement_documents_exist_with_their_argument_order():
    def parameters(function):
        return list(inspect.signature(function).parameters)

    assert parameters(amdgpu.initialize_device)[:2] == ["device_id", "core_types"]
    assert parameters(amdgpu.AMDGPUDevice)[:2] == ["device_id", "core_types"]
    assert parameters(amdgpu.AMDGPUDevice.compile_kernel)[1:4] == ["source", "core_type", "optimization_level"]
    assert parameters(amdgpu.AMDGPUDevice.execute)[1:3] == ["kernel_handle", "args"]
    assert parameters(amdgpu.matrix_multiply)[:4] == ["a", "b", "device_id", "precision"]
    assert parameters(amdgpu.neural_network_forward)[:3] == ["network_config", "input_data", "device_id"]
    assert parameters(amdgpu.benchmark_operation)[:3] == ["operation", "args", "iterations"]
    assert parameters(amdgpu.get_telemetry)[:2] == ["device", "core_type"]
    result = amdgpu.KernelResult(None, 0.0, 0, {})
    assert [*result.__dataclass_fields__] == ["output", "execution_time", "memory_usage", "performance_metrics"]
    info_fields = [*amdgpu.DeviceInfo.__dataclass_fields__][:5]
    assert info_fields == ["id", "name", "compute_units", "memory_gb", "core_types"]
