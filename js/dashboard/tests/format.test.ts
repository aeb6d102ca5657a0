import assert from "node:assert/strict";
import { test } from "node:test";

import { ABSENT, ago, bytes, change, count, decimal, percent, quantity, seconds } from "../src/format";

test("three digits and a prefix", () => {
  assert.equal(decimal(1234567), "1.23 M");
  assert.equal(decimal(999.7), "1.00 k");
  assert.equal(decimal(12), "12");
  assert.equal(decimal(0, "W"), "0 W");
  assert.equal(decimal(-4500, "W"), "-4.50 kW");
  assert.equal(bytes(1536), "1.50 KiB");
  assert.equal(bytes(1023.9), "1.00 KiB");
  assert.equal(count(1234567), "1\u202f234\u202f567");
});

test("durations from nanoseconds to hours", () => {
  assert.equal(seconds(2.5e-8), "25.0 ns");
  assert.equal(seconds(0.00123), "1.23 ms");
  assert.equal(seconds(125), "2 min 5 s");
  assert.equal(seconds(7200), "2.0 h");
  assert.equal(seconds(0), "0 s");
});

test("what is absent is a dash in every unit", () => {
  for (const unit of ["ratio", "bytes", "seconds", "celsius", "watts", "hertz", "rpm", "1", "volts"]) {
    assert.equal(quantity(Number.NaN, unit), ABSENT);
  }
  assert.equal(percent(Number.NaN), ABSENT);
  assert.equal(ago(Number.NaN), ABSENT);
});

test("shares and changes", () => {
  assert.equal(percent(0.1234), "12.3 %");
  assert.equal(percent(1), "100 %");
  assert.equal(change(2, 3), "+50 %");
  assert.equal(change(4, 3.9), "−2.5 %");
  assert.equal(change(0, 1), "from 0");
  assert.equal(change(Number.NaN, 1), ABSENT);
});
