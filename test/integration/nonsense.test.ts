import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Fleet, fresh, votesOf } from "./fleet.ts";
import { type Nonsense, startNonsenseMaster } from "./nonsense-master.ts";

// Two masters, and one that is none at all.
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(2);
});
afterAll(() => fleet?.stop());

const ttl = 20_000;

const nested = "*1\r\n".repeat(5000);
const nonsense: Record<string, Nonsense> = {
  "no protocol at all": "HTTP/1.1 400 Bad Request\r\n\r\n",
  "binary noise": Buffer.from(Array.from({ length: 256 }, (_, byte) => (byte * 7919) % 256)),
  "an empty line": "\r\n",
  "another simple string": "+QUEUED\r\n",
  "an empty simple string": "+\r\n",
  "a number": ":1\r\n",
  "a number that is none": ":abc\r\n",
  "a bulk string": "$3\r\nabc\r\n",
  "an empty bulk string": "$0\r\n\r\n",
  "an empty array": "*0\r\n",
  "a null array": "*-1\r\n",
  "an array of nulls": "*3\r\n$-1\r\n$-1\r\n$-1\r\n",
  "a refusal for a resource that was not asked for": "*3\r\n:7\r\n$3\r\nabc\r\n:1000\r\n",
  "a refusal without a time": "*3\r\n:1\r\n$3\r\nabc\r\n$4\r\nsoon\r\n",
  "a yes without a time": "*2\r\n:0\r\n$-1\r\n",
  "an array of arrays": "*1\r\n*1\r\n*1\r\n:0\r\n",
  "5000 arrays in one another": `${nested}:0\r\n`,
  "a huge bulk length": "$99999999999\r\nabc",
  "a huge array length": "*2147483647\r\n:0\r\n",
  "an array length beyond all": "*99999999999\r\n:0\r\n",
  "a negative bulk length": "$-7\r\n",
  "a negative array length": "*-7\r\n",
  "a length that is none": "$abc\r\n",
  "half a reply": "$10\r\nabc",
  "half a line": "+O",
  "two replies for one": "+OK\r\n+OK\r\n",
  "NOSCRIPT, also to the script itself": "-NOSCRIPT No matching script\r\n",
  "an empty error": "-\r\n",
  "an error without a word": "- something is wrong\r\n",
  "an error in small letters": "-oops something is wrong\r\n",
  "a RESP3 null": "_\r\n",
  "a RESP3 boolean": "#t\r\n",
  "a RESP3 double": ",inf\r\n",
  "a RESP3 big number": "(3492890328409238509324850943850943825024385\r\n",
  "a RESP3 map": "%1\r\n+a\r\n:1\r\n",
  "a RESP3 set": "~2\r\n:9\r\n:5000\r\n",
  "a RESP3 push": ">2\r\n+message\r\n+x\r\n",
  "a RESP3 bulk error": "!10\r\nNONSENSE x\r\n",
  "a RESP3 verbatim string": "=10\r\ntxt:nobody\r\n",
  "nothing, for ever": () => {},
  "the end of the connection": (socket) => void socket.end(),
  "a reset of the connection": (socket) => void socket.resetAndDestroy(),
  "half a reply, then the end": (socket) => void socket.end("$10\r\nab"),
  "one byte at a time, and never all": (socket) => {
    for (const byte of "$100\r\nabcdef") socket.write(byte);
  },
};

describe.each([2, 3] as const)("a master that speaks RESP%i and answers with", (protocol) => {
  it.concurrent.each(Object.entries(nonsense))(
    "%s: it has no vote, the others' quorum works",
    async (what, answer) => {
      await using master = await startNonsenseMaster(answer);
      const { redlock, clients, errors } = fleet.open({
        on: [...fleet.masters, master],
        nodeTimeout: 400,
        client: { protocol },
      });
      for (const resources of [[fresh()], [fresh(), fresh()]]) {
        const lock = await redlock.acquire(resources, ttl);
        const stats = (await Promise.all(lock.attempts)).at(-1);
        // One reply too many is taken for the next command's: "OK" is a vote for one resource, whoever says it.
        const third = what === "two replies for one" ? expect.any(Boolean) : false;
        expect(votesOf(clients, stats!)).toEqual([true, true, third]);
        await lock.extend(ttl);
        expect(await lock.verify()).toBe(true);
        expect((await lock.release()).outcome).toBe("released");
      }
      const [, , third] = await redlock.inspect(fresh());
      expect(third).toBeDefined();
      for (const error of errors) {
        expect(error.node).toBe(`127.0.0.1:${master.port}`);
        expect(error.reason).toMatch(/^[A-Z_]+$/);
      }
      expect(errors.length).toBeGreaterThan(0);
    },
  );
});
