/**
 * Floating-point operations and bytes of global memory of one work-item, counted in the compiler's own IR.
 *
 * The count is exact for code without loops whose branches are taken; a loop that is left is counted once, and then the numbers are a lower
 * bound, which `hasLoop` says.
 */

export interface StaticCount {
  readonly operations: number;
  readonly bytes: number;
  readonly hasLoop: boolean;
}

/** Before this pass a line of IR is what one work-item does. */
const LAST_SCALAR_PASS = "work-item-vectorization";
const FLOAT_OPERATIONS = new Set([
  "add_float",
  "subtract_float",
  "multiply_float",
  "divide_float",
  "remainder_float",
  "negate_float",
]);
const SKIPPED_INTRINSICS = new Set(["barrier", "assume"]);

/** The IR to count in, of the dumps before and after each pass. */
export function scalarIr(
  passes: readonly { readonly name: string; readonly before: string; readonly after: string }[],
): string {
  const vectorization = passes.find((pass) => pass.name.includes(LAST_SCALAR_PASS));
  return vectorization?.before || passes.at(-1)?.after || "";
}

/** Counts the kernel `name` in the text of a module's IR. */
export function countIr(ir: string, name: string): StaticCount | null {
  const lines = kernelLines(ir, name);
  if (lines.length === 0) return null;
  const types = new Map<string, string>();
  const blocks = new Map<string, number>();
  let operations = 0;
  let bytes = 0;
  let hasLoop = false;
  for (const line of lines) {
    const label = /^(b\d+):/.exec(line)?.[1];
    if (label !== undefined) {
      blocks.set(label, blocks.size);
      continue;
    }
    const found = /^\s*(%\d+) = (\w+)(?: (\w+))?(.*?) : (.+?)(?: !\d+)?$/.exec(line);
    if (found !== null) {
      const [, result = "", op = "", detail = "", rest = "", type = ""] = found;
      types.set(result, type);
      if (FLOAT_OPERATIONS.has(op)) operations += lanesOf(type);
      else if (op === "intrinsic" && isFloat(type) && !SKIPPED_INTRINSICS.has(detail)) {
        operations += (detail === "fused_multiply_add" ? 2 : 1) * lanesOf(type);
      } else if (op === "load" && isGlobal(types.get(pointer(line)))) bytes += sizeOf(type);
      else if (op === "store" && isGlobal(types.get(pointer(line)))) bytes += sizeOf(types.get(stored(rest)) ?? "");
      else if (op === "atomic" && isGlobal(types.get(pointer(line)))) bytes += 2 * sizeOf(type);
      continue;
    }
    if (/^\s*(?:jump|branch|switch)\b/.test(line)) {
      const targets = line.match(/\bb\d+\b/g) ?? [];
      if (targets.some((target) => blocks.has(target))) hasLoop = true;
    }
  }
  return { operations, bytes, hasLoop };
}

function kernelLines(ir: string, name: string): string[] {
  const lines = ir.split("\n");
  const start = lines.findIndex((line) => line.startsWith("kernel @") && line.slice(8).startsWith(`${name}(`));
  if (start < 0) return [];
  const end = lines.findIndex((line, index) => index > start && line.startsWith("}"));
  return lines.slice(start + 1, end < 0 ? undefined : end);
}

function pointer(line: string): string {
  return /(?:load|store|atomic(?: \w+)*) (%\d+)/.exec(line)?.[1] ?? "";
}

/** The value of `store %pointer, %value`. */
function stored(rest: string): string {
  return /(%\d+)\s*$/.exec(rest)?.[1] ?? "";
}

function isGlobal(type: string | undefined): boolean {
  return type === "ptr" || type === "ptr.global" || type === "ptr.constant";
}

function isFloat(type: string): boolean {
  return /\bb?f\d+\b/.test(type);
}

function lanesOf(type: string): number {
  return Number(/<(\d+) x/.exec(type)?.[1] ?? 1);
}

function sizeOf(type: string): number {
  const bits = Number(/(?:bf|f|i)(\d+)/.exec(type)?.[1] ?? (type.startsWith("ptr") ? 64 : 0));
  return (Math.max(bits, 8) / 8) * lanesOf(type);
}
