// @ts-nocheck
// Scripts as JavaScript, by their digests. Written by `pnpm scripts`.
import { scope } from "../lua/library.ts";
import type { CompiledScript } from "../master/redis-library.ts";

const { Several, Table, isTrue, one, all, get, set, number, text, length, compared, modulo, type, tonumber, tostring, unpack, error, pcall, string, table, math, matches } = scope;

export const compiledScripts: Readonly<Record<string, CompiledScript>> = {
  "e4612211c9f8f51c257e26e056b0a654b3187242": (() => {
let redis, KEYS, ARGV, count$1;

return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
count$1 = 0;
for (let i$1 = 1, table$1 = KEYS, key$1; (key$1 = get(table$1, i$1)) !== undefined; i$1 += 1) {
if ((redis.call("get", key$1) === get(ARGV, 1))) {
redis.pcall("del", key$1);
count$1 = (number(count$1) + 1);
}
}
return count$1;
}};
})(),
  "96da70f7716f27d278a5218544df37fd8b0a5e4c": (() => {
let redis, KEYS, ARGV;

return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
for (let i$1 = 1, table$1 = KEYS, key$1; (key$1 = get(table$1, i$1)) !== undefined; i$1 += 1) {
if ((redis.call("exists", key$1) === 1)) {
return 0;
}
}
for (let i$2 = 1, table$2 = KEYS, key$2; (key$2 = get(table$2, i$2)) !== undefined; i$2 += 1) {
redis.call("set", key$2, get(ARGV, 1), "PX", get(ARGV, 2));
}
return length(KEYS);
}};
})(),
  "aed6f382e410db8ba7926d4e5e9aab410bf2a78a": (() => {
let redis, KEYS, ARGV;

return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
for (let i$1 = 1, table$1 = KEYS, key$1; (key$1 = get(table$1, i$1)) !== undefined; i$1 += 1) {
if ((redis.call("get", key$1) !== get(ARGV, 1))) {
return 0;
}
}
for (let i$2 = 1, table$2 = KEYS, key$2; (key$2 = get(table$2, i$2)) !== undefined; i$2 += 1) {
redis.call("set", key$2, get(ARGV, 1), "PX", get(ARGV, 2));
}
return length(KEYS);
}};
})(),
};
