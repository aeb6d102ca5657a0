/** Numbers that look random and are the same in every run (the generator "mulberry32", public domain). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to below 2**32. */
  word(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** From 0 to below `limit`. */
  below(limit: number): number {
    return this.word() % limit;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Text with characters of one to four bytes. */
  text(maxLength: number): string {
    const characters = ["a", "Z", "0", ":", "_", '"', "\\", "é", "漢", "🚀", " "];
    return Array.from({ length: this.below(maxLength + 1) }, () => this.pick(characters)).join("");
  }
}
