/** Numbers as people read them: three digits, a prefix, a unit; what is absent is a dash. */

export const ABSENT = "–";

const DECIMAL = ["", "k", "M", "G", "T", "P"] as const;
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

function digits(value: number): string {
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** `1234567` as `1.23 M`. */
export function decimal(value: number, unit = ""): string {
  if (!Number.isFinite(value)) return ABSENT;
  if (value === 0) return unit === "" ? "0" : `0 ${unit}`;
  let place = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 999.5 && place < DECIMAL.length - 1) {
    scaled /= 1000;
    place += 1;
  }
  const shown = place === 0 && Number.isInteger(scaled) ? String(scaled) : digits(scaled);
  const end = `${DECIMAL[place] ?? ""}${unit}`;
  return end === "" ? shown : `${shown} ${end}`;
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return ABSENT;
  let place = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 1023.5 && place < BINARY.length - 1) {
    scaled /= 1024;
    place += 1;
  }
  return `${place === 0 ? scaled.toFixed(0) : digits(scaled)} ${BINARY[place] ?? ""}`;
}

/** `0.00123` as `1.23 ms`. */
export function seconds(value: number): string {
  if (!Number.isFinite(value)) return ABSENT;
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-6) return `${digits(value * 1e9)} ns`;
  if (size < 1e-3) return `${digits(value * 1e6)} µs`;
  if (size < 1) return `${digits(value * 1e3)} ms`;
  if (size < 120) return `${digits(value)} s`;
  const minutes = Math.floor(value / 60);
  return minutes < 120 ? `${minutes} min ${Math.round(value % 60)} s` : `${(value / 3600).toFixed(1)} h`;
}

export function nanoseconds(value: number): string {
  return seconds(value / 1e9);
}

export function percent(ratio: number): string {
  if (!Number.isFinite(ratio)) return ABSENT;
  const value = ratio * 100;
  return `${value >= 99.95 || value === 0 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} %`;
}

export function count(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f") : ABSENT;
}

/** A value in the base unit that the catalogue gives for a metric. */
export function quantity(value: number, unit: string): string {
  if (!Number.isFinite(value)) return ABSENT;
  switch (unit) {
    case "ratio":
      return percent(value);
    case "bytes":
      return bytes(value);
    case "bytes_per_second":
    case "bytes/s":
      return `${bytes(value)}/s`;
    case "seconds":
      return seconds(value);
    case "celsius":
      return `${value.toFixed(value < 100 ? 1 : 0)} °C`;
    case "watts":
      return decimal(value, "W");
    case "volts":
      return decimal(value, "V");
    case "joules":
      return decimal(value, "J");
    case "hertz":
      return decimal(value, "Hz");
    case "rpm":
      return `${value.toFixed(0)} rpm`;
    case "per_second":
      return `${decimal(value)}/s`;
    case "":
    case "1":
    case "count":
      return decimal(value);
    default:
      return decimal(value, unit.replace("_per_second", "/s"));
  }
}

/** How long before `newest` a moment was, as `−12.3 s`. */
export function ago(deltaSeconds: number): string {
  if (!Number.isFinite(deltaSeconds)) return ABSENT;
  return deltaSeconds < 0.05 ? "now" : `−${deltaSeconds < 60 ? `${deltaSeconds.toFixed(1)} s` : seconds(deltaSeconds)}`;
}

/** A signed relative change, `+12.3 %`. */
export function change(from: number, to: number): string {
  if (!Number.isFinite(from) || !Number.isFinite(to)) return ABSENT;
  if (from === to) return "±0 %";
  if (from === 0) return "from 0";
  const ratio = (to - from) / Math.abs(from);
  return `${ratio > 0 ? "+" : "−"}${(Math.abs(ratio) * 100).toFixed(Math.abs(ratio) < 0.1 ? 1 : 0)} %`;
}
