/** The map of a process's memory as `memory:map` describes it. */

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

export interface Pool {
  readonly device: string;
  readonly name: string;
  readonly activeBytes: number;
  readonly reservedBytes: number;
  readonly requestedBytes: number;
  readonly fragmentationRatio: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly outOfMemory: number;
  readonly segments: readonly Segment[];
  readonly segmentsLeftOut: number;
}

export interface Owner {
  readonly owner: string;
  readonly device: string;
  readonly blocks: number;
  readonly bytes: number;
}

export interface Leak {
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
  readonly fragmentationRatio: number;
}

const NO_OWNER = "(not named)";

export function readMemory(answer: unknown): MemoryMap {
  const outer = fields(answer);
  const source = outer["memory"] === undefined ? outer : fields(outer["memory"]);
  return {
    pools: rows(source["devices"]).flatMap((device) =>
      rows(device["pools"]).map((pool) => ({
        device: text(device["device"], "?"),
        name: text(pool["pool"], "?"),
        activeBytes: num(pool["active_bytes"]),
        reservedBytes: num(pool["reserved_bytes"]),
        requestedBytes: num(pool["requested_bytes"]),
        fragmentationRatio: num(pool["fragmentation_ratio"]),
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
      owner: text(owner["owner"], NO_OWNER),
      device: text(owner["device"]),
      blocks: num(owner["blocks"]),
      bytes: num(owner["bytes"]),
    })),
    leaks: rows(source["leaks"]).map((leak) => ({
      device: text(leak["device"]),
      pool: text(leak["pool"]),
      address: num(leak["address"]),
      bytes: num(leak["size_bytes"]),
      owner: text(leak["owner"], NO_OWNER),
      reason: text(leak["reason"]),
    })),
    fragmentationRatio: num(source["fragmentation_ratio"]),
  };
}

function blockState(state: string): Block["state"] {
  return state === "active_allocated" ? "active" : state === "active_awaiting_free" ? "waiting" : "free";
}
