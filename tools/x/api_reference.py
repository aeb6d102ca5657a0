"""Builds docs/api.md from the docstrings of the Python package, and counts what has none.

Sources are read with `ast`; nothing is imported. What the native module exports has its signatures in the stub and its
text in Rust, which the caller hands in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HEADING = (
    "# Python API\n\n"
    "Generated from the docstrings by `./x docs`; `./x check` fails when it is stale. "
    "What `import amdgpu` offers is listed first; the modules follow.\n"
)


@dataclass
class Entry:
    """A public module, class, function or method: its dotted name, signature and docstring."""

    name: str
    signature: str
    docstring: str
    members: list[Entry] = field(default_factory=list)

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """This entry and all below it, each with its dotted name."""
        yield prefix + self.name, self
        for member in self.members:
            yield from member.walk(f"{prefix}{self.name}.")


def is_public(name: str) -> bool:
    """Whether people may rely on `name`."""
    return not name.startswith("_")


def read_module(path: Path, dotted_name: str) -> Entry:
    """The public surface of one file."""
    tree = ast.parse(path.read_text(), str(path))
    entry = Entry(dotted_name, "", ast.get_docstring(tree) or "")
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            entry.members.append(_function(node))
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            entry.members.append(_class(node))
    return entry


def read_package(folder: Path, name: str, native_texts: Mapping[str, str] | None = None) -> list[Entry]:
    """The public modules of a package, the package itself first.

    What the package exports from its native module counts as the package's own. `native_texts` holds the docstrings of
    the native module by name (`Array`, `Array.reshape`); where it has none, that of the stub is taken.
    """
    modules = []
    for path in sorted(folder.rglob("*.py"), key=lambda path: (path.name != "__init__.py", str(path))):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if all(is_public(part) for part in parts):
            modules.append(read_module(path, ".".join([name, *parts])))
    modules.sort(key=lambda module: module.name)
    stub = folder / "_native.pyi"
    if modules and stub.exists():
        known = {member.name for module in modules for member in module.members}
        known |= {module.name.rpartition(".")[2] for module in modules}
        wanted = set(exported_names(folder / "__init__.py")) - known
        for entry in read_module(stub, name).members:
            if entry.name in wanted:
                for dotted_name, part in entry.walk():
                    part.docstring = (native_texts or {}).get(dotted_name) or part.docstring
                modules[0].members.append(entry)
    return modules


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Entry:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    signature = f"{prefix} {node.name}({ast.unparse(node.args)}){result}"
    if "property" in decorators:
        signature = f"{node.name}{f': {ast.unparse(node.returns)}' if node.returns else ''}"
    return Entry(node.name, signature, ast.get_docstring(node) or "")


def _class(node: ast.ClassDef) -> Entry:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    entry = Entry(
        node.name, f"class {node.name}({bases})" if bases else f"class {node.name}", ast.get_docstring(node) or ""
    )
    for member in node.body:
        if (
            isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))
            and is_public(member.name)
            and not _repeats(member)
        ):
            entry.members.append(_function(member))
    return entry


def _repeats(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Setters and overloads document what stands elsewhere."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any(text.endswith((".setter", "overload")) for text in decorators)


def exported_names(init_file: Path) -> list[str]:
    """`__all__` of the package, as it stands in the source."""
    for node in ast.parse(init_file.read_text()).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named_all = any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)
            if named_all and isinstance(node.value, (ast.List, ast.Tuple)):
                return [
                    element.value
                    for element in node.value.elts
                    if isinstance(element, ast.Constant) and isinstance(element.value, str)
                ]
    return []


def render(modules: list[Entry], exported: list[str]) -> str:
    """The page."""
    lines = [HEADING]
    homes = {member.name: module for module in modules for member in module.members}
    for module in modules:
        is_top = module is modules[0]
        if not module.members and not is_top:
            continue
        lines += [f"## {module.name}\n", module.docstring + "\n"]
        if is_top and exported:
            lines += [_link(name, homes.get(name)) for name in exported] + [""]
        for member in module.members:
            lines += _render_entry(member, f"{module.name}.", 3)
    return "\n".join(lines).rstrip() + "\n"


def _link(name: str, home: Entry | None) -> str:
    return f"- [`{name}`](#{anchor(f'{home.name}.{name}')})" if home else f"- `{name}`"


def anchor(heading: str) -> str:
    """The link target that Markdown renderers give to a heading."""
    return "".join(character for character in heading.lower() if character.isalnum() or character in "-_")


def _render_entry(entry: Entry, prefix: str, level: int) -> list[str]:
    lines = [f"{'#' * level} {prefix}{entry.name}\n", f"```python\n{entry.signature}\n```\n"]
    if entry.docstring:
        lines.append(entry.docstring + "\n")
    for member in entry.members:
        lines += _render_entry(member, f"{entry.name}.", level + 1)
    return lines


def coverage(modules: list[Entry]) -> tuple[int, int, list[str]]:
    """How many public names have a docstring, how many there are, and which lack one."""
    every = [pair for module in modules for pair in module.walk()]
    bare = [dotted_name for dotted_name, entry in every if not entry.docstring]
    return len(every) - len(bare), len(every), bare
