/**
 * Values that tell who read them when they change.
 *
 * An effect runs once at once, then again after any signal it read has changed. Changes inside of `batch` run each effect once.
 */

export interface Signal<T> {
  /** The value; the effect that runs now is told of changes. */
  get(): T;
  /** The value, without being told of changes. */
  peek(): T;
  set(value: T): void;
  update(change: (value: T) => T): void;
}

interface Effect {
  run: () => void;
  sources: Set<Set<Effect>>;
  isDisposed: boolean;
}

let active: Effect | undefined;
let depth = 0;
const waiting = new Set<Effect>();

/** Effects that change what they read end here instead of in a frozen page. */
const MAX_ROUNDS = 1000;

export function signal<T>(initial: T): Signal<T> {
  let value = initial;
  const observers = new Set<Effect>();
  const self: Signal<T> = {
    get() {
      if (active !== undefined) {
        observers.add(active);
        active.sources.add(observers);
      }
      return value;
    },
    peek: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const observer of observers) waiting.add(observer);
      if (depth === 0) flush();
    },
    update(change) {
      self.set(change(value));
    },
  };
  return self;
}

/** Runs `work` now and after every change of what it read; returns what ends that. */
export function effect(work: () => void): () => void {
  const self: Effect = {
    sources: new Set(),
    isDisposed: false,
    run() {
      forget(self);
      if (self.isDisposed) return;
      const outer = active;
      active = self;
      try {
        work();
      } finally {
        active = outer;
      }
    },
  };
  self.run();
  return () => {
    self.isDisposed = true;
    waiting.delete(self);
    forget(self);
  };
}

/** Changes several signals; effects run once, at the end. */
export function batch(work: () => void): void {
  depth += 1;
  try {
    work();
  } finally {
    depth -= 1;
    if (depth === 0) flush();
  }
}

function forget(observer: Effect): void {
  for (const source of observer.sources) source.delete(observer);
  observer.sources.clear();
}

function flush(): void {
  depth += 1;
  try {
    for (let round = 0; waiting.size > 0; round += 1) {
      if (round > MAX_ROUNDS) {
        waiting.clear();
        throw new Error("an effect changes what it reads, again and again");
      }
      const batchOfEffects = [...waiting];
      waiting.clear();
      for (const observer of batchOfEffects) observer.run();
    }
  } finally {
    depth -= 1;
  }
}
