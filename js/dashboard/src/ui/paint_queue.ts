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
export const BUDGET_MS = 4;
/** A chart of which only the newest value changed is painted in every third picture: twenty times a second. */
export const CALM_TURNS = 3;

export class PaintQueue {
  private readonly last = new Map<Paintable, { paint: number; turn: number }>();
  private paints = 0;
  private turn = 0;

  add(chart: Paintable): void {
    this.last.set(chart, { paint: -1, turn: -CALM_TURNS });
  }

  remove(chart: Paintable): void {
    this.last.delete(chart);
  }

  /** Paints what the budget allows, at least one chart; returns how many waited. */
  run(now: () => number = () => performance.now(), budgetMs = BUDGET_MS): number {
    const started = now();
    this.turn += 1;
    const wanting: { chart: Paintable; urgency: number; last: number }[] = [];
    for (const [chart, { paint, turn }] of this.last) {
      const urgency = chart.urgency();
      const isDue = urgency === 2 || (urgency === 1 && this.turn - turn >= CALM_TURNS);
      if (isDue) wanting.push({ chart, urgency, last: paint });
    }
    wanting.sort((left, right) => right.urgency - left.urgency || left.last - right.last);
    let painted = 0;
    for (const { chart } of wanting) {
      if (painted > 0 && now() - started > budgetMs) break;
      chart.paint();
      this.paints += 1;
      this.last.set(chart, { paint: this.paints, turn: this.turn });
      painted += 1;
    }
    return wanting.length - painted;
  }
}
