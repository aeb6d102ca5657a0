/**
 * Shares the time of a picture out among many charts.
 *
 * Charts that have a new column come first, then those whose newest value changed, each in the order of their last painting. When the budget
 * is spent the rest waits for the next picture: with hundreds of lines charts move a little less often, and the page stays at full rate.
 */

export interface Paintable {
  /** 0: nothing new; 1: the newest value changed; 2: the picture is out of date. */
  urgency(): 0 | 1 | 2;
  paint(): void;
}

/** Of the 16.7 ms of a picture at 60 a second; the browser needs the rest for its own work. */
export const BUDGET_MS = 6;

export class PaintQueue {
  private readonly lastPaint = new Map<Paintable, number>();
  private paints = 0;

  add(chart: Paintable): void {
    this.lastPaint.set(chart, -1);
  }

  remove(chart: Paintable): void {
    this.lastPaint.delete(chart);
  }

  /** Paints what the budget allows, at least one chart; returns how many waited. */
  run(now: () => number = () => performance.now(), budgetMs = BUDGET_MS): number {
    const started = now();
    const wanting: { chart: Paintable; urgency: number; last: number }[] = [];
    for (const [chart, last] of this.lastPaint) {
      const urgency = chart.urgency();
      if (urgency > 0) wanting.push({ chart, urgency, last });
    }
    wanting.sort((left, right) => right.urgency - left.urgency || left.last - right.last);
    let painted = 0;
    for (const { chart } of wanting) {
      if (painted > 0 && now() - started > budgetMs) break;
      chart.paint();
      this.paints += 1;
      this.lastPaint.set(chart, this.paints);
      painted += 1;
    }
    return wanting.length - painted;
  }
}
