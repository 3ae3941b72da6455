import type { Thing } from "../thing.ts";

export type { Thing } from "../thing.ts";

interface Area {
  readonly thing: Thing;
  readonly box: readonly [x: number, y: number, width: number, height: number];
}

interface Line {
  readonly thing: Thing;
  readonly ends: readonly [fromX: number, fromY: number, toX: number, toY: number];
}

/** How near to a line the pointer has to be, px. */
const reach = 5;

/** Where everything is that the last painting has drawn; the last drawn is on top. */
export class Targets {
  #areas: Area[] = [];
  #lines: Line[] = [];

  clear(): void {
    this.#areas = [];
    this.#lines = [];
  }

  area(thing: Thing, box: Area["box"]): void {
    this.#areas.push({ thing, box });
  }

  line(thing: Thing, ends: Line["ends"]): void {
    this.#lines.push({ thing, ends });
  }

  at(x: number, y: number): Thing | undefined {
    const area = this.#areas.findLast(({ box: [left, top, width, height] }) => {
      // A target that is one pixel wide is widened so that the pointer can hit it.
      const spare = Math.max(0, (6 - width) / 2);
      return x >= left - spare && x <= left + width + spare && y >= top && y <= top + height;
    });
    // A mark is small and meant; a bar is large, and lines run across it.
    if (
      area &&
      (area.thing.kind === "violation" || area.thing.kind === "fault" || area.thing.kind === "write")
    )
      return area.thing;
    return this.#nearestLine(x, y) ?? area?.thing;
  }

  #nearestLine(x: number, y: number): Thing | undefined {
    let nearest: Thing | undefined;
    let least = reach;
    for (const { thing, ends } of this.#lines) {
      const distance = distanceTo(ends, x, y);
      if (distance >= least) continue;
      least = distance;
      nearest = thing;
    }
    return nearest;
  }
}

function distanceTo([fromX, fromY, toX, toY]: Line["ends"], x: number, y: number): number {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - fromX) * dx + (y - fromY) * dy) / length));
  return Math.hypot(x - fromX - along * dx, y - fromY - along * dy);
}
