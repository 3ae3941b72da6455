import { expect, test } from "vitest";
import { RespFrames } from "./resp-frames.ts";

function framesOf(text: string, chunkSize: number): RespFrames {
  const frames = new RespFrames();
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += chunkSize) frames.push(bytes.subarray(at, at + chunkSize));
  return frames;
}

const cases: readonly (readonly [name: string, text: string, complete: number])[] = [
  ["a command", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", 1],
  ["a pipeline of commands", "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n", 3],
  ["an inline command", "PING\r\n", 1],
  ["simple replies", "+OK\r\n-ERR no\r\n:12\r\n", 3],
  ["a bulk string that holds line ends and type bytes", "$9\r\n\r\n*3\r\n$1\r\r\n+OK\r\n", 2],
  ["an empty and a missing bulk string", "$0\r\n\r\n$-1\r\n", 2],
  ["an empty and a missing array", "*0\r\n*-1\r\n", 2],
  ["arrays in arrays", "*2\r\n*2\r\n:1\r\n*0\r\n$1\r\na\r\n+OK\r\n", 2],
  ["RESP3: a map, a set, null, a boolean", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n~1\r\n:1\r\n_\r\n#t\r\n", 4],
  ["RESP3: a push between two replies", "+a\r\n>2\r\n+message\r\n*1\r\n+x\r\n+b\r\n", 2],
  ["RESP3: attributes in front of a reply", "|1\r\n+ttl\r\n:3\r\n$1\r\na\r\n", 1],
];

for (const [name, text, complete] of cases) {
  test(`RespFrames counts ${name}, cut anywhere`, () => {
    for (let chunkSize = 1; chunkSize <= text.length; chunkSize += 1) {
      const frames = framesOf(text, chunkSize);
      expect(frames.complete, `chunks of ${chunkSize}`).toBe(complete);
      expect(frames.begun, `chunks of ${chunkSize}`).toBe(complete);
    }
  });
}

test("a frame that is not over has begun", () => {
  const text = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n";
  for (let length = 1; length < text.length; length += 1) {
    const frames = framesOf(text.slice(0, length), length);
    expect(frames.complete, `${length} bytes`).toBe(0);
    expect(frames.begun, `${length} bytes`).toBe(1);
  }
});
