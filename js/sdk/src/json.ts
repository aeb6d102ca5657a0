/** JSON values with types, and readers that refuse what a message ought not to hold. */

import { InvalidMessageError } from "./generated/errors.js";

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** Whether a value is an object of JSON: not null, not a list, not a class's instance such as an `ArrayBuffer`. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `a list of ${value.length}`;
  }
  return typeof value === "object" ? "an object" : `the ${typeof value} ${String(value).slice(0, 60)}`;
}

function refuse(what: string, wanted: string, value: unknown): never {
  throw new InvalidMessageError(`${what} is ${describe(value)}, not ${wanted}`);
}

/** `value` as an object. `what` names it in the error. */
export function readObject(value: unknown, what: string): JsonObject {
  return isObject(value) ? value : refuse(what, "an object", value);
}

/** `value` as a list. */
export function readList(value: unknown, what: string): JsonValue[] {
  return Array.isArray(value) ? (value as JsonValue[]) : refuse(what, "a list", value);
}

/** `value` as text. */
export function readString(value: unknown, what: string): string {
  return typeof value === "string" ? value : refuse(what, "text", value);
}

/** `value` as a finite number. */
export function readNumber(value: unknown, what: string): number {
  return typeof value === "number" && Number.isFinite(value) ? value : refuse(what, "a number", value);
}

/** `value` as a whole number from 0 on. */
export function readCount(value: unknown, what: string): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
    ? value
    : refuse(what, "a whole number from 0 on", value);
}

/** A number where there is one, else null: what is absent is null, never a stand-in. */
export function numberOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Text where there is some, else the other text. */
export function stringOr(value: unknown, other: string): string {
  return typeof value === "string" ? value : other;
}
