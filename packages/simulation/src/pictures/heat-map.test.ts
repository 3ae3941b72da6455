import { expect, test } from "vitest";
import { heatMap } from "./heat-map.ts";

const grid = { drifts: [0.5, 1, 2], ttls: [1000], seeds: 20, driftFactor: 0.01 };
const cells = [
  { drift: 0.5, ttl: 1000, runs: 20, violated: 0, leastMargin: 7.25 },
  { drift: 1, ttl: 1000, runs: 20, violated: 0, leastMargin: Number.POSITIVE_INFINITY },
  { drift: 2, ttl: 1000, runs: 20, violated: 1, leastMargin: -12.34 },
];

test("each cell shows its share and its margin, and looks safe only if nothing was violated", () => {
  const svg = heatMap(grid, cells, "the command");
  expect(svg.match(/class="(un)?safe"/g)).toEqual(['class="safe"', 'class="safe"', 'class="unsafe"']);
  for (const text of ["0 %", "5 %", "+7.25 ms", "no ms", "−12.3 ms", "the command"])
    expect(svg).toContain(`>${text}<`);
});

test("the picture needs no other files, and no text ends its element", () => {
  const svg = heatMap(grid, cells, "<script>alert(1)</script>");
  expect(svg).not.toContain("<script");
  expect(svg.replaceAll("http://www.w3.org/2000/svg", "")).not.toMatch(/https?:|@import|url\(/);
});
