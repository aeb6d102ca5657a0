/** Settles with the first value for which `check` is true. */
export function until<T>(check: (value: T) => boolean): { seen: (value: T) => void; found: Promise<T> } {
  let seen: (value: T) => void = () => undefined;
  const found = new Promise<T>((resolve) => {
    seen = (value) => {
      if (check(value)) {
        resolve(value);
      }
    };
  });
  return { seen, found };
}
