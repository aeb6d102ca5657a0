"""The facts of dtypes.toml and ops.toml: NumPy agrees, formulas agree with each other, and every operation has its function."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import ops
from amdgpu._generated import dtypes
from amdgpu._generated.operations import ACTIVATIONS, ELEMENTWISE, REDUCTIONS
from formulas import FUNCTIONS, evaluate, oracle, wide

ROOT = Path(__file__).resolve().parents[2]
# Away from where functions bend or jump, and of both signs.
POINTS = (-2.31, -0.62, 0.37, 1.43)
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def test_promotion_is_that_of_numpy():
    for (a, b), both in dtypes.PROMOTED.items():
        assert dtypes.PROMOTED[b, a] == both
        if "bfloat16" not in (a, b):
            assert np.promote_types(a, b).name == both
    assert dtypes.PROMOTED["bfloat16", "float16"] == "float32"


def test_sizes_and_codes_are_those_of_numpy():
    kinds = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
    for row in dtypes.DTYPES.values():
        known = np.dtype(ml_dtypes.bfloat16 if row.name == "bfloat16" else row.name)
        assert known.itemsize == row.bytes
        assert kinds.get(known.kind, 4) == row.code
        assert amdgpu.zeros(1, row.name).dtype == known


@pytest.mark.parametrize("name", [name for name, row in ELEMENTWISE.items() if row.derivative])
def test_derivatives_are_those_of_the_oracle(name):
    row = ELEMENTWISE[name]
    step = np.longdouble(1e-4)
    grids = np.meshgrid(*[np.array(POINTS) + 0.011 * place for place in range(len(row.inputs))])
    values = {key: wide(grid.ravel()) for key, grid in zip(row.inputs, grids, strict=True)}
    alpha = {} if row.alpha is None else {"alpha": row.alpha}
    if name == "where":
        values["condition"] = values["condition"] > 0

    def moved(key, by):
        return evaluate(row.oracle, **{**values, key: values[key] + by}, **alpha)

    checked = 0
    for key, formula in zip(row.inputs, row.derivative, strict=True):
        if not formula:
            continue
        expected = (8 * (moved(key, step) - moved(key, -step)) - (moved(key, 2 * step) - moved(key, -2 * step))) / (
            12 * step
        )
        found = evaluate(formula, **values, **alpha) + 0 * expected
        known = np.isfinite(expected)
        assert known.any(), key
        np.testing.assert_allclose(found[known], expected[known], rtol=1e-9, atol=1e-9, err_msg=key)
        checked += 1
    assert checked


def arguments_of(row, dtype, rng):
    """Arrays for the inputs of an operation."""
    if row.dtypes in ("bits", "integer"):
        return {key: rng.integers(-100, 100, 500).astype(np.int32) for key in row.inputs}
    given = {key: (rng.standard_normal(500) * 3).astype(dtype) for key in row.inputs}
    for place, key in enumerate(row.inputs):
        given[key][:100] = given[row.inputs[0]][:100] if place else np.round(given[key][:100])
    if "condition" in given:
        given["condition"] = given["condition"] > 0
    if "y" in given:
        given["y"] = getattr(ops, row.gradient_of)(given["y"])
    if row.name == "power":
        given["a"] = np.abs(given["a"])
    return given


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [name for name, row in ELEMENTWISE.items() if row.call])
def test_every_operation_is_its_formula_within_its_bound(name, dtype, rng):
    row = ELEMENTWISE[name]
    given = arguments_of(row, dtype, rng)
    called = eval(row.call, {name: getattr(ops, name) for name in ops.__all__}, given)
    # Neighbours are those of the dtype, not of a wider one.
    is_exact = (row.ulps is None and row.absolute_ulps is None) or name == "nextafter"
    values = given if is_exact else {key: one if one.dtype == bool else wide(one) for key, one in given.items()}
    expected = oracle(row, np.dtype(dtype), **values)
    if is_exact:
        np.testing.assert_array_equal(called, expected)
        return
    result, epsilon = wide(called), EPSILON[dtype]
    known = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(result), known)
    result, expected = result[known], expected[known]
    if row.absolute_ulps is not None:
        scale = np.abs(wide(given["gradient"]))[known] if row.gradient_of else 1
        assert (np.abs(result - expected) <= row.absolute_ulps * epsilon * scale).all()
        return
    unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(expected), 1e-300)))) * epsilon
    bound = row.ulps * unit
    if row.float32_tail and dtype == "float32":
        tail = given["x"][known] < -1
        bound = np.where(tail, row.float32_tail * np.abs(expected), bound)
    slack = 2 * unit if "erf" in row.oracle and dtype == "float64" else 0
    assert (np.abs(result - expected) <= bound + slack).all(), (np.abs(result - expected) / unit).max()


@pytest.mark.parametrize("name", [name for name, row in ELEMENTWISE.items() if row.call])
def test_functions_take_the_inputs_of_the_table(name):
    row = ELEMENTWISE[name]
    function = getattr(ops, re.match(r"\w+", row.call)[0])
    parameters = inspect.signature(function).parameters
    positional = [key for key, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == list(row.inputs)
    assert (parameters["alpha"].default if "alpha" in parameters else None) == row.alpha


def test_reductions_have_their_functions_and_those_of_numpy():
    x = np.array([[3, 1], [2, 5]], np.int16)
    for name, row in REDUCTIONS.items():
        result = getattr(ops, name)(x)
        np.testing.assert_allclose(result, getattr(np, name)(x))
        wanted = {
            "summed": dtypes.DTYPES["int16"].summed_in,
            "float": dtypes.DTYPES["int16"].as_float,
            "same": "int16",
        }.get(row.result, row.result)
        assert np.asarray(result).dtype.name == wanted


def test_activations_are_taken_by_networks_and_matrix_multiplication():
    for name, row in ACTIVATIONS.items():
        text = f"layer a(3)\nlayer b(2, activation: {name})\nconnect a -> b\n"
        amdgpu.Network(text, device="cpu:0")
        if row.follows_matmul:
            amdgpu.matrix_multiply(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), activation=name)
        else:
            with pytest.raises(amdgpu.AmdgpuError):
                amdgpu.matrix_multiply(np.eye(2), np.eye(2), activation=name)


def names_in(path, pattern):
    """What a pattern finds in a file that is no table."""
    found = re.search(pattern, (ROOT / path).read_text(), re.DOTALL)
    assert found is not None, path
    return re.findall(r"\b\w+\b", re.sub(r"//[^\n]*|pub fn.*", "", found[1], flags=re.DOTALL))


def test_sources_of_gpu_kernels_have_the_formats_and_activations_of_the_tables():
    # Their text decides whether archives are built anew, so they are not generated.
    variant = "zig/src/kernels/variant.zig"
    assert sorted(names_in(variant, r"pub const Number = enum \{(.*?)\n\};")) == sorted(dtypes.FORMATS)
    archived = [name for name, row in ACTIVATIONS.items() if row.is_archived]
    assert names_in(variant, r"pub const Activation = enum \{(.*?)\};") == ["none", *archived]


def test_the_generator_knows_the_functions_of_formulas():
    listed = re.search(
        r"FUNCTIONS = frozenset\((.*?)\n\)", (ROOT / "tools/generate/operations.py").read_text(), re.DOTALL
    )
    assert set(re.findall(r'"(\w+)"', listed[1])) == set(FUNCTIONS)


def test_pages_that_people_write_name_what_the_tables_have():
    following = [name for name, row in ACTIVATIONS.items() if row.follows_matmul]
    header = (ROOT / "crates/amdgpu-capi/include/amdgpu/ops.h").read_text()
    listed = {key: re.search(rf"\*{key}; +/\* ([^*]*) \*/", header)[1] for key in ("activation", "precision")}
    assert re.findall(r"[a-z_]+", listed["activation"]) == following
    assert re.findall(r"[a-z]+\d+", listed["precision"].split(";")[0]) == list(dtypes.PRECISIONS)
    described = inspect.getdoc(amdgpu.matrix_multiply)
    for name in (*following, *dtypes.PRECISIONS):
        assert re.search(rf"\b{name}\b", described), name
    language = (ROOT / "docs/network_language.md").read_text()
    table = language[language.index("| activation | value | parameters |") :].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)[^|]*\|[^|]*\|([^|]*)\|$", table, re.MULTILINE)
    assert [name for name, _ in rows] == list(ACTIVATIONS)
    for name, parameters in rows:
        defaults = {key: float(number) for key, number in re.findall(r"(\w+) (\d[\d.]*)", parameters)}
        assert defaults == ACTIVATIONS[name].parameters, name
