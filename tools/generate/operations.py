"""ops.toml: reads and checks it. What follows from it is written by `emit_operations`."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import tables

CLASSES = ("float", "number", "numeric", "signed", "bits", "integer", "rounding", "predicate", "float_predicate")
COMPLEX_RESULTS = ("complex", "real", "bool")
RESULTS = ("summed", "float", "same", "bool", "int64")
# Names that scalar formulas may use beside the inputs and parameters.
FUNCTIONS = frozenset(
    [
        "abs",
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "floor_divide",
        "fmod",
        "hypot",
        "isfinite",
        "isinf",
        "isnan",
        "log",
        "log10",
        "log1p",
        "log2",
        "maximum",
        "minimum",
        "nextafter",
        "pi",
        "power",
        "remainder",
        "rint",
        "sigmoid",
        "sign",
        "signbit",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "where",
    ]
)
ELEMENTWISE_KEYS = frozenset(
    [
        "name",
        "number",
        "meaning",
        "inputs",
        "dtypes",
        "hip",
        "hip_float",
        "hip_integer",
        "oracle",
        "derivative",
        "gradient_of",
        "slope",
        "ulps",
        "absolute_ulps",
        "float32_tail",
        "alpha",
        "cost",
        "call",
    ]
)
COMPLEX_KEYS = frozenset(
    ["name", "number", "meaning", "inputs", "result", "is_wide", "pairwise", "hip", "ulps", "cost", "call"]
)
REDUCTION_KEYS = frozenset(["name", "meaning", "variant", "number", "as", "result"])
ACTIVATION_KEYS = frozenset(
    ["name", "meaning", "number", "operation", "parameters", "oracle", "follows_matmul", "is_archived"]
)
Row = dict[str, Any]


class Operations:
    """The tables of ops.toml, with what one row says for another one filled in.

    Attributes:
        elementwise: By number.
        complex: Elementwise operations of complex numbers, by number.
        reductions: In the order in which messages list them.
        activations: Those with a number first, by number.
    """

    def __init__(self, path: Path) -> None:
        self.file = path.name
        self.elementwise = tables.load(path, "elementwise")
        self.complex = tables.load(path, "complex")
        self.reductions = tables.load(path, "reduction")
        self.activations = tables.load(path, "activation")
        for rows, known in (
            (self.elementwise, ELEMENTWISE_KEYS),
            (self.complex, COMPLEX_KEYS),
            (self.reductions, REDUCTION_KEYS),
            (self.activations, ACTIVATION_KEYS),
        ):
            names = [row["name"] for row in rows]
            if len(set(names)) != len(names):
                raise self._wrong("a table", f"a name stands twice among {', '.join(names)}")
            for row in rows:
                if not known.issuperset(row):
                    raise self._wrong(row["name"], f"unknown keys {', '.join(sorted(set(row) - known))}")
        self._by_name = {row["name"]: row for row in self.elementwise}
        for place, row in enumerate(self.elementwise):
            self._check_elementwise(place, row)
        for place, row in enumerate(self.complex):
            self._check_complex(place, row)
        self._check_reductions()
        self._check_activations()

    def _wrong(self, name: str, what: str) -> SystemExit:
        return SystemExit(f"{self.file}: {name}: {what}")

    def _check_elementwise(self, place: int, row: Row) -> None:
        name = row["name"]
        if row["number"] != place:
            raise self._wrong(
                name, f"numbers count from 0 in the order of the table; this row has {row['number']}, not {place}"
            )
        if row["dtypes"] not in CLASSES:
            raise self._wrong(name, f"dtypes is {row['dtypes']!r}; known are {', '.join(CLASSES)}")
        if "hip" in row and ("hip_float" in row or "hip_integer" in row):
            raise self._wrong(name, "hip is for every type; beside it there is no other formula")
        if "gradient_of" in row:
            self._complete_gradient(row)
        if ("ulps" in row) + ("absolute_ulps" in row) + self.is_exact(row) != 1:
            raise self._wrong(name, "one of ulps and absolute_ulps stands with what is rounded, and only there")
        derivative = row.get("derivative", [])
        if derivative and len(derivative) != len(row["inputs"]):
            raise self._wrong(name, f"{len(derivative)} derivatives of {len(row['inputs'])} inputs")
        parameters = ["alpha"] if "alpha" in row else []
        for formula in (row["oracle"], *derivative):
            self._check_formula(name, formula, [*row["inputs"], *parameters])

    def _check_complex(self, place: int, row: Row) -> None:
        name, real = row["name"], self._by_name.get(row["name"])
        if row["number"] != place:
            raise self._wrong(name, f"numbers count from 0 in the order of the table; {row['number']} is not {place}")
        if row["result"] not in COMPLEX_RESULTS:
            raise self._wrong(name, f"result is {row['result']!r}; known are {', '.join(COMPLEX_RESULTS)}")
        if real is not None and real["inputs"] != row["inputs"]:
            raise self._wrong(name, "inputs differ from those of real numbers")
        if ("ulps" in row) == (row["result"] == "bool"):
            raise self._wrong(name, "ulps stands with numbers, and only there")
        if "pairwise" in row and row["pairwise"] not in self._by_name:
            raise self._wrong(name, f"no elementwise operation is called {row['pairwise']!r}")

    def _complete_gradient(self, row: Row) -> None:
        activation = self._by_name.get(row["gradient_of"])
        if activation is None or "oracle" in row or "derivative" in row:
            raise self._wrong(row["name"], "a gradient names an activation of the table and has no oracle of its own")
        if "alpha" in activation:
            row["alpha"] = activation["alpha"]
        slope = row.get("slope", activation["derivative"][0])
        row["oracle"] = f"gradient * ({slope})"

    def _check_formula(self, name: str, formula: str, known: list[str]) -> None:
        if not formula:
            return
        found = {node.id for node in ast.walk(ast.parse(formula, mode="eval")) if isinstance(node, ast.Name)}
        unknown = found - FUNCTIONS - set(known)
        if unknown:
            raise self._wrong(name, f"{formula!r} has unknown names: {', '.join(sorted(unknown))}")

    def _check_reductions(self) -> None:
        counted = [row["number"] for row in self.reductions if "number" in row]
        if counted != list(range(len(counted))):
            raise self._wrong("reductions", "numbers count from 0 in the order of the table")
        variants = {row["variant"]: row for row in self.reductions}
        for row in self.reductions:
            if row["result"] not in RESULTS:
                raise self._wrong(row["name"], f"result is {row['result']!r}; known are {', '.join(RESULTS)}")
            if "number" not in row:
                row["number"] = variants[row["as"]]["number"]

    def _check_activations(self) -> None:
        counted = [row["number"] for row in self.activations if "number" in row]
        if counted != list(range(len(counted))):
            raise self._wrong("activations", "numbers count from 0 in the order of the table")
        for row in self.activations:
            operation = self._by_name.get(row.get("operation", ""))
            if "operation" in row and (operation is None or "oracle" in row or "parameters" in row):
                raise self._wrong(row["name"], "an operation of the table says oracle and parameters")
            if row.get("follows_matmul") and operation is None:
                raise self._wrong(row["name"], "what follows a matrix multiplication is an elementwise operation")
            if operation is not None:
                row["oracle"] = operation["oracle"]
                row["parameters"] = {"alpha": operation["alpha"]} if "alpha" in operation else {}
            row.setdefault("parameters", {})
            if "oracle" in row:
                self._check_formula(row["name"], row["oracle"], ["x", *row["parameters"]])

    def is_predicate(self, row: Row) -> bool:
        """Whether results are truth values."""
        return row["dtypes"] in ("predicate", "float_predicate")

    def is_exact(self, row: Row) -> bool:
        """Whether nothing is rounded whatever the implementation: truth values and bits."""
        return self.is_predicate(row) or row["dtypes"] in ("bits", "integer")
