"""dtypes.toml: reads and checks it, and writes what follows from it in each language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tables

NOTE = "Generated from dtypes.toml by ./x generate. Do not edit."
COMPUTED = ("hip_c", "computed_in", "summed_in", "as_float", "widens_to")
Rows = list[dict[str, Any]]


class Dtypes:
    """The tables of dtypes.toml.

    Attributes:
        codes: Kinds of numbers by name.
        dtypes: What arrays may hold.
        computed: Those that operations compute.
        formats: How matrix units read their operands.
        precisions: What `matrix_multiply` takes.
    """

    def __init__(self, path: Path) -> None:
        self.codes = {row["name"]: row["value"] for row in tables.load(path, "code")}
        self.dtypes = tables.load(path, "dtype")
        self.computed = [row for row in self.dtypes if "hip_c" in row]
        self.formats = tables.load(path, "format")
        self.precisions = tables.load(path, "precision")
        self._by_name = {row["name"]: row for row in self.dtypes}
        self._check(path.name)

    def _check(self, file: str) -> None:
        for rows in (self.dtypes, self.formats, self.precisions):
            names = [row["name"] for row in rows]
            if len(set(names)) != len(names):
                raise SystemExit(f"{file}: a name stands twice among {', '.join(names)}")
        self._check_dtypes(file)
        formats = {row["name"] for row in self.formats}
        computed = {row["name"] for row in self.computed}
        for row in self.formats:
            if row["dtype"] not in computed or not formats.issuperset((row["output"], row["sums"])):
                raise SystemExit(f"{file}: format {row['name']} names a dtype or format that is not in the table")
        for row in self.precisions:
            if row["format"] not in formats:
                raise SystemExit(f"{file}: precision {row['name']}: unknown format {row['format']}")

    def _check_dtypes(self, file: str) -> None:
        computed = {row["name"] for row in self.computed}
        for row in self.dtypes:
            if row["code"] not in self.codes:
                raise SystemExit(f"{file}: {row['name']}: unknown code {row['code']}")
            present = [key for key in COMPUTED if key in row]
            if present and len(present) != len(COMPUTED):
                raise SystemExit(
                    f"{file}: {row['name']} has {', '.join(present)} of {', '.join(COMPUTED)}: all or none"
                )
            others = [row[key] for key in COMPUTED[1:-1] if key in row] + row.get("widens_to", [])
            if not computed.issuperset(others):
                raise SystemExit(f"{file}: {row['name']} names a dtype that is not computed: {', '.join(others)}")

    def constant(self, name: str) -> str:
        """The Rust constant of a dtype."""
        return f"Dtype::{self._by_name[name]['constant']}"

    def _reached(self, name: str) -> set[str]:
        """A dtype and all that hold its values."""
        found, waiting = set(), [name]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self._by_name[one]["widens_to"]
        return found

    def promoted(self, a: str, b: str) -> str:
        """The first dtype that both reach."""
        both = self._reached(a) & self._reached(b)
        found: str | None = next((row["name"] for row in self.computed if row["name"] in both), None)
        if found is None:
            raise SystemExit(f"dtypes.toml: {a} and {b} widen to no common dtype")
        return found

    def is_float(self, row: dict[str, Any]) -> bool:
        return row["code"] in ("float", "bfloat")


def emit_c(table: Dtypes) -> list[str]:
    """Lines of agpu_tables.h."""
    lines = ["/* Values of DLPack's DLDataTypeCode. */"]
    return lines + [f"#define AGPU_DTYPE_{name.upper()} {value}" for name, value in table.codes.items()] + [""]


def emit_rust(table: Dtypes) -> str:
    """The file that `amdgpu_abi::dtypes` includes."""
    out = [
        f"// {NOTE}\n\nuse serde::{{Deserialize, Serialize}};\n\nuse super::{{DtypeRow, FormatRow, PrecisionRow}};\nuse crate::layout::{{"
    ]
    out.append(", ".join(f"DTYPE_{name.upper()}" for name in table.codes) + ", Dtype};\n\nimpl Dtype {\n")
    for row in table.dtypes:
        out.append(f"    pub const {row['constant']}: Self = Self::new(DTYPE_{row['code'].upper()}, {row['bits']});\n")
    out.append(f"}}\n\n/// Rows of `dtypes.toml`.\npub const DTYPES: [DtypeRow; {len(table.dtypes)}] = [\n")
    for row in table.dtypes:
        own = row["name"]
        out.append(f"    DtypeRow {{ dtype: {table.constant(own)}, name: {json.dumps(own)}, ")
        out.append(f"hip_c: {json.dumps(row.get('hip_c', ''))}, ")
        facts = (f"{key}: {table.constant(row.get(key, own))}" for key in ("computed_in", "summed_in", "as_float"))
        out.append(", ".join(facts) + " },\n")
    count = len(table.computed)
    out.append(
        "];\n\n/// Element types of the tensor operations, in the order in which messages list them.\n"
        f"pub const TENSOR_DTYPES: [Dtype; {count}] = [\n"
    )
    out += [f"    {table.constant(row['name'])},\n" for row in table.computed]
    out.append(
        "];\n\n/// Place of a dtype in `DTYPES`; in `TENSOR_DTYPES` the same.\n#[must_use]\n"
        "pub const fn position(dtype: Dtype) -> Option<usize> {\n"
        "    if dtype.lanes != 1 {\n        return None;\n    }\n    match (dtype.code, dtype.bits) {\n"
    )
    out += [
        f"        (DTYPE_{row['code'].upper()}, {row['bits']}) => Some({index}),\n"
        for index, row in enumerate(table.dtypes)
    ]
    out.append(
        "        _ => None,\n    }\n}\n\n/// The dtype in which two meet, by their places in `TENSOR_DTYPES`.\n"
        f"pub const PROMOTED: [[Dtype; {count}]; {count}] = [\n"
    )
    for a in table.computed:
        pairs = ", ".join(table.constant(table.promoted(a["name"], b["name"])) for b in table.computed)
        out.append(f"    [{pairs}],\n")
    out.append("];\n")
    out.append(_rust_enum("Format", "How a matrix unit reads its operands.", table.formats))
    out.append(f"/// By `Format`.\npub const FORMATS: [FormatRow; {len(table.formats)}] = [\n")
    for row in table.formats:
        error = row.get("product_error")
        error = "None" if error is None else f"Some({_float(error)})"
        out.append(
            f"    FormatRow {{ name: {json.dumps(row['name'])}, dtype: {table.constant(row['dtype'])}, "
            f"output: Format::{tables.camel(row['output'])}, sums: Format::{tables.camel(row['sums'])}, "
            f"product_error: {error} }},\n"
        )
    out.append("];\n")
    out.append(_rust_enum("Precision", "What a matrix multiplication computes in.", table.precisions))
    out.append(f"/// By `Precision`.\npub const PRECISIONS: [PrecisionRow; {len(table.precisions)}] = [\n")
    out += [
        f"    PrecisionRow {{ name: {json.dumps(row['name'])}, format: Format::{tables.camel(row['format'])} }},\n"
        for row in table.precisions
    ]
    out.append("];\n")
    return "".join(out)


def _float(value: float) -> str:
    return repr(float(value))


def _rust_enum(name: str, meaning: str, rows: Rows) -> str:
    variants = "".join(
        f"    /// {row['meaning']}\n    {tables.camel(row['name'])},\n"
        if "meaning" in row
        else f"    {tables.camel(row['name'])},\n"
        for row in rows
    )
    every = "".join(f"        Self::{tables.camel(row['name'])},\n" for row in rows)
    return (
        f"\n/// {meaning}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]\n"
        f'#[serde(rename_all = "lowercase")]\npub enum {name} {{\n{variants}}}\n\n'
        f"impl {name} {{\n    /// Every one, in the order of the table.\n    pub const ALL: [Self; {len(rows)}] = [\n{every}    ];\n}}\n\n"
    )


def emit_python(table: Dtypes) -> str:
    """python/amdgpu/_generated/dtypes.py."""
    out = [
        (
            f'"""Element types, number formats of matrix units, precisions. {NOTE}"""\n\nfrom __future__ import annotations\n\n'
            "from typing import NamedTuple\n\n\n"
            "class Dtype(NamedTuple):\n"
            '    """An element type.\n\n'
            "    Attributes:\n"
            "        name: NumPy's name; bfloat16 is that of `ml_dtypes`.\n"
            "        code: DLPack's type code.\n"
            "        bits: Bits of an element.\n"
            "        hip_c: Type in the text of kernels; None where operations do not compute the dtype.\n"
            "        computed_in: Dtype of intermediate values.\n"
            "        summed_in: Dtype of sums over axes.\n"
            "        as_float: Dtype in which functions of real numbers take it.\n"
            '    """\n\n'
            "    name: str\n    code: int\n    bits: int\n    hip_c: str | None = None\n"
            '    computed_in: str = ""\n    summed_in: str = ""\n    as_float: str = ""\n\n'
            "    @property\n    def bytes(self) -> int:\n"
            '        """Bytes of an element."""\n        return self.bits // 8\n\n\n'
            "class Format(NamedTuple):\n"
            '    """How a matrix unit reads its operands: dtype in memory, formats of results and sums, error of a product."""\n\n'
            "    name: str\n    dtype: str\n    output: str\n    sums: str\n    product_error: float | None\n\n"
            "    @property\n    def bytes(self) -> int:\n"
            '        """Bytes of a number in memory."""\n        return DTYPES[self.dtype].bytes\n\n\n'
            "class Precision(NamedTuple):\n"
            '    """What `matrix_multiply` takes: the format of operands, the error between two devices."""\n\n'
            "    name: str\n    format: str\n    call_error: float\n\n\n"
            "DTYPES: dict[str, Dtype] = {\n    row.name: row\n    for row in (\n"
        )
    ]
    for row in table.dtypes:
        fields = [row["name"], table.codes[row["code"]], row["bits"]]
        fields += [row[key] for key in COMPUTED[:-1] if key in row]
        out.append(f"        Dtype({', '.join(json.dumps(field) for field in fields)}),\n")
    out.append("    )\n}\n# Those that operations compute.\nCOMPUTED: tuple[str, ...] = (\n")
    out += [f"    {json.dumps(row['name'])},\n" for row in table.computed]
    out.append(")\nFLOATS: tuple[str, ...] = (\n")
    out += [f"    {json.dumps(row['name'])},\n" for row in table.computed if table.is_float(row)]
    out.append(")\n# Computed in a wider type, and all that float32 holds.\nNARROW_FLOATS: tuple[str, ...] = (\n")
    out += [
        f"    {json.dumps(row['name'])},\n"
        for row in table.computed
        if row["computed_in"] != row["name"] and table.is_float(row)
    ]
    out.append(")\nFLOATS_OF_FLOAT32: tuple[str, ...] = (\n")
    out += [
        f"    {json.dumps(row['name'])},\n"
        for row in table.computed
        if table.is_float(row) and row["computed_in"] == "float32"
    ]
    out.append(")\n# The dtype in which two meet, as in NumPy.\nPROMOTED: dict[tuple[str, str], str] = {\n")
    out += [
        f"    ({json.dumps(a['name'])}, {json.dumps(b['name'])}): {json.dumps(table.promoted(a['name'], b['name']))},\n"
        for a in table.computed
        for b in table.computed
    ]
    out.append("}\nFORMATS: dict[str, Format] = {\n    row.name: row\n    for row in (\n")
    for row in table.formats:
        names = ", ".join(json.dumps(row[key]) for key in ("name", "dtype", "output", "sums"))
        out.append(f"        Format({names}, {row.get('product_error')}),\n")
    out.append("    )\n}\nPRECISIONS: dict[str, Precision] = {\n    row.name: row\n    for row in (\n")
    for row in table.precisions:
        out.append(f"        Precision({json.dumps(row['name'])}, {json.dumps(row['format'])}, {row['call_error']}),\n")
    out.append("    )\n}\n")
    return "".join(out)


