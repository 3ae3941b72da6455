import { masked } from "./masked.ts";
import { entryNameOf, queueNameOf, undeclaredKeys } from "./queue.ts";

/** The number of waiters in one reply. */
const shown = 50;

/**
 * Those who wait for a key, in their order: up to 50, each masked, since a queue member is a token without its round (PROTOCOL
 * 2.17). Waiters that have crashed are left out. KEYS: the key, or the exclusive key of a lock that may be shared.
 */
export const waitersScript: { readonly source: string; readonly sha1: string } = {
  source: `${undeclaredKeys}${masked}
local queue, waiters = ${queueNameOf("KEYS[1]")}, {}
for _, waiter in ipairs(redis.call("ZRANGE", queue, 0, ${shown - 1})) do
  if redis.call("EXISTS", ${entryNameOf("queue")}) == 1 then waiters[#waiters + 1] = masked(waiter) end
end
return waiters
`,
  sha1: "4743f9064ad21bd6ac7eb02523e90f446181f685",
};
