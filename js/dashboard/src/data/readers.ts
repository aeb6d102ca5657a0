/** Takes answers of the server apart without trusting their shape: what is missing or of another type reads as absent. */

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function rows(value: unknown): readonly Fields[] {
  return list(value).map(fields);
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : otherwise;
}

/** A finite number; NaN for anything else. */
export function num(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : Number.NaN;
}

/** A finite number, or another one where it is absent. */
export function numOr(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

export function numbers(value: unknown): number[] {
  return list(value).map(num);
}

/** The first of several names under which a field may stand. */
export function first(source: Fields, ...names: string[]): unknown {
  for (const name of names) if (source[name] !== undefined && source[name] !== null) return source[name];
  return undefined;
}