def emit_typescript(table: Dtypes) -> str:
    """js/sdk/src/generated/dtypes.ts."""
    dtypes = "".join(f'\n  | "{row["name"]}"' for row in table.computed)
    precisions = " | ".join(f'"{row["name"]}"' for row in table.precisions)
    return (
        f"// {NOTE}\n\n/** NumPy's names of what the server takes. */\nexport type Dtype ={dtypes};\n\n"
        f"/** What a matrix product computes in. */\nexport type Precision = {precisions};\n"
    )


def emit_docs(table: Dtypes) -> str:
    """docs/dtypes.md."""
    out = [
        (
            "<!-- Generated by ./x generate. Do not edit. -->\n# Element types and precisions\n\n"
            "## Element types\n\nWhat arrays may hold. Intermediate values are of the type in the column *computed in*, "
            "and a result that is narrower is rounded once. Sums over axes of integers have the type in the column "
            "*summed in*. Functions of real numbers, such as `exp`, take their argument in the type of the last column. "
            "Operations refuse what has no entry there.\n\n"
            "| name | bytes | DLPack code, bits | in kernels | computed in | summed in | as a real number |\n"
            "| --- | --- | --- | --- | --- | --- | --- |\n"
        )
    ]
    for row in table.dtypes:
        code = f"{table.codes[row['code']]} ({row['code']}), {row['bits']}"
        facts = " | ".join(f"`{row[key]}`" if key in row else "" for key in COMPUTED[:-1])
        out.append(f"| `{row['name']}` | {row['bits'] // 8} | {code} | {facts} |\n")
    out.append(
        "\n## Promotion\n\nThe element type in which two operands meet, as NumPy promotes arrays. A Python number takes the type of the "
        "arrays beside it.\n\n| |"
    )
    out += [f" {row['name']} |" for row in table.computed]
    out.append("\n|" + " --- |" * (len(table.computed) + 1) + "\n")
    for a in table.computed:
        out.append(f"| **{a['name']}** |")
        out += [f" {table.promoted(a['name'], b['name'])} |" for b in table.computed]
        out.append("\n")
    out.append(
        "\n## Precisions of matrix multiplication\n\n`matrix_multiply(..., precision=)` names one. Errors are bounds relative to the sum "
        "of absolute products of an element, for sums of a few thousand products; 0 is exact.\n\n"
        "| precision | operands | sums | result | error | meaning |\n| --- | --- | --- | --- | --- | --- |\n"
    )
    formats = {row["name"]: row for row in table.formats}
    for row in table.precisions:
        own = formats[row["format"]]
        sums, output = formats[own["sums"]]["dtype"], formats[own["output"]]["dtype"]
        out.append(
            f"| `{row['name']}` | {own['dtype']} | {sums} | {output} | {own['product_error']:g} | {row['meaning']} |\n"
        )
    out.append(
        "\n## Number formats\n\nNames of archived kernels, tuning databases and telemetry spell formats so. "
        "Errors are those of a kernel.\n\n"
        "| format | in memory | result | sums | error of a product |\n| --- | --- | --- | --- | --- |\n"
    )
    for row in table.formats:
        error = f"{row['product_error']:g}" if "product_error" in row else ""
        out.append(f"| `{row['name']}` | {row['dtype']} | {row['output']} | {row['sums']} | {error} |\n")
    return "".join(out)
