import { runProgram } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { type Answer, startHostileServer } from "./hostile-server.ts";

const program = new URL("memory-process.ts", import.meta.url);

/** A process that locks grows by some 30 MB while its code is compiled; what is claimed here is 30 times that. */
const bound = 150;

/**
 * Lengths of 1 G, of everything that has one. (Not here: an array of 2^25 places or fewer, for which ioredis 5 and
 * 6 make room before they have seen the first, 256 MB for a header of 11 bytes. Nothing above them can mend that.)
 */
const lengths: Record<string, Answer> = {
  "a string": "$1073741824\r\nabc",
  "an array": "*1073741824\r\n:0\r\n",
  "a string in an array": "*3\r\n:1\r\n$1073741824\r\nabc",
  "a RESP3 map": "%1073741824\r\n:0\r\n",
  "a RESP3 set": "~1073741824\r\n:0\r\n",
  "a RESP3 error": "!1073741824\r\nabc",
  "a RESP3 verbatim string": "=1073741824\r\ntxt:",
  "a RESP3 push": ">1073741824\r\n:0\r\n",
};

it.concurrent.each(Object.entries(lengths))("a length of 1 G, of %s, takes no memory", async (_, answer) => {
  await using masters = await startMasters(3, { say: () => {} });
  await using first = await startHostileServer(answer);
  await using second = await startHostileServer(answer);
  const urls = [...masters.list, first, second].map(({ host, port }) => `redis://${host}:${port}`);
  const { output, errors } = await runProgram(program, urls);
  expect(errors).toBe("");
  const { acquired, grownBy } = JSON.parse(output) as { acquired: number; grownBy: number };
  expect(acquired).toBe(100);
  expect(first.asked).toBeGreaterThan(0);
  expect(grownBy).toBeLessThan(bound);
});
