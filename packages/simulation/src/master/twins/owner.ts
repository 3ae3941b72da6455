import type { Reply } from "../reply.ts";
import { masked } from "./claims.ts";
import { entryNameOf, queueOf } from "./queue.ts";
import type { Call } from "./twin.ts";

/** The twin of `ownerScript`. */
export function recordOwner(
  call: Call,
  [index = "", record = ""]: readonly string[],
  [tag = "", text = "", ttl = "", turn = ""]: readonly string[],
): Reply {
  if (ttl === "0") {
    call("ZREM", index, tag);
    call("DEL", record);
    return [0, []];
  }
  const [seconds, micros] = call("TIME") as readonly string[];
  const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  call("SET", record, text, "PX", ttl);
  call("ZADD", index, String(now + Number(ttl)), tag);
  call("PEXPIRE", index, ttl);
  const oldest = call("ZRANGE", index, "0", "7", "WITHSCORES") as readonly string[];
  for (let place = 0; place < oldest.length; place += 2)
    if (Number(oldest[place + 1]) < now) call("ZREM", index, oldest[place]!);
  const count = call("ZCARD", index) as number;
  const first = 50 * (Number(turn) % Math.ceil(count / 50));
  return [count, call("ZRANGE", index, String(first), String(first + 49))];
}

/** The twin of `waitersScript`. */
export function shownWaiters(call: Call, [key = ""]: readonly string[]): Reply {
  const waiters = call("ZRANGE", queueOf(key), "0", "49") as readonly string[];
  return waiters
    .filter((waiter) => call("EXISTS", entryNameOf(queueOf(key), waiter)) === 1)
    .map((waiter) => masked(waiter));
}
