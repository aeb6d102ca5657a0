/** What a caller may know of an error beyond its message. */
export interface ErrorDetails {
  /** What to do; left out, the catalogue's hint of this kind of error. */
  readonly hint?: string | undefined;
  /** The language in which the error arose: python, rust, zig, nim, julia, typescript. */
  readonly language?: string | undefined;
  /** The error beneath this one. */
  readonly cause?: unknown;
}

/** Base of every error of this package. The subclasses and their codes come from the catalogue that all languages share. */
export abstract class AmdgpuError extends Error {
  /** Status code of the catalogue. */
  abstract readonly code: number;
  /** Stable kebab-case name, for programs to match on. */
  abstract readonly kind: string;
  /** What to do. */
  readonly hint: string;
  /** The language in which the error arose. */
  readonly language: string;

  protected constructor(message: string, catalogueHint: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.hint = details.hint ?? catalogueHint;
    this.language = details.language ?? "typescript";
  }

  /** The message with its hint below, as other languages print it. */
  override toString(): string {
    return `${this.name}: ${this.message}${this.hint ? `\n  hint: ${this.hint}` : ""}`;
  }
}
