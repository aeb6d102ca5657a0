/** The memory of processes as `memory:map` describes it. */

import { fields, num, numOr, rows, text } from "./readers";

export interface Block {
  readonly address: number;
  readonly bytes: number;
  readonly requestedBytes: number;
  readonly state: "active" | "waiting" | "free";
  readonly owner: string;
}

export interface Segment {
  readonly address: number;
  readonly totalBytes: number;
  readonly activeBytes: number;
  readonly type: string;
  readonly blocks: readonly Block[];
}

/** What an allocation would find in a pool. */
export interface Fit {
  readonly requestedBytes: number;
  /** NaN: no free block serves it. */
  readonly freeBlockBytes: number;
  readonly segmentBytes: number;
}

export interface Pool {
  /** Distinct for every pool of every process: names are not. */
  readonly key: string;
  readonly pid: number;
  readonly device: string;
  readonly name: string;
  readonly isDeviceClosed: boolean;
  readonly activeBytes: number;
  readonly reservedBytes: number;
  readonly requestedBytes: number;
  readonly freeBytes: number;
  readonly largestFreeBytes: number;
  readonly fit: Fit | null;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly outOfMemory: number;
  readonly segments: readonly Segment[];
  readonly segmentsLeftOut: number;
}

export interface Owner {
  readonly pid: number;
  readonly owner: string;
  readonly device: string;
  readonly blocks: number;
  readonly bytes: number;
}

export interface Leak {
  readonly pid: number;
  readonly device: string;
  readonly pool: string;
  readonly address: number;
  readonly bytes: number;
  readonly owner: string;
  readonly reason: string;
}

export interface MemoryMap {
  readonly pools: readonly Pool[];
  readonly owners: readonly Owner[];
  readonly leaks: readonly Leak[];
}

/** The memory of several processes as one. */
export function joined(maps: readonly MemoryMap[]): MemoryMap {
  return {
    pools: maps.flatMap((map) => map.pools),
    owners: maps.flatMap((map) => map.owners),
    leaks: maps.flatMap((map) => map.leaks),
  };
}

/** What all pools hold together. */
export function sums(pools: readonly Pool[]): { activeBytes: number; reservedBytes: number } {
  return {
    activeBytes: pools.reduce((sum, pool) => sum + (pool.activeBytes || 0), 0),
    reservedBytes: pools.reduce((sum, pool) => sum + (pool.reservedBytes || 0), 0),
  };
}

const NO_OWNER = "(not named)";

export function readMemory(answer: unknown, pid: number): MemoryMap {
  const outer = fields(answer);
  const source = outer["memory"] === undefined ? outer : fields(outer["memory"]);
  return {
    pools: rows(source["devices"]).flatMap((device) =>
      rows(device["pools"]).map((pool, index) => ({
        key: `${pid} ${text(device["device"], "?")} ${numOr(pool["number"], index)}`,
        pid,
        device: text(device["device"], "?"),
        name: text(pool["pool"], "?"),
        isDeviceClosed: pool["is_device_closed"] === true,
        activeBytes: num(pool["active_bytes"]),
        reservedBytes: num(pool["reserved_bytes"]),
        requestedBytes: num(pool["requested_bytes"]),
        freeBytes: num(pool["inactive_bytes"]),
        largestFreeBytes: num(pool["largest_free_bytes"]),
        fit: readFit(pool["fit"]),
        cacheHits: num(pool["cache_hits"]),
        cacheMisses: num(pool["cache_misses"]),
        outOfMemory: num(pool["out_of_memory"]),
        segments: rows(pool["segments"]).map((segment) => ({
          address: num(segment["address"]),
          totalBytes: num(segment["total_bytes"]),
          activeBytes: num(segment["active_bytes"]),
          type: text(segment["segment_type"]),
          blocks: rows(segment["blocks"]).map((block) => ({
            address: num(block["address"]),
            bytes: num(block["size_bytes"]),
            requestedBytes: num(block["requested_bytes"]),
            state: blockState(text(block["state"])),
            owner: text(block["owner"], NO_OWNER),
          })),
        })),
        segmentsLeftOut: numOr(pool["segments_left_out"], 0),
      })),
    ),
    owners: rows(source["owners"]).map((owner) => ({
      pid,
      owner: text(owner["owner"], NO_OWNER),
      device: text(owner["device"]),
      blocks: num(owner["blocks"]),
      bytes: num(owner["bytes"]),
    })),
    leaks: rows(source["leaks"]).map((leak) => ({
      pid,
      device: text(leak["device"]),
      pool: text(leak["pool"]),
      address: num(leak["address"]),
      bytes: num(leak["size_bytes"]),
      owner: text(leak["owner"], NO_OWNER),
      reason: text(leak["reason"]),
    })),
  };
}

function readFit(value: unknown): Fit | null {
  if (value === null || value === undefined) return null;
  const fit = fields(value);
  return {
    requestedBytes: num(fit["requested_bytes"]),
    freeBlockBytes: num(fit["free_block_bytes"]),
    segmentBytes: num(fit["segment_bytes"]),
  };
}

function blockState(state: string): Block["state"] {
  return state === "active_allocated" ? "active" : state === "active_awaiting_free" ? "waiting" : "free";
}
