"""Matrix products on a device by generated kernels: every shape, stride, dtype and epilogue, and what follows the sums of other kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, elementwise, elementwise_source, source, tiled
from amdgpu.device_ops.operand import Operand

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice
    from amdgpu.device_ops.product import Product


def multiply(device: AMDGPUDevice, product: Product) -> None:
    """Compute a product with one tiled kernel that reads the operands where and as they are."""
    rows, columns, depth = product.extents
    following = _following(product)
    memory = {"a": product.a, "b": product.b, "out": product.result, **following}
    stack, strides = source.coalesce(product.stack, [one.strides[:-2] for one in memory.values()])
    key = (
        *("product", product.sums, product.rounding, product.activation, len(stack)),
        *((name, one.dtype, one.is_dense) for name, one in memory.items()),
        product.a.strides[-1] == 1,
        product.b.strides[-2] == 1,
    )
    arguments: list[Any] = [source.pointer(one) for one in memory.values()]
    for one in memory.values():
        arguments += one.strides[-2:]
    is_float = product.sums in dtypes.FLOATS
    arguments += [float(x) if is_float else int(x) for x in (product.alpha, product.beta)]
    arguments += source.walk_arguments(stack, strides)
    text = _text(product, memory, len(stack))
    hidden = source.hidden(*memory.values())
    extents = (rows, columns, depth)
    tiled.launch(device, key, text, extents, arguments, batch=math.prod(product.stack), memory=hidden)


def _following(product: Product) -> dict[str, Operand]:
    """What is added to the sums, by the names of the kernel; every one with the axes of the result."""
    bias = None if product.bias is None else product.bias.broadcast_to(product.result.shape)
    given = {"bias": bias, "residual": product.residual, "held": product.held}
    return {name: one for name, one in given.items() if one is not None}


def _text(product: Product, memory: dict[str, Operand], rank: int) -> tiled.Tiled:
    wide = "double" if product.sums in dtypes.FLOATS else "long long"
    made = [
        source.pointer_parameter(one, dtypes.C_TYPES[one.dtype], name, is_written=name == "out")
        for name, one in memory.items()
    ]
    strides = "".join(f", long long {name}_row, long long {name}_column" for name in memory)
    parameters = "".join(f", {parameter}" for parameter, _ in made)
    parameters += f"{strides}, {wide} alpha, {wide} beta{source.walk_parameters('s', rank, len(memory))}"
    offsets = [f"{name}_first" for name in memory]
    setup = "".join(statement for _, statement in made)
    setup += "".join(f"    long long {offset} = 0;\n" for offset in offsets)
    setup += source.walk("s", rank, offsets, "batch", "unsigned long long")
    rounded = f"({dtypes.C_TYPES[product.rounding]})(S)" if product.rounding else ""

    def at(name: str, row: str, column: str) -> str:
        return f"{name}[{name}_first + (long long){row} * {name}_row + (long long){column} * {name}_column]"

    steps = ["C sum = (C)alpha * value;"]
    steps += [f"const C old = (C){at('held', 'row', 'column')}; sum = (C)beta * old + sum;"] if "held" in memory else []
    steps += [f"sum = sum + (C){at(name, 'row', 'column')};" for name in ("bias", "residual") if name in memory]
    steps.append(f"{at('out', 'row', 'column')} = (R)activated(sum);")
    head = source.types(S=product.sums, C=product.sums, R=product.result.dtype) + source.functions(product.sums)
    head += elementwise_source.helpers(product.result.dtype) if product.sums in dtypes.FLOATS else ""
    expression = elementwise_source.activation_text(product.activation, product.sums)
    head += f"__device__ inline C activated(C x) {{ const C alpha = {_slope(product)}; return {expression}; }}\n"
    return tiled.Tiled(
        head=head,
        parameters=parameters,
        setup=setup,
        left=f"{rounded}{at('a', 'row', 'inner')}",
        right=f"{rounded}{at('b', 'inner', 'column')}",
        store="\n                ".join(steps),
        is_left_inner=product.a.strides[-1] == 1,
        is_right_inner=product.b.strides[-2] == 1,
    )


def _slope(product: Product) -> str:
    """The parameter of leaky_relu (0.01 as a float32) and of elu."""
    return "(C)0.01f" if product.activation == "leaky_relu" else "(C)1"


def follow(device: AMDGPUDevice, product: Product, sums: Operand) -> None:
    """Write the result from the sums, of the result's shape: what `Product` says follows them."""
    if product.result.size:
        operands, body = _after_sums(product, sums)
        plan = elementwise.plan_of(device, body, operands, product.result, product.sums)
        numbers = [float(product.alpha), *(one.value for one in operands if one.array is None)]
        plan.launch(numbers, [one.array for one in (product.result, *operands) if one.array is not None])


def following_plan(device: AMDGPUDevice, product: Product, sums: Operand) -> elementwise.Plan:
    """The kernel that `follow` launches with alpha, result, sums, bias and residual, for a product that holds nothing of its result."""
    operands, body = _after_sums(product, sums)
    return elementwise.plan_of(device, body, operands, product.result, product.sums)


def _after_sums(product: Product, sums: Operand) -> tuple[tuple[Operand, ...], elementwise_source.Body]:
    """What is combined with the sums, and how."""
    computed = product.sums
    is_float = computed in dtypes.FLOATS
    number = "float64" if is_float else "int64"
    operands, steps = [sums], ["C sum = alpha * x;"]
    names = iter("yzwvu")
    if product.held is not None:
        operands += [product.held, Operand(number, (), (), None, product.beta if is_float else int(product.beta))]
        steps.append(f"sum = {next(names)} * {next(names)} + sum;")
    for one in (product.bias, product.residual):
        if one is not None:
            operands.append(one)
            steps.append(f"sum = sum + {next(names)};")
    expression = elementwise_source.activation_text(product.activation, computed)
    steps.append(f"{{ const C x = sum; const C alpha = {_slope(product)}; return {expression}; }}")
    return tuple(operands), elementwise_source.Body(f"{product.activation} of a product", " ".join(steps))
