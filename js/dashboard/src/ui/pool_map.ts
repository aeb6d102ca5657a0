/** Segments of a pool as bars in proportion to their size, their blocks inside; the block under the pointer says what it is. */

import type { Block, Pool, Segment } from "../data/memory_facts";
import { bytes } from "../format";
import { Surface } from "./canvas";
import { colours, nameColour } from "./palette";
import { Tip } from "./tip";

const ROW = 20;
const GAP = 4;
/** Rows of bars; larger pools share rows. */
const MAX_ROWS = 14;

interface Placed {
  readonly segment: Segment;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export class PoolMap {
  readonly element: HTMLCanvasElement;
  private readonly surface: Surface;
  private pool: Pool | undefined;
  private placed: Placed[] = [];
  private isChanged = true;
  private readonly tip = new Tip();

  constructor(label: string) {
    this.surface = new Surface(label, "plot pool-map");
    this.element = this.surface.element;
    this.element.style.height = `${ROW + GAP}px`;
    this.element.addEventListener("mousemove", (event) => this.point(event));
    this.element.addEventListener("mouseleave", () => this.tip.hide());
  }

  update(pool: Pool): void {
    this.pool = pool;
    this.isChanged = true;
  }

  paint(): void {
    if (!this.surface.takeChange() && !this.isChanged) return;
    this.isChanged = false;
    this.arrange();
    if (!this.surface.begin()) return;
    const { context } = this.surface;
    const { line } = colours();
    for (const { segment, x, y, width } of this.placed) {
      context.fillStyle = line;
      context.fillRect(x, y, width, ROW);
      const scale = width / Math.max(segment.totalBytes, 1);
      let offset = 0;
      for (const block of segment.blocks) {
        const size = block.bytes * scale;
        if (block.state !== "free") {
          context.globalAlpha = block.state === "waiting" ? 0.4 : 0.9;
          context.fillStyle = nameColour(block.owner);
          context.fillRect(x + offset, y, Math.max(size - (size > 3 ? 1 : 0), 0.75), ROW);
        }
        offset += size;
      }
      context.globalAlpha = 1;
    }
  }

  private arrange(): void {
    const segments = [...(this.pool?.segments ?? [])].sort((left, right) => left.address - right.address);
    const all = segments.reduce((sum, segment) => sum + segment.totalBytes, 0);
    const rows = Math.min(MAX_ROWS, Math.max(1, Math.ceil(Math.sqrt(segments.length))));
    const perRow = all / rows;
    const width = this.surface.width;
    this.placed = [];
    let row = 0;
    let used = 0;
    for (const segment of segments) {
      if (used > 0 && used + segment.totalBytes > perRow * 1.02 && row < rows - 1) {
        row += 1;
        used = 0;
      }
      this.placed.push({ segment, x: used, y: row * (ROW + GAP), width: segment.totalBytes });
      used += segment.totalBytes;
    }
    const longest = Math.max(1, ...this.placed.map((one) => one.x + one.width));
    this.placed = this.placed.map((one) => ({
      ...one,
      x: (one.x / longest) * width,
      width: Math.max((one.width / longest) * width - 2, 1),
    }));
    const height = `${(row + 1) * (ROW + GAP)}px`;
    if (this.element.style.height !== height) this.element.style.height = height;
  }

  private point(event: MouseEvent): void {
    const found = this.placed.find(
      ({ x, y, width }) =>
        event.offsetX >= x && event.offsetX < x + width && event.offsetY >= y && event.offsetY < y + ROW,
    );
    if (found === undefined) {
      this.tip.hide();
      return;
    }
    const { segment } = found;
    const block = blockAt(segment, ((event.offsetX - found.x) / found.width) * segment.totalBytes);
    const lines = [
      `segment ${address(segment.address)} · ${bytes(segment.totalBytes)} · ${bytes(segment.activeBytes)} in use`,
    ];
    if (block !== undefined) {
      lines.unshift(
        block.state === "free"
          ? `free · ${bytes(block.bytes)}`
          : `${block.owner} · ${bytes(block.requestedBytes)} asked, ${bytes(block.bytes)} taken${block.state === "waiting" ? " · waits for its stream" : ""}`,
      );
    }
    this.tip.show(event.clientX, event.clientY, lines.join("\n"));
  }

  end(): void {
    this.surface.end();
    this.tip.hide();
  }
}

function blockAt(segment: Segment, offset: number): Block | undefined {
  let end = 0;
  for (const block of segment.blocks) {
    end += block.bytes;
    if (offset < end) return block;
  }
  return undefined;
}

function address(value: number): string {
  return Number.isNaN(value) ? "" : `0x${value.toString(16)}`;
}
