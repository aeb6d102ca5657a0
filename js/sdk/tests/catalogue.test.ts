import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { AmdgpuError, ERROR_CLASSES, METRICS, ShapeMismatchError, VERSION } from "../src/index.js";

const packageFolder = new URL("../../", import.meta.url);

test("every kind of error has a class with code, kind and hint", () => {
  const codes = new Set<number>();
  for (const [kind, ErrorClass] of ERROR_CLASSES) {
    const error = new ErrorClass("what happened");
    assert.ok(error instanceof AmdgpuError && error instanceof Error);
    assert.equal(error.kind, kind);
    assert.equal(error.name, ErrorClass.name);
    assert.equal(error.language, "typescript");
    // A hint says what to do, or is absent.
    assert.match(String(error), error.hint ? /what happened\n {2}hint: ./ : /what happened$/);
    codes.add(error.code);
  }
  assert.equal(codes.size, ERROR_CLASSES.size);
  assert.equal(new ShapeMismatchError("x").code, 102);
});

test("an error keeps the hint, the language and the cause that it is given", () => {
  const cause = new Error("beneath");
  const error = new ShapeMismatchError("x", { hint: "do this", language: "zig", cause });
  assert.deepEqual([error.hint, error.language, error.cause], ["do this", "zig", cause]);
});

test("metrics keep the rules of their names", () => {
  assert.equal(new Set(METRICS.map(({ name }) => name)).size, METRICS.length);
  for (const { name, kind, unit } of METRICS) {
    assert.equal(kind === "counter", name.endsWith("_total"), name);
    assert.equal(unit === "ratio", name.includes("_ratio"), name);
  }
});

test("the package has the version of the framework", () => {
  const description = JSON.parse(readFileSync(new URL("package.json", packageFolder), "utf-8")) as { version: string };
  assert.equal(description.version, VERSION);
});

test("import and require give the same names", async () => {
  const modern = (await import("@amdgpu-framework/sdk")) as Record<string, unknown>;
  const common = createRequire(import.meta.url)("@amdgpu-framework/sdk") as Record<string, unknown>;
  assert.deepEqual(Object.keys(modern).sort(), Object.keys(common).sort());
  assert.equal(modern["VERSION"], VERSION);
});
