// @ts-nocheck
// Scripts as JavaScript, by their digests. Written by `pnpm scripts`.
import { scope } from "./library.ts";
import type { CompiledScript } from "../master/redis-library.ts";

const { Several, Table, isTrue, one, all, get, set, number, text, length, compared, modulo, type, tonumber, tostring, unpack, error, pcall, string, table, math, matches } = scope;

export const compiledScripts: Readonly<Record<string, CompiledScript>> = {
  "f2391bc6559eba782aff7156395975fd55432676": (() => {
let redis, KEYS, ARGV, call$1, index$1, record$1, tag$1, text$1, ttl$1, turn$1, time$1, now$1, oldest$1, count$1, first$1;

return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1;
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
call$1 = redis.call;
index$1 = get(KEYS, 1), record$1 = get(KEYS, 2);
tag$1 = ($1 = all(unpack(ARGV)))[0], text$1 = $1[1], ttl$1 = $1[2], turn$1 = $1[3];
if ((ttl$1 === "0")) {
call$1("ZREM", index$1, tag$1);
call$1("DEL", record$1);
return new Table([0, new Table([])]);
}
time$1 = call$1("TIME");
now$1 = ((number(get(time$1, 1)) * 1000) + number(math.floor((number(get(time$1, 2)) / 1000))));
call$1("SET", record$1, text$1, "PX", ttl$1);
call$1("ZADD", index$1, (number(now$1) + number(ttl$1)), tag$1);
if ((compared(call$1("PTTL", index$1), tonumber(ttl$1)) < 0)) {
call$1("PEXPIRE", index$1, ttl$1);
}
oldest$1 = call$1("ZRANGE", index$1, 0, 7, "WITHSCORES");
for (let place$1 = 1, last$1 = length(oldest$1); place$1 <= last$1; place$1 += 2) {
if ((compared(tonumber(get(oldest$1, (place$1 + 1))), now$1) < 0)) {
call$1("ZREM", index$1, get(oldest$1, place$1));
}
}
count$1 = call$1("ZCARD", index$1);
first$1 = (50 * modulo(number(turn$1), number(math.ceil((number(count$1) / 50)))));
return new Table([count$1, call$1("ZRANGE", index$1, first$1, (number(first$1) + 49))]);
}};
})(),
  "20c5b433292a78122c5ff323173cc31aabb7311f": (() => {
let redis, KEYS, ARGV, queue$1, waiters$1;
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function queueOf$1(key$1) {
let $1, $2;
let isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{


queue$1 = queueOf$1(get(KEYS, 1)), waiters$1 = new Table([]);
for (let _$1 = 1, table$1 = redis.call("ZRANGE", queue$1, 0, 49), waiter$1; (waiter$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
if ((redis.call("EXISTS", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))) === 1)) {
set(waiters$1, (length(waiters$1) + 1), masked$1(waiter$1));
}
}
return waiters$1;
}};
})(),
  "aa6e0c2ab5022e682bf48fd8dd5ad5e3ced65ad4": (() => {
let redis, KEYS, ARGV, call$1, released$1;
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$1) {
let $1, $2;
if ((owner$1 === token$1)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function drop$1(key$1, token$1) {
let $1, $2;
return (isTrue($2 = (isTrue($1 = isMine$1(ownerOf$1(key$1), token$1)) ? call$1("DEL", key$1) : $1)) ? $2 : 0);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
call$1 = redis.call;



released$1 = 0;
for (let index$1 = 1, last$1 = length(KEYS); index$1 <= last$1; index$1 += 1) {
released$1 = (number(released$1) + number(drop$1(get(KEYS, index$1), get(ARGV, 1))));
}
return released$1;
}};
})(),
  "a6323e7924e513240d290ec69524f0328a8c8064": (() => {
let redis, KEYS, ARGV, call$1, ttl$1, granted$1, replies$1;
function voteAll$1(key$1, arg$1, count$1, ttl$2) {
for (let place$1 = 0, last$1 = (number(count$1) - 1); place$1 <= last$1; place$1 += 1) {
let set$1 = redis.pcall("SET", get(KEYS, (number(key$1) + place$1)), get(ARGV, (number(arg$1) + place$1)), "NX", "PX", ttl$2);
if ((!isTrue(set$1) || isTrue(get(set$1, "err")))) {
return place$1;
}
}
return count$1;
}
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$1) {
let $1, $2;
if ((owner$1 === token$1)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function claim$1(first$1, last$1, token$1, ttl$2, create$1) {
let $1;
let least$1 = tonumber(ttl$2);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$1)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$1 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$1) || (left$1 === (-2)));
let isShort$1 = ((left$1 !== (-1)) && (compared(left$1, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$2 : isShort$1)) ? $1 : left$1);
if (((isTrue(isShort$1) && (left$1 !== (-2))) || (isTrue(isOther$1) && (compared(left$1, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$1 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$1);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$1, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$1 = least$1;
}
if (((left$1 !== (-1)) && (!isTrue(shortest$1) || (compared(left$1, shortest$1) < 0)))) {
shortest$1 = left$1;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function failure$1(reason$1) {
let $1, $2;
return new Table([0, (isTrue($2 = (($1 = (type(reason$1) === "table")) ? get(reason$1, "err") : $1)) ? $2 : tostring(reason$1))]);
}
function vote$1(index$1) {
let token$1 = get(ARGV, (number(index$1) + 1));
if (isTrue(call$1("SET", get(KEYS, index$1), token$1, "NX", "PX", ttl$1))) {
return tonumber(ttl$1);
}
return claim$1(index$1, index$1, token$1, ttl$1, true);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4;
call$1 = redis.call;
ttl$1 = get(ARGV, 1);

granted$1 = voteAll$1(1, 2, length(KEYS), ttl$1);
if ((granted$1 === length(KEYS))) {
return granted$1;
}






replies$1 = new Table([]);
for (let index$1 = 1, last$1 = length(KEYS); index$1 <= last$1; index$1 += 1) {
let done$1 = true, reply$1 = tonumber(ttl$1);
if ((compared(index$1, granted$1) > 0)) {
$2 = ($1 = all(pcall(vote$1, index$1)))[0]; $3 = $1[1]; done$1 = $2; reply$1 = $3;
}
set(replies$1, index$1, (isTrue($4 = (isTrue(done$1) ? reply$1 : done$1)) ? $4 : failure$1(reply$1)));
}
return replies$1;
}};
})(),
  "56a07e01d19b513cb3c9f3b1d76b7d149028df2c": (() => {
let redis, KEYS, ARGV, call$1, token$1, ttl$1, create$1, proposal$1, left$1, counterTtl$1, pastTtl$1, isSet$1, granted$1;
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$2) {
let $1, $2;
if ((owner$1 === token$2)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function claim$1(first$1, last$1, token$2, ttl$2, create$2) {
let $1;
let least$1 = tonumber(ttl$2);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$2)) && (isTrue(owner$1) || !isTrue(create$2)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$2 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$2) || (left$2 === (-2)));
let isShort$1 = ((left$2 !== (-1)) && (compared(left$2, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$2 : isShort$1)) ? $1 : left$2);
if (((isTrue(isShort$1) && (left$2 !== (-2))) || (isTrue(isOther$1) && (compared(left$2, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$2 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$2);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$2, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$2 = least$1;
}
if (((left$2 !== (-1)) && (!isTrue(shortest$1) || (compared(left$2, shortest$1) < 0)))) {
shortest$1 = left$2;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$2, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$2)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4, $5;
call$1 = redis.call;
token$1 = get(ARGV, 1), ttl$1 = get(ARGV, 2), create$1 = (get(ARGV, 3) === "1"), proposal$1 = (isTrue($1 = get(ARGV, 4)) ? $1 : "");
if ((((proposal$1 === "") && (length(KEYS) === 1)) && (redis.pcall("GET", get(KEYS, 1)) === token$1))) {
left$1 = call$1("PTTL", get(KEYS, 1));
if (((left$1 !== (-1)) && (compared(left$1, tonumber(ttl$1)) < 0))) {
if ((call$1("PEXPIRE", get(KEYS, 1), ttl$1) === 0)) {
call$1("SET", get(KEYS, 1), token$1, "PX", ttl$1);
}
return tonumber(ttl$1);
}
}




if ((proposal$1 === "")) {
return claim$1(1, length(KEYS), token$1, ttl$1, create$1);
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;




if (((proposal$1 !== "") && (compared(tonumber(proposal$1), (((2) ** 53) - ((2) ** 20))) >= 0))) {
return redis.error_reply("ERR the fencing token is too large");
}
isSet$1 = (isTrue($2 = (isTrue(create$1) ? (length(KEYS) === 1) : create$1)) ? call$1("SET", get(KEYS, 1), token$1, "NX", "PX", ttl$1) : $2);
granted$1 = (isTrue($3 = (isTrue(isSet$1) ? tonumber(ttl$1) : isSet$1)) ? $3 : claim$1(1, length(KEYS), token$1, ttl$1, create$1));
return (isTrue($5 = (($4 = (type(granted$1) === "number")) ? fenced$1(KEYS, granted$1, proposal$1) : $4)) ? $5 : granted$1);
}};
})(),
  "75b77af5d394e880f3b63ab1e1a1ecaa795d6962": (() => {
let redis, KEYS, ARGV, call$1, key$1, token$1, isTagged$1, queue$1, given$1, ownerFor$1, keyFor$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1;
function queueOf$1(key$2) {
let $1, $2;
let isTagged$2 = (isTrue($1 = one(string.find(key$2, "{", 1, true))) ? one(string.find(key$2, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$2) ? ("quorlock:queue:tagged:" + text(key$2)) : isTagged$2)) ? $2 : ("quorlock:queue:{" + (text(key$2) + "}")));
}
function releaseUnwaited$1(first$1, last$1, token$2) {
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
if (((redis.pcall("GET", get(KEYS, index$1)) !== token$2) || (compared(call$1("EXISTS", queueOf$1(get(KEYS, index$1))), 0) > 0))) {
return undefined;
}
}
let given$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
given$1 = (number(given$1) + number(call$1("DEL", get(KEYS, index$2))));
}
return given$1;
}
function ownerOf$1(key$2) {
let $1;
let owner$1 = redis.pcall("GET", key$2);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$2);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$2), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$2) {
let $1, $2;
if ((owner$1 === token$2)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function drop$1(key$2, token$2) {
let $1, $2;
return (isTrue($2 = (isTrue($1 = isMine$1(ownerOf$1(key$2), token$2)) ? call$1("DEL", key$2) : $1)) ? $2 : 0);
}
function lockOf$1(key$2) {
return key$2;
}
function leftOf$1(key$2) {
return call$1("PTTL", key$2);
}
function set$1(key$2, token$2, ms$1) {
call$1("SET", key$2, token$2, "PX", ms$1);
}
function finish$1(key$2) {
return call$1("DEL", key$2);
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$1, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$1)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$2, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$2))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$2, waiter$1) {
if ((call$1("ZREM", queue$2, waiter$1) === 1)) {
call$1("DEL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$2, token$2, lives$1, ttl$1) {
set$1(key$2, token$2, math.max(1, math.min(lives$1, tonumber(ttl$1))));
}
function grant$1(key$2, queue$2, waiter$1, token$2, ttl$1, inbox$1, proposal$1) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$2, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$1 !== "")) ? counterOf$1(new Table([lockOf$1(key$2)])) : $2);
set$1(key$2, token$2, ttl$1);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$2)]), math.max(counter$1, tonumber(proposal$1)));
}
let told$1 = redis.pcall("PUBLISH", inbox$1, (text(token$2) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$2, waiter$1);
} else {
reserve$1(key$2, token$2, call$1("PTTL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
}
return told$1;
}
function sweep$1(queue$2, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$2, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$2, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$2, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$2, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$2) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$2, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$2, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$2, ending$1);
}
let queue$2 = queueOf$1(key$2);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$2)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$1 = $2[1], inbox$1 = $2[2], proposal$1 = $2[3], how$1 = $2[4];
let token$2 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$1 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$1) : $3);
key$2 = one(keyFor$1(key$2, how$1));
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$2, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(one(ownerFor$1(key$2, token$2))))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$1 === "")))) {
let told$1 = grant$1(key$2, queue$2, waiter$1, token$2, ttl$1, inbox$1, proposal$1);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$2, token$2);
}
} else {
reserve$1(key$2, token$2, call$1("PTTL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$1, ("wake " + text(token$2)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function leave$1(first$1, last$1, token$2) {
let $1, $2;
demand$1(get(KEYS, first$1), toGive$1);
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
for (let index$1 = number(first$1), last$2 = number((isTrue($2 = (isTrue(waiter$1) ? last$1 : waiter$1)) ? $2 : 0)); index$1 <= last$2; index$1 += 1) {
let queue$2 = queueOf$1(get(KEYS, index$1));
let entry$1 = call$1("GET", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
let entered$1 = (isTrue(entry$1) ? tonumber(...all(string.match(entry$1, "^%d+"))) : entry$1);
if ((isTrue(entered$1) && (compared(entered$1, tonumber(round$1)) <= 0))) {
forget$1(queue$2, waiter$1);
}
}
let released$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let dropped$1 = drop$1(get(KEYS, index$2), token$2);
released$1 = (number(released$1) + number(dropped$1));
if (((dropped$1 === 1) || isTrue(mayShare$1))) {
give$1(get(KEYS, index$2));
}
}
return released$1;
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4;
call$1 = redis.call;
key$1 = get(KEYS, 1), token$1 = get(ARGV, length(ARGV));
if ((!isTrue(get(KEYS, 2)) && (redis.pcall("GET", key$1) === token$1))) {
isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
queue$1 = (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
if ((call$1("EXISTS", queue$1) === 0)) {
return call$1("DEL", key$1);
}
}


given$1 = (isTrue($3 = get(KEYS, 2)) ? releaseUnwaited$1(1, length(KEYS), token$1) : $3);
if (isTrue(given$1)) {
return given$1;
}



ownerFor$1 = ownerOf$1;

keyFor$1 = lockOf$1;



toEnter$1 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$1 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$1 = false;
mayAsk$1 = (isTrue($4 = redis.replicate_commands) ? $4 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;




return leave$1(1, length(KEYS), token$1);
}};
})(),
  "8b604afaf698a8fac1ad49fd63a97323391ec4ec": (() => {
let redis, KEYS, ARGV, call$1, isDone$1, gone$1, ownerFor$1, keyFor$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1, replies$1;
function queueOf$1(key$1) {
let $1, $2;
let isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
}
function releaseAllUnwaited$1(first$1, last$1, from$1) {
let $1, $2;
let owners$1 = call$1("MGET", ...all(unpack(KEYS, first$1, last$1))), queues$1 = new Table([]);
for (let place$1 = 1, last$2 = ((number(last$1) - number(first$1)) + 1); place$1 <= last$2; place$1 += 1) {
if ((get(owners$1, place$1) !== get(ARGV, ((number(from$1) + place$1) - 1)))) {
return undefined;
}
set(queues$1, place$1, queueOf$1(get(KEYS, ((number(first$1) + place$1) - 1))));
}
if ((compared(call$1("EXISTS", ...all(unpack(queues$1))), 0) > 0)) {
return undefined;
}
let gone$1 = call$1("DEL", ...all(unpack(KEYS, first$1, last$1)));
if ((gone$1 === length(queues$1))) {
return gone$1;
}
let each$1 = new Table([]), seen$1 = new Table([]);
for (let place$2 = 1, last$3 = length(queues$1); place$2 <= last$3; place$2 += 1) {
let key$1 = get(KEYS, ((number(first$1) + place$2) - 1));
set(each$1, place$2, (isTrue($2 = (isTrue($1 = get(seen$1, key$1)) ? 0 : $1)) ? $2 : 1));
set(seen$1, key$1, true);
}
return each$1;
}
function releaseUnwaited$1(first$1, last$1, token$1) {
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
if (((redis.pcall("GET", get(KEYS, index$1)) !== token$1) || (compared(call$1("EXISTS", queueOf$1(get(KEYS, index$1))), 0) > 0))) {
return undefined;
}
}
let given$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
given$1 = (number(given$1) + number(call$1("DEL", get(KEYS, index$2))));
}
return given$1;
}
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$1) {
let $1, $2;
if ((owner$1 === token$1)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function drop$1(key$1, token$1) {
let $1, $2;
return (isTrue($2 = (isTrue($1 = isMine$1(ownerOf$1(key$1), token$1)) ? call$1("DEL", key$1) : $1)) ? $2 : 0);
}
function lockOf$1(key$1) {
return key$1;
}
function leftOf$1(key$1) {
return call$1("PTTL", key$1);
}
function set$1(key$1, token$1, ms$1) {
call$1("SET", key$1, token$1, "PX", ms$1);
}
function finish$1(key$1) {
return call$1("DEL", key$1);
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$1, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$1)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$1, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$1))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$1, waiter$1) {
if ((call$1("ZREM", queue$1, waiter$1) === 1)) {
call$1("DEL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$1, token$1, lives$1, ttl$1) {
set$1(key$1, token$1, math.max(1, math.min(lives$1, tonumber(ttl$1))));
}
function grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$1, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$1 !== "")) ? counterOf$1(new Table([lockOf$1(key$1)])) : $2);
set$1(key$1, token$1, ttl$1);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$1)]), math.max(counter$1, tonumber(proposal$1)));
}
let told$1 = redis.pcall("PUBLISH", inbox$1, (text(token$1) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$1, waiter$1);
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
}
return told$1;
}
function sweep$1(queue$1, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$1, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$1, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$1, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$1, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$1, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$1, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$1, ending$1);
}
let queue$1 = queueOf$1(key$1);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$1)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$1 = $2[1], inbox$1 = $2[2], proposal$1 = $2[3], how$1 = $2[4];
let token$1 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$1 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$1) : $3);
key$1 = one(keyFor$1(key$1, how$1));
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$1, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(one(ownerFor$1(key$1, token$1))))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$1 === "")))) {
let told$1 = grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$1, token$1);
}
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$1, ("wake " + text(token$1)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function leave$1(first$1, last$1, token$1) {
let $1, $2;
demand$1(get(KEYS, first$1), toGive$1);
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
for (let index$1 = number(first$1), last$2 = number((isTrue($2 = (isTrue(waiter$1) ? last$1 : waiter$1)) ? $2 : 0)); index$1 <= last$2; index$1 += 1) {
let queue$1 = queueOf$1(get(KEYS, index$1));
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
let entered$1 = (isTrue(entry$1) ? tonumber(...all(string.match(entry$1, "^%d+"))) : entry$1);
if ((isTrue(entered$1) && (compared(entered$1, tonumber(round$1)) <= 0))) {
forget$1(queue$1, waiter$1);
}
}
let released$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let dropped$1 = drop$1(get(KEYS, index$2), token$1);
released$1 = (number(released$1) + number(dropped$1));
if (((dropped$1 === 1) || isTrue(mayShare$1))) {
give$1(get(KEYS, index$2));
}
}
return released$1;
}
function failure$1(reason$1) {
let $1, $2;
return new Table([0, (isTrue($2 = (($1 = (type(reason$1) === "table")) ? get(reason$1, "err") : $1)) ? $2 : tostring(reason$1))]);
}
function release$1(index$1) {
let $1;
return (isTrue($1 = releaseUnwaited$1(index$1, index$1, get(ARGV, index$1))) ? $1 : leave$1(index$1, index$1, get(ARGV, index$1)));
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4;
call$1 = redis.call;


isDone$1 = ($1 = all(pcall(releaseAllUnwaited$1, 1, length(KEYS), 1)))[0], gone$1 = $1[1];
if ((isTrue(isDone$1) && isTrue(gone$1))) {
return gone$1;
}




ownerFor$1 = ownerOf$1;

keyFor$1 = lockOf$1;



toEnter$1 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$1 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$1 = false;
mayAsk$1 = (isTrue($2 = redis.replicate_commands) ? $2 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;






replies$1 = new Table([]);
for (let index$1 = 1, last$1 = length(KEYS); index$1 <= last$1; index$1 += 1) {
let done$1 = ($3 = all(pcall(release$1, index$1)))[0], reply$1 = $3[1];
set(replies$1, index$1, (isTrue($4 = (isTrue(done$1) ? reply$1 : done$1)) ? $4 : failure$1(reply$1)));
}
return replies$1;
}};
})(),
  "e41d7b2d02079a5e72c249c29c19d92393dc55b7": (() => {
let redis, KEYS, ARGV, call$1, kind$1, token$1, ttl$1, proposal$1, terms$1, maxTtl$1, database$1, after$1, seen$1, since$1, longest$1, place$1, state$1, isReady$1, info$1, counterTtl$1, pastTtl$1, isForgetful$1, isOfNew$1, guarded$1, why$1, granted$1;
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$2) {
let $1, $2;
if ((owner$1 === token$2)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function claim$1(first$1, last$1, token$2, ttl$2, create$1) {
let $1;
let least$1 = tonumber(ttl$2);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$2)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$1 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$2) || (left$1 === (-2)));
let isShort$1 = ((left$1 !== (-1)) && (compared(left$1, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$2 : isShort$1)) ? $1 : left$1);
if (((isTrue(isShort$1) && (left$1 !== (-2))) || (isTrue(isOther$1) && (compared(left$1, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$1 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$2);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$2, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$1 = least$1;
}
if (((left$1 !== (-1)) && (!isTrue(shortest$1) || (compared(left$1, shortest$1) < 0)))) {
shortest$1 = left$1;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$2, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$2)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function refused$1(refusal$1, isOfNew$1) {
let $1, $2;
if ((isTrue(isOfNew$1) && !isTrue(get(refusal$1, 2)))) {
$1 = false; $2 = 1; set(refusal$1, 4, $1); set(refusal$1, 5, $2);
}
return refusal$1;
}
function mark$1(state$2, ends$1, length$1) {
let $1, $2, $3;
if (isTrue(length$1)) {
call$1("SET", "quorlock:quarantine", exactly$1(length$1), "PX", exactly$1(length$1));
}
let words$1 = new Table([get(guarded$1, "replId"), get(guarded$1, "since"), exactly$1(ends$1), get(guarded$1, "longest"), get(guarded$1, "database"), state$2]);
call$1("SET", "quorlock:guard", table.concat(words$1, " "));
function keepInMemory$1() {
call$1("SET", "quorlock:guard:memory", get(guarded$1, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$1, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$1 = ($1 = all(pcall(keepInMemory$1)))[0], why$1 = $1[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$1)) {
error(why$1, 0);
}
$2 = state$2; $3 = ends$1; set(guarded$1, "state", $2); set(guarded$1, "ends", $3);
}
function watch$1(terms$2) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17;
function isMemoryOf$1(was$1, since$2, durable$1, info$2) {
let isSame$1 = (was$1 === get(guarded$1, "replId"));
if ((!isTrue(isSame$1) && !isTrue(one(string.find(info$2, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$1 === "1") && !isTrue(isSame$1))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$2) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$1 = undefined;
let maxTtl$2 = ($1 = all(string.match(terms$2, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$1 = $1[1], durable$1 = $1[2], right$1 = $1[3], now$1 = $1[4], database$2 = $1[5], after$2 = $1[6];
if (!isTrue(maxTtl$2)) {
return ;
}
now$1 = tonumber(now$1);
guarded$1 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$2).set("now", now$1);
let info$2 = call$1("INFO", "replication");
set(guarded$1, "replId", one(string.match(info$2, "master_replid:(%S+)")));
if (!isTrue(get(guarded$1, "replId"))) {
set(guarded$1, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$2, "role:master", 1, true)))) {
set(guarded$1, "why", "READONLY it is a replica");
return ;
}
let was$1 = ($2 = all(string.match((isTrue($3 = call$1("GET", "quorlock:guard")) ? $3 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$2 = $2[1], ends$1 = $2[2], longest$2 = $2[3], place$2 = $2[4], state$2 = $2[5];
let isKnown$1 = (isTrue($5 = (isTrue($4 = (isTrue(was$1) ? (place$2 === database$2) : was$1)) ? (compared(tonumber(since$2), tonumber(after$2)) >= 0) : $4)) ? isMemoryOf$1(was$1, since$2, durable$1, info$2) : $5);
if (isTrue(isKnown$1)) {
$6 = since$2; $7 = longest$2; $8 = place$2; set(guarded$1, "since", $6); set(guarded$1, "longest", $7); set(guarded$1, "database", $8);
$9 = state$2; $10 = tonumber(ends$1); $11 = true; set(guarded$1, "state", $9); set(guarded$1, "ends", $10); set(guarded$1, "isKnown", $11);
if ((was$1 !== get(guarded$1, "replId"))) {
pcall(mark$1, state$2, get(guarded$1, "ends"));
}
} else if ((right$1 === "0")) {
return ;
} else if ((right$1 === "3")) {
if (!isTrue(was$1)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$1)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$1) && (right$1 !== "4"))) {
if ((state$2 === "2")) {
let left$1 = call$1("PTTL", "quorlock:quarantine"), length$1 = tonumber((isTrue($12 = call$1("GET", "quorlock:quarantine")) ? $12 : ""));
if ((isTrue(length$1) && (compared(left$1, length$1) > 0))) {
call$1("PEXPIRE", "quorlock:quarantine", length$1);
left$1 = length$1;
}
let isFar$1 = (compared(get(guarded$1, "ends"), (number(now$1) + number(math.max(tonumber(longest$2), left$1)))) > 0);
if (isTrue(isFar$1)) {
pcall(mark$1, "2", (number(now$1) + number((isTrue($14 = (($13 = (left$1 === (-2))) ? tonumber(longest$2) : $13)) ? $14 : left$1))));
}
if (((left$1 === (-2)) && (compared(get(guarded$1, "ends"), now$1) <= 0))) {
pcall(mark$1, "1", 0);
}
}
} else {
let length$2 = math.max(tonumber((isTrue(longest$2) ? longest$2 : 0)), tonumber(maxTtl$2));
set(guarded$1, "since", exactly$1(math.max((number(tonumber((isTrue(since$2) ? since$2 : 0))) + 1), tonumber(epoch$1))));
$16 = database$2; $17 = (isTrue($15 = (isTrue(isKnown$1) ? longest$2 : isKnown$1)) ? $15 : maxTtl$2); set(guarded$1, "database", $16); set(guarded$1, "longest", $17);
let isForClock$1 = (isTrue(isKnown$1) ? ((state$2 !== "2") || (call$1("GET", "quorlock:guard:clock") === since$2)) : isKnown$1);
if (isTrue(isForClock$1)) {
call$1("SET", "quorlock:guard:clock", get(guarded$1, "since"));
}
if (((right$1 !== "2") || isTrue(was$1))) {
mark$1("2", (number(now$1) + number(length$2)), length$2);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$1))))) {
mark$1("0", 0);
} else {
set(guarded$1, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$1, "isKnown", true);
}
set(guarded$1, "why", undefined);
}
function bar$1(kind$2, ttl$2, proposal$2) {
if (isTrue(get(guarded$1, "why"))) {
return get(guarded$1, "why");
}
if (((get(guarded$1, "longest") !== get(guarded$1, "wanted")) || (compared(tonumber(ttl$2), tonumber(get(guarded$1, "longest"))) > 0))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$1, "longest")) + " ms here"));
}
if (((proposal$2 === "") && ((kind$2 === "e") || (kind$2 === "p")))) {
return undefined;
}
if ((get(guarded$1, "state") === "2")) {
let left$1 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$1, "ends")) - number(get(guarded$1, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$1(left$1)) + " ms more"));
}
if (((proposal$2 !== "") && (get(guarded$1, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$1, "since")));
}
}
function inQuarantine$1() {
let $1;
return (isTrue(guarded$1) ? (isTrue($1 = get(guarded$1, "why")) ? $1 : (get(guarded$1, "state") === "2")) : guarded$1);
}
function isNew$1() {
let $1;
return (isTrue($1 = (isTrue(guarded$1) ? (get(guarded$1, "state") === "2") : guarded$1)) ? (call$1("GET", "quorlock:guard:clock") !== get(guarded$1, "since")) : $1);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4, $5, $6, $7, $8, $9;
call$1 = redis.call;
kind$1 = ($1 = all(unpack(ARGV)))[0], token$1 = $1[1], ttl$1 = $1[2], proposal$1 = $1[3], terms$1 = $1[4];
maxTtl$1 = ($2 = all(string.match(terms$1, "^(%d+),%d+,%d,%d,%d+,(%d+),(%d+)$")))[0], database$1 = $2[1], after$1 = $2[2];
seen$1 = ($3 = all(string.match((isTrue($4 = call$1("GET", "quorlock:guard")) ? $4 : ""), "^(%S+) (%d+) %d+ (%d+) (%d+) (%d)$")))[0], since$1 = $3[1], longest$1 = $3[2], place$1 = $3[3], state$1 = $3[4];
isReady$1 = ((((((longest$1 === maxTtl$1) && (place$1 === database$1)) && ((state$1 === "0") || ((state$1 === "1") && (proposal$1 === "")))) && (compared(tonumber(since$1), tonumber(after$1)) >= 0)) && (compared(tonumber(ttl$1), tonumber(maxTtl$1)) <= 0)) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
if (isTrue(isReady$1)) {
info$1 = call$1("INFO", "replication");
isReady$1 = (isTrue($5 = one(string.find(info$1, ("master_replid:" + (text(seen$1) + "\r")), 1, true))) ? one(string.find(info$1, "role:master", 1, true)) : $5);
}
if (((((isTrue(isReady$1) && (kind$1 === "v")) && (proposal$1 === "")) && (length(KEYS) === 1)) && isTrue(call$1("SET", get(KEYS, 1), token$1, "NX", "PX", ttl$1)))) {
return tonumber(ttl$1);
}




counterTtl$1 = 86400000, pastTtl$1 = 43200000;




if (((proposal$1 !== "") && (compared(tonumber(proposal$1), (((2) ** 53) - ((2) ** 20))) >= 0))) {
return redis.error_reply("ERR the fencing token is too large");
}

isForgetful$1 = false, isOfNew$1 = false;
if (!isTrue(isReady$1)) {
guarded$1 = undefined;





watch$1(terms$1);
why$1 = bar$1(kind$1, ttl$1, proposal$1);
if (isTrue(why$1)) {
return redis.error_reply(why$1);
}
$6 = inQuarantine$1(); $7 = isNew$1(); isForgetful$1 = $6; isOfNew$1 = $7;
}
granted$1 = claim$1(1, length(KEYS), token$1, ttl$1, (kind$1 !== "e"));
if ((type(granted$1) !== "number")) {
return refused$1(granted$1, isOfNew$1);
}
if (isTrue(isForgetful$1)) {
return new Table([(-2), granted$1]);
}
return (isTrue($9 = (($8 = (proposal$1 === "")) ? granted$1 : $8)) ? $9 : fenced$1(KEYS, granted$1, proposal$1));
}};
})(),
  "9796c544d99e736a67c0d6ea2e87869bda6d2ed2": (() => {
let redis, KEYS, ARGV, call$1, token$1, ttl$1, ticket$1, entryTtl$1, proposal$1, inbox$1, ownerFor$1, keyFor$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1, granted$1, next$1;
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$2) {
let $1, $2;
if ((owner$1 === token$2)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function claim$1(first$1, last$1, token$2, ttl$2, create$1) {
let $1;
let least$1 = tonumber(ttl$2);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$2)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$1 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$2) || (left$1 === (-2)));
let isShort$1 = ((left$1 !== (-1)) && (compared(left$1, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$2 : isShort$1)) ? $1 : left$1);
if (((isTrue(isShort$1) && (left$1 !== (-2))) || (isTrue(isOther$1) && (compared(left$1, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$1 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$2);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$2, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$1 = least$1;
}
if (((left$1 !== (-1)) && (!isTrue(shortest$1) || (compared(left$1, shortest$1) < 0)))) {
shortest$1 = left$1;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function queueOf$1(key$1) {
let $1, $2;
let isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
}
function lockOf$1(key$1) {
return key$1;
}
function leftOf$1(key$1) {
return call$1("PTTL", key$1);
}
function set$1(key$1, token$2, ms$1) {
call$1("SET", key$1, token$2, "PX", ms$1);
}
function finish$1(key$1) {
return call$1("DEL", key$1);
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$2, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$2)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$1, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$1))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$1, waiter$1) {
if ((call$1("ZREM", queue$1, waiter$1) === 1)) {
call$1("DEL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$1, token$2, lives$1, ttl$2) {
set$1(key$1, token$2, math.max(1, math.min(lives$1, tonumber(ttl$2))));
}
function grant$1(key$1, queue$1, waiter$1, token$2, ttl$2, inbox$2, proposal$2) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$1, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$2 !== "")) ? counterOf$1(new Table([lockOf$1(key$1)])) : $2);
set$1(key$1, token$2, ttl$2);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$1)]), math.max(counter$1, tonumber(proposal$2)));
}
let told$1 = redis.pcall("PUBLISH", inbox$2, (text(token$2) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$1, waiter$1);
} else {
reserve$1(key$1, token$2, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$2);
}
return told$1;
}
function sweep$1(queue$1, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$1, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$1, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$1, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$1, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$1, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$1, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$1, ending$1);
}
let queue$1 = queueOf$1(key$1);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$1)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$2 = $2[1], inbox$2 = $2[2], proposal$2 = $2[3], how$1 = $2[4];
let token$2 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$2 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$2) : $3);
key$1 = one(keyFor$1(key$1, how$1));
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$1, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(one(ownerFor$1(key$1, token$2))))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$2 === "")))) {
let told$1 = grant$1(key$1, queue$1, waiter$1, token$2, ttl$2, inbox$2, proposal$2);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$1, token$2);
}
} else {
reserve$1(key$1, token$2, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$2);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$2, ("wake " + text(token$2)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function enqueue$1(first$1, last$1, token$2, ttl$2, ticket$2, entryTtl$2, proposal$2, inbox$2, alone$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10;
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let queues$1 = new Table([]), isTaken$1 = new Table([]), blocked$1 = undefined, isHeld$1 = false;
function claimOnly$1(create$1) {
let next$1 = undefined;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
forget$1(get(queues$1, index$1), waiter$1);
let ticket$3 = get(call$1("ZRANGE", get(queues$1, index$1), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$3) && (!isTrue(next$1) || (compared(tonumber(ticket$3), tonumber(next$1)) < 0)))) {
next$1 = ticket$3;
}
}
return new Several([claim$1(first$1, last$1, token$2, ttl$2, create$1), next$1]);
}
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = one(ownerFor$1(get(KEYS, index$1), token$2));
isHeld$1 = (isTrue(isHeld$1) ? isHeld$1 : (owner$1 === token$2));
set(queues$1, index$1, queueOf$1(get(KEYS, index$1)));
set(isTaken$1, index$1, (isTrue($2 = (isTrue(owner$1) ? !isTrue(isMine$1(owner$1, token$2)) : owner$1)) ? owner$1 : $2));
if (isTrue(get(isTaken$1, index$1))) {
blocked$1 = (isTrue(blocked$1) ? blocked$1 : index$1);
}
}
if (isTrue(isHeld$1)) {
return claimOnly$1(false);
}
let waited$1 = 0;
for (let index$2 = number(first$1), last$3 = number((isTrue($3 = (isTrue(blocked$1) ? (number(first$1) - 1) : blocked$1)) ? $3 : last$1)); index$2 <= last$3; index$2 += 1) {
waited$1 = (number(waited$1) + number(call$1("EXISTS", get(queues$1, index$2))));
}
if ((!isTrue(blocked$1) && (waited$1 === 0))) {
return claim$1(first$1, last$1, token$2, ttl$2, true);
}
demand$1(get(KEYS, first$1), toEnter$1);
let place$1 = (":" + text(string.sub(waiter$1, 1, 20)));
let entry$1 = (text(round$1) + (" " + (text(ttl$2) + (" " + (text(inbox$2) + (" " + (text(proposal$2) + " ")))))));
let isFirst$1 = new Table([]), waitsFor$1 = undefined;
for (let index$3 = number(first$1), last$4 = number(last$1); index$3 <= last$4; index$3 += 1) {
let queue$1 = get(queues$1, index$3);
call$1("ZADD", queue$1, ticket$2, waiter$1);
if ((compared(call$1("PTTL", queue$1), tonumber(entryTtl$2)) < 0)) {
call$1("PEXPIRE", queue$1, (2 * number(entryTtl$2)));
}
if (((round$1 === "1") && (string.sub(ticket$2, (-1)) === "0"))) {
sweep$1(queue$1, 1, 80, waiter$1);
}
set(isFirst$1, index$3, (!isTrue(get(isTaken$1, index$3)) && (one(headOf$1(queue$1, waiter$1)) === waiter$1)));
if ((!isTrue(get(isTaken$1, index$3)) && !isTrue(get(isFirst$1, index$3)))) {
waitsFor$1 = (isTrue(waitsFor$1) ? waitsFor$1 : index$3);
}
}
let inTheWay$1 = (isTrue(blocked$1) ? blocked$1 : waitsFor$1), refusal$1 = undefined;
for (let index$4 = number(first$1), last$5 = number((isTrue($4 = (isTrue(inTheWay$1) ? last$1 : inTheWay$1)) ? $4 : (number(first$1) - 1))); index$4 <= last$5; index$4 += 1) {
let how$1 = (isTrue($8 = (isTrue($7 = (($5 = (first$1 === last$1)) ? alone$1 : $5)) ? $7 : (($6 = (index$4 === inTheWay$1)) ? "w" : $6))) ? $8 : "s");
call$1("SET", (text(get(queues$1, index$4)) + text(place$1)), (text(entry$1) + text(how$1)), "PX", entryTtl$2);
if (isTrue(get(isFirst$1, index$4))) {
reserve$1(get(KEYS, index$4), token$2, tonumber(entryTtl$2), ttl$2);
} else {
if (!isTrue(get(isTaken$1, index$4))) {
give$1(get(KEYS, index$4), token$2);
}
let owner$2 = (($10 = !isTrue(refusal$1)) ? (isTrue($9 = get(isTaken$1, index$4)) ? $9 : one(ownerFor$1(get(KEYS, index$4), token$2))) : $10);
if ((!isTrue(refusal$1) && !isTrue(isMine$1(owner$2, token$2)))) {
let latest$1 = get(call$1("ZRANGE", get(queues$1, index$4), (-1), (-1), "WITHSCORES"), 2);
let inWay$1 = (isTrue(owner$2) ? owner$2 : one(ownerFor$1(lockOf$1(get(KEYS, index$4)), token$2)));
refusal$1 = new Table([((index$4 - number(first$1)) + 1), masked$1(inWay$1), leftOf$1(get(KEYS, index$4)), latest$1]);
}
}
}
if (isTrue(refusal$1)) {
return refusal$1;
}
return claimOnly$1(true);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4, $5, $6;
call$1 = redis.call;
token$1 = ($1 = all(unpack(ARGV)))[0], ttl$1 = $1[1], ticket$1 = $1[2], entryTtl$1 = $1[3], proposal$1 = $1[4], inbox$1 = $1[5];
if (((proposal$1 !== "") && (compared(tonumber(proposal$1), (((2) ** 53) - ((2) ** 20))) >= 0))) {
return redis.error_reply("ERR the fencing token is too large");
}





ownerFor$1 = ownerOf$1;

keyFor$1 = lockOf$1;



toEnter$1 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$1 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$1 = false;
mayAsk$1 = (isTrue($2 = redis.replicate_commands) ? $2 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;




granted$1 = ($3 = all(enqueue$1(1, length(KEYS), token$1, ttl$1, ticket$1, entryTtl$1, proposal$1, inbox$1, "g")))[0], next$1 = $3[1];
if ((type(granted$1) !== "number")) {
return granted$1;
}
return (isTrue($6 = (isTrue($5 = (($4 = (proposal$1 !== "")) ? fenced$1(KEYS, granted$1, proposal$1, next$1) : $4)) ? $5 : (isTrue(next$1) ? new Table([(-3), granted$1, next$1]) : next$1))) ? $6 : granted$1);
}};
})(),
  "d13ca5a8533b081cc8427750a73efd5d3730f77a": (() => {
let redis, KEYS, ARGV, call$1, key$1, token$1, isTagged$1, queue$1, given$1, ownerFor$1, keyFor$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1, guarded$1, isKnown$1;
function queueOf$1(key$2) {
let $1, $2;
let isTagged$2 = (isTrue($1 = one(string.find(key$2, "{", 1, true))) ? one(string.find(key$2, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$2) ? ("quorlock:queue:tagged:" + text(key$2)) : isTagged$2)) ? $2 : ("quorlock:queue:{" + (text(key$2) + "}")));
}
function releaseUnwaited$1(first$1, last$1, token$2) {
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
if (((redis.pcall("GET", get(KEYS, index$1)) !== token$2) || (compared(call$1("EXISTS", queueOf$1(get(KEYS, index$1))), 0) > 0))) {
return undefined;
}
}
let given$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
given$1 = (number(given$1) + number(call$1("DEL", get(KEYS, index$2))));
}
return given$1;
}
function ownerOf$1(key$2) {
let $1;
let owner$1 = redis.pcall("GET", key$2);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$2);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$2), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$2) {
let $1, $2;
if ((owner$1 === token$2)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function drop$1(key$2, token$2) {
let $1, $2;
return (isTrue($2 = (isTrue($1 = isMine$1(ownerOf$1(key$2), token$2)) ? call$1("DEL", key$2) : $1)) ? $2 : 0);
}
function release$1(first$1, last$1, token$2) {
let released$1 = 0;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
released$1 = (number(released$1) + number(drop$1(get(KEYS, index$1), token$2)));
}
return released$1;
}
function lockOf$1(key$2) {
return key$2;
}
function leftOf$1(key$2) {
return call$1("PTTL", key$2);
}
function set$1(key$2, token$2, ms$1) {
call$1("SET", key$2, token$2, "PX", ms$1);
}
function finish$1(key$2) {
return call$1("DEL", key$2);
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$1, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$1)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$2, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$2))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$2, waiter$1) {
if ((call$1("ZREM", queue$2, waiter$1) === 1)) {
call$1("DEL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$2, token$2, lives$1, ttl$1) {
set$1(key$2, token$2, math.max(1, math.min(lives$1, tonumber(ttl$1))));
}
function grant$1(key$2, queue$2, waiter$1, token$2, ttl$1, inbox$1, proposal$1) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$2, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$1 !== "")) ? counterOf$1(new Table([lockOf$1(key$2)])) : $2);
set$1(key$2, token$2, ttl$1);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$2)]), math.max(counter$1, tonumber(proposal$1)));
}
let told$1 = redis.pcall("PUBLISH", inbox$1, (text(token$2) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$2, waiter$1);
} else {
reserve$1(key$2, token$2, call$1("PTTL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
}
return told$1;
}
function sweep$1(queue$2, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$2, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$2, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$2, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$2, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$2) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$2, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$2, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$2, ending$1);
}
let queue$2 = queueOf$1(key$2);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$2)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$1 = $2[1], inbox$1 = $2[2], proposal$1 = $2[3], how$1 = $2[4];
let token$2 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$1 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$1) : $3);
key$2 = one(keyFor$1(key$2, how$1));
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$2, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(one(ownerFor$1(key$2, token$2))))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$1 === "")))) {
let told$1 = grant$1(key$2, queue$2, waiter$1, token$2, ttl$1, inbox$1, proposal$1);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$2, token$2);
}
} else {
reserve$1(key$2, token$2, call$1("PTTL", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$1, ("wake " + text(token$2)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function leave$1(first$1, last$1, token$2) {
let $1, $2;
demand$1(get(KEYS, first$1), toGive$1);
let waiter$1 = ($1 = all(string.match(token$2, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
for (let index$1 = number(first$1), last$2 = number((isTrue($2 = (isTrue(waiter$1) ? last$1 : waiter$1)) ? $2 : 0)); index$1 <= last$2; index$1 += 1) {
let queue$2 = queueOf$1(get(KEYS, index$1));
let entry$1 = call$1("GET", (text(queue$2) + (":" + text(string.sub(waiter$1, 1, 20)))));
let entered$1 = (isTrue(entry$1) ? tonumber(...all(string.match(entry$1, "^%d+"))) : entry$1);
if ((isTrue(entered$1) && (compared(entered$1, tonumber(round$1)) <= 0))) {
forget$1(queue$2, waiter$1);
}
}
let released$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let dropped$1 = drop$1(get(KEYS, index$2), token$2);
released$1 = (number(released$1) + number(dropped$1));
if (((dropped$1 === 1) || isTrue(mayShare$1))) {
give$1(get(KEYS, index$2));
}
}
return released$1;
}
function mark$1(state$1, ends$1, length$1) {
let $1, $2, $3;
if (isTrue(length$1)) {
call$1("SET", "quorlock:quarantine", exactly$1(length$1), "PX", exactly$1(length$1));
}
let words$1 = new Table([get(guarded$1, "replId"), get(guarded$1, "since"), exactly$1(ends$1), get(guarded$1, "longest"), get(guarded$1, "database"), state$1]);
call$1("SET", "quorlock:guard", table.concat(words$1, " "));
function keepInMemory$1() {
call$1("SET", "quorlock:guard:memory", get(guarded$1, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$1, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$1 = ($1 = all(pcall(keepInMemory$1)))[0], why$1 = $1[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$1)) {
error(why$1, 0);
}
$2 = state$1; $3 = ends$1; set(guarded$1, "state", $2); set(guarded$1, "ends", $3);
}
function watch$1(terms$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17;
function isMemoryOf$1(was$1, since$1, durable$1, info$1) {
let isSame$1 = (was$1 === get(guarded$1, "replId"));
if ((!isTrue(isSame$1) && !isTrue(one(string.find(info$1, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$1 === "1") && !isTrue(isSame$1))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$1) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$1 = undefined;
let maxTtl$1 = ($1 = all(string.match(terms$1, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$1 = $1[1], durable$1 = $1[2], right$1 = $1[3], now$1 = $1[4], database$1 = $1[5], after$1 = $1[6];
if (!isTrue(maxTtl$1)) {
return ;
}
now$1 = tonumber(now$1);
guarded$1 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$1).set("now", now$1);
let info$1 = call$1("INFO", "replication");
set(guarded$1, "replId", one(string.match(info$1, "master_replid:(%S+)")));
if (!isTrue(get(guarded$1, "replId"))) {
set(guarded$1, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$1, "role:master", 1, true)))) {
set(guarded$1, "why", "READONLY it is a replica");
return ;
}
let was$1 = ($2 = all(string.match((isTrue($3 = call$1("GET", "quorlock:guard")) ? $3 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$1 = $2[1], ends$1 = $2[2], longest$1 = $2[3], place$1 = $2[4], state$1 = $2[5];
let isKnown$1 = (isTrue($5 = (isTrue($4 = (isTrue(was$1) ? (place$1 === database$1) : was$1)) ? (compared(tonumber(since$1), tonumber(after$1)) >= 0) : $4)) ? isMemoryOf$1(was$1, since$1, durable$1, info$1) : $5);
if (isTrue(isKnown$1)) {
$6 = since$1; $7 = longest$1; $8 = place$1; set(guarded$1, "since", $6); set(guarded$1, "longest", $7); set(guarded$1, "database", $8);
$9 = state$1; $10 = tonumber(ends$1); $11 = true; set(guarded$1, "state", $9); set(guarded$1, "ends", $10); set(guarded$1, "isKnown", $11);
if ((was$1 !== get(guarded$1, "replId"))) {
pcall(mark$1, state$1, get(guarded$1, "ends"));
}
} else if ((right$1 === "0")) {
return ;
} else if ((right$1 === "3")) {
if (!isTrue(was$1)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$1)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$1) && (right$1 !== "4"))) {
if ((state$1 === "2")) {
let left$1 = call$1("PTTL", "quorlock:quarantine"), length$1 = tonumber((isTrue($12 = call$1("GET", "quorlock:quarantine")) ? $12 : ""));
if ((isTrue(length$1) && (compared(left$1, length$1) > 0))) {
call$1("PEXPIRE", "quorlock:quarantine", length$1);
left$1 = length$1;
}
let isFar$1 = (compared(get(guarded$1, "ends"), (number(now$1) + number(math.max(tonumber(longest$1), left$1)))) > 0);
if (isTrue(isFar$1)) {
pcall(mark$1, "2", (number(now$1) + number((isTrue($14 = (($13 = (left$1 === (-2))) ? tonumber(longest$1) : $13)) ? $14 : left$1))));
}
if (((left$1 === (-2)) && (compared(get(guarded$1, "ends"), now$1) <= 0))) {
pcall(mark$1, "1", 0);
}
}
} else {
let length$2 = math.max(tonumber((isTrue(longest$1) ? longest$1 : 0)), tonumber(maxTtl$1));
set(guarded$1, "since", exactly$1(math.max((number(tonumber((isTrue(since$1) ? since$1 : 0))) + 1), tonumber(epoch$1))));
$16 = database$1; $17 = (isTrue($15 = (isTrue(isKnown$1) ? longest$1 : isKnown$1)) ? $15 : maxTtl$1); set(guarded$1, "database", $16); set(guarded$1, "longest", $17);
let isForClock$1 = (isTrue(isKnown$1) ? ((state$1 !== "2") || (call$1("GET", "quorlock:guard:clock") === since$1)) : isKnown$1);
if (isTrue(isForClock$1)) {
call$1("SET", "quorlock:guard:clock", get(guarded$1, "since"));
}
if (((right$1 !== "2") || isTrue(was$1))) {
mark$1("2", (number(now$1) + number(length$2)), length$2);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$1))))) {
mark$1("0", 0);
} else {
set(guarded$1, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$1, "isKnown", true);
}
set(guarded$1, "why", undefined);
}
function bar$1(kind$1, ttl$1, proposal$1) {
if (isTrue(get(guarded$1, "why"))) {
return get(guarded$1, "why");
}
if (((get(guarded$1, "longest") !== get(guarded$1, "wanted")) || (compared(tonumber(ttl$1), tonumber(get(guarded$1, "longest"))) > 0))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$1, "longest")) + " ms here"));
}
if (((proposal$1 === "") && ((kind$1 === "e") || (kind$1 === "p")))) {
return undefined;
}
if ((get(guarded$1, "state") === "2")) {
let left$1 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$1, "ends")) - number(get(guarded$1, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$1(left$1)) + " ms more"));
}
if (((proposal$1 !== "") && (get(guarded$1, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$1, "since")));
}
}
function inQuarantine$1() {
let $1;
return (isTrue(guarded$1) ? (isTrue($1 = get(guarded$1, "why")) ? $1 : (get(guarded$1, "state") === "2")) : guarded$1);
}
function isNew$1() {
let $1;
return (isTrue($1 = (isTrue(guarded$1) ? (get(guarded$1, "state") === "2") : guarded$1)) ? (call$1("GET", "quorlock:guard:clock") !== get(guarded$1, "since")) : $1);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4;
call$1 = redis.call;
key$1 = get(KEYS, 1), token$1 = get(ARGV, length(ARGV));
if ((!isTrue(get(KEYS, 2)) && (redis.pcall("GET", key$1) === token$1))) {
isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
queue$1 = (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
if ((call$1("EXISTS", queue$1) === 0)) {
return call$1("DEL", key$1);
}
}


given$1 = (isTrue($3 = get(KEYS, 2)) ? releaseUnwaited$1(1, length(KEYS), token$1) : $3);
if (isTrue(given$1)) {
return given$1;
}




ownerFor$1 = ownerOf$1;

keyFor$1 = lockOf$1;



toEnter$1 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$1 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$1 = false;
mayAsk$1 = (isTrue($4 = redis.replicate_commands) ? $4 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;




guarded$1 = undefined;





isKnown$1 = one(pcall(watch$1, get(ARGV, 1)));
if ((!isTrue(isKnown$1) || isTrue(inQuarantine$1()))) {
return release$1(1, length(KEYS), token$1);
}
isSeeded$1 = (!isTrue(guarded$1) || (get(guarded$1, "state") !== "1"));
return leave$1(1, length(KEYS), token$1);
}};
})(),
  "9a389dc7c43c16df778fa2b90f4e9fba61f93eac": (() => {
let redis, KEYS, ARGV, call$1, ownerFor$1, keyFor$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1, guarded$1, replies$1, key$1, arg$1, question$1;
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$1) {
let $1, $2;
if ((owner$1 === token$1)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function claim$1(first$1, last$1, token$1, ttl$1, create$1) {
let $1;
let least$1 = tonumber(ttl$1);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$1)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$1 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$1) || (left$1 === (-2)));
let isShort$1 = ((left$1 !== (-1)) && (compared(left$1, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$1 : isShort$1)) ? $1 : left$1);
if (((isTrue(isShort$1) && (left$1 !== (-2))) || (isTrue(isOther$1) && (compared(left$1, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$1 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$1);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$1, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$1 = least$1;
}
if (((left$1 !== (-1)) && (!isTrue(shortest$1) || (compared(left$1, shortest$1) < 0)))) {
shortest$1 = left$1;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function voteAll$1(key$1, arg$1, count$1, ttl$1) {
for (let place$1 = 0, last$1 = (number(count$1) - 1); place$1 <= last$1; place$1 += 1) {
let set$1 = redis.pcall("SET", get(KEYS, (number(key$1) + place$1)), get(ARGV, (number(arg$1) + place$1)), "NX", "PX", ttl$1);
if ((!isTrue(set$1) || isTrue(get(set$1, "err")))) {
return place$1;
}
}
return count$1;
}
function drop$1(key$1, token$1) {
let $1, $2;
return (isTrue($2 = (isTrue($1 = isMine$1(ownerOf$1(key$1), token$1)) ? call$1("DEL", key$1) : $1)) ? $2 : 0);
}
function release$1(first$1, last$1, token$1) {
let released$1 = 0;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
released$1 = (number(released$1) + number(drop$1(get(KEYS, index$1), token$1)));
}
return released$1;
}
function queueOf$1(key$1) {
let $1, $2;
let isTagged$1 = (isTrue($1 = one(string.find(key$1, "{", 1, true))) ? one(string.find(key$1, "^[^{]*{[^}]+}")) : $1);
return (isTrue($2 = (isTrue(isTagged$1) ? ("quorlock:queue:tagged:" + text(key$1)) : isTagged$1)) ? $2 : ("quorlock:queue:{" + (text(key$1) + "}")));
}
function lockOf$1(key$1) {
return key$1;
}
function leftOf$1(key$1) {
return call$1("PTTL", key$1);
}
function set$1(key$1, token$1, ms$1) {
call$1("SET", key$1, token$1, "PX", ms$1);
}
function finish$1(key$1) {
return call$1("DEL", key$1);
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$1, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$1)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$1, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$1))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$1, waiter$1) {
if ((call$1("ZREM", queue$1, waiter$1) === 1)) {
call$1("DEL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$1, token$1, lives$1, ttl$1) {
set$1(key$1, token$1, math.max(1, math.min(lives$1, tonumber(ttl$1))));
}
function grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$1, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$1 !== "")) ? counterOf$1(new Table([lockOf$1(key$1)])) : $2);
set$1(key$1, token$1, ttl$1);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$1)]), math.max(counter$1, tonumber(proposal$1)));
}
let told$1 = redis.pcall("PUBLISH", inbox$1, (text(token$1) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$1, waiter$1);
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
}
return told$1;
}
function sweep$1(queue$1, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$1, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$1, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$1, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$1, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$1, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$1, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$1, ending$1);
}
let queue$1 = queueOf$1(key$1);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$1)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$1 = $2[1], inbox$1 = $2[2], proposal$1 = $2[3], how$1 = $2[4];
let token$1 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$1 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$1) : $3);
key$1 = one(keyFor$1(key$1, how$1));
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$1, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(one(ownerFor$1(key$1, token$1))))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$1 === "")))) {
let told$1 = grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$1, token$1);
}
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$1, ("wake " + text(token$1)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function releaseUnwaited$1(first$1, last$1, token$1) {
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
if (((redis.pcall("GET", get(KEYS, index$1)) !== token$1) || (compared(call$1("EXISTS", queueOf$1(get(KEYS, index$1))), 0) > 0))) {
return undefined;
}
}
let given$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
given$1 = (number(given$1) + number(call$1("DEL", get(KEYS, index$2))));
}
return given$1;
}
function releaseAllUnwaited$1(first$1, last$1, from$1) {
let $1, $2;
let owners$1 = call$1("MGET", ...all(unpack(KEYS, first$1, last$1))), queues$1 = new Table([]);
for (let place$1 = 1, last$2 = ((number(last$1) - number(first$1)) + 1); place$1 <= last$2; place$1 += 1) {
if ((get(owners$1, place$1) !== get(ARGV, ((number(from$1) + place$1) - 1)))) {
return undefined;
}
set(queues$1, place$1, queueOf$1(get(KEYS, ((number(first$1) + place$1) - 1))));
}
if ((compared(call$1("EXISTS", ...all(unpack(queues$1))), 0) > 0)) {
return undefined;
}
let gone$1 = call$1("DEL", ...all(unpack(KEYS, first$1, last$1)));
if ((gone$1 === length(queues$1))) {
return gone$1;
}
let each$1 = new Table([]), seen$1 = new Table([]);
for (let place$2 = 1, last$3 = length(queues$1); place$2 <= last$3; place$2 += 1) {
let key$1 = get(KEYS, ((number(first$1) + place$2) - 1));
set(each$1, place$2, (isTrue($2 = (isTrue($1 = get(seen$1, key$1)) ? 0 : $1)) ? $2 : 1));
set(seen$1, key$1, true);
}
return each$1;
}
function failure$1(reason$1) {
let $1, $2;
return new Table([0, (isTrue($2 = (($1 = (type(reason$1) === "table")) ? get(reason$1, "err") : $1)) ? $2 : tostring(reason$1))]);
}
function enqueue$1(first$1, last$1, token$1, ttl$1, ticket$1, entryTtl$1, proposal$1, inbox$1, alone$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10;
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let queues$1 = new Table([]), isTaken$1 = new Table([]), blocked$1 = undefined, isHeld$1 = false;
function claimOnly$1(create$1) {
let next$1 = undefined;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
forget$1(get(queues$1, index$1), waiter$1);
let ticket$2 = get(call$1("ZRANGE", get(queues$1, index$1), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$2) && (!isTrue(next$1) || (compared(tonumber(ticket$2), tonumber(next$1)) < 0)))) {
next$1 = ticket$2;
}
}
return new Several([claim$1(first$1, last$1, token$1, ttl$1, create$1), next$1]);
}
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = one(ownerFor$1(get(KEYS, index$1), token$1));
isHeld$1 = (isTrue(isHeld$1) ? isHeld$1 : (owner$1 === token$1));
set(queues$1, index$1, queueOf$1(get(KEYS, index$1)));
set(isTaken$1, index$1, (isTrue($2 = (isTrue(owner$1) ? !isTrue(isMine$1(owner$1, token$1)) : owner$1)) ? owner$1 : $2));
if (isTrue(get(isTaken$1, index$1))) {
blocked$1 = (isTrue(blocked$1) ? blocked$1 : index$1);
}
}
if (isTrue(isHeld$1)) {
return claimOnly$1(false);
}
let waited$1 = 0;
for (let index$2 = number(first$1), last$3 = number((isTrue($3 = (isTrue(blocked$1) ? (number(first$1) - 1) : blocked$1)) ? $3 : last$1)); index$2 <= last$3; index$2 += 1) {
waited$1 = (number(waited$1) + number(call$1("EXISTS", get(queues$1, index$2))));
}
if ((!isTrue(blocked$1) && (waited$1 === 0))) {
return claim$1(first$1, last$1, token$1, ttl$1, true);
}
demand$1(get(KEYS, first$1), toEnter$1);
let place$1 = (":" + text(string.sub(waiter$1, 1, 20)));
let entry$1 = (text(round$1) + (" " + (text(ttl$1) + (" " + (text(inbox$1) + (" " + (text(proposal$1) + " ")))))));
let isFirst$1 = new Table([]), waitsFor$1 = undefined;
for (let index$3 = number(first$1), last$4 = number(last$1); index$3 <= last$4; index$3 += 1) {
let queue$1 = get(queues$1, index$3);
call$1("ZADD", queue$1, ticket$1, waiter$1);
if ((compared(call$1("PTTL", queue$1), tonumber(entryTtl$1)) < 0)) {
call$1("PEXPIRE", queue$1, (2 * number(entryTtl$1)));
}
if (((round$1 === "1") && (string.sub(ticket$1, (-1)) === "0"))) {
sweep$1(queue$1, 1, 80, waiter$1);
}
set(isFirst$1, index$3, (!isTrue(get(isTaken$1, index$3)) && (one(headOf$1(queue$1, waiter$1)) === waiter$1)));
if ((!isTrue(get(isTaken$1, index$3)) && !isTrue(get(isFirst$1, index$3)))) {
waitsFor$1 = (isTrue(waitsFor$1) ? waitsFor$1 : index$3);
}
}
let inTheWay$1 = (isTrue(blocked$1) ? blocked$1 : waitsFor$1), refusal$1 = undefined;
for (let index$4 = number(first$1), last$5 = number((isTrue($4 = (isTrue(inTheWay$1) ? last$1 : inTheWay$1)) ? $4 : (number(first$1) - 1))); index$4 <= last$5; index$4 += 1) {
let how$1 = (isTrue($8 = (isTrue($7 = (($5 = (first$1 === last$1)) ? alone$1 : $5)) ? $7 : (($6 = (index$4 === inTheWay$1)) ? "w" : $6))) ? $8 : "s");
call$1("SET", (text(get(queues$1, index$4)) + text(place$1)), (text(entry$1) + text(how$1)), "PX", entryTtl$1);
if (isTrue(get(isFirst$1, index$4))) {
reserve$1(get(KEYS, index$4), token$1, tonumber(entryTtl$1), ttl$1);
} else {
if (!isTrue(get(isTaken$1, index$4))) {
give$1(get(KEYS, index$4), token$1);
}
let owner$2 = (($10 = !isTrue(refusal$1)) ? (isTrue($9 = get(isTaken$1, index$4)) ? $9 : one(ownerFor$1(get(KEYS, index$4), token$1))) : $10);
if ((!isTrue(refusal$1) && !isTrue(isMine$1(owner$2, token$1)))) {
let latest$1 = get(call$1("ZRANGE", get(queues$1, index$4), (-1), (-1), "WITHSCORES"), 2);
let inWay$1 = (isTrue(owner$2) ? owner$2 : one(ownerFor$1(lockOf$1(get(KEYS, index$4)), token$1)));
refusal$1 = new Table([((index$4 - number(first$1)) + 1), masked$1(inWay$1), leftOf$1(get(KEYS, index$4)), latest$1]);
}
}
}
if (isTrue(refusal$1)) {
return refusal$1;
}
return claimOnly$1(true);
}
function leave$1(first$1, last$1, token$1) {
let $1, $2;
demand$1(get(KEYS, first$1), toGive$1);
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
for (let index$1 = number(first$1), last$2 = number((isTrue($2 = (isTrue(waiter$1) ? last$1 : waiter$1)) ? $2 : 0)); index$1 <= last$2; index$1 += 1) {
let queue$1 = queueOf$1(get(KEYS, index$1));
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
let entered$1 = (isTrue(entry$1) ? tonumber(...all(string.match(entry$1, "^%d+"))) : entry$1);
if ((isTrue(entered$1) && (compared(entered$1, tonumber(round$1)) <= 0))) {
forget$1(queue$1, waiter$1);
}
}
let released$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let dropped$1 = drop$1(get(KEYS, index$2), token$1);
released$1 = (number(released$1) + number(dropped$1));
if (((dropped$1 === 1) || isTrue(mayShare$1))) {
give$1(get(KEYS, index$2));
}
}
return released$1;
}
function mark$1(state$1, ends$1, length$1) {
let $1, $2, $3;
if (isTrue(length$1)) {
call$1("SET", "quorlock:quarantine", exactly$1(length$1), "PX", exactly$1(length$1));
}
let words$1 = new Table([get(guarded$1, "replId"), get(guarded$1, "since"), exactly$1(ends$1), get(guarded$1, "longest"), get(guarded$1, "database"), state$1]);
call$1("SET", "quorlock:guard", table.concat(words$1, " "));
function keepInMemory$1() {
call$1("SET", "quorlock:guard:memory", get(guarded$1, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$1, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$1 = ($1 = all(pcall(keepInMemory$1)))[0], why$1 = $1[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$1)) {
error(why$1, 0);
}
$2 = state$1; $3 = ends$1; set(guarded$1, "state", $2); set(guarded$1, "ends", $3);
}
function watch$1(terms$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17;
function isMemoryOf$1(was$1, since$1, durable$1, info$1) {
let isSame$1 = (was$1 === get(guarded$1, "replId"));
if ((!isTrue(isSame$1) && !isTrue(one(string.find(info$1, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$1 === "1") && !isTrue(isSame$1))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$1) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$1 = undefined;
let maxTtl$1 = ($1 = all(string.match(terms$1, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$1 = $1[1], durable$1 = $1[2], right$1 = $1[3], now$1 = $1[4], database$1 = $1[5], after$1 = $1[6];
if (!isTrue(maxTtl$1)) {
return ;
}
now$1 = tonumber(now$1);
guarded$1 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$1).set("now", now$1);
let info$1 = call$1("INFO", "replication");
set(guarded$1, "replId", one(string.match(info$1, "master_replid:(%S+)")));
if (!isTrue(get(guarded$1, "replId"))) {
set(guarded$1, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$1, "role:master", 1, true)))) {
set(guarded$1, "why", "READONLY it is a replica");
return ;
}
let was$1 = ($2 = all(string.match((isTrue($3 = call$1("GET", "quorlock:guard")) ? $3 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$1 = $2[1], ends$1 = $2[2], longest$1 = $2[3], place$1 = $2[4], state$1 = $2[5];
let isKnown$1 = (isTrue($5 = (isTrue($4 = (isTrue(was$1) ? (place$1 === database$1) : was$1)) ? (compared(tonumber(since$1), tonumber(after$1)) >= 0) : $4)) ? isMemoryOf$1(was$1, since$1, durable$1, info$1) : $5);
if (isTrue(isKnown$1)) {
$6 = since$1; $7 = longest$1; $8 = place$1; set(guarded$1, "since", $6); set(guarded$1, "longest", $7); set(guarded$1, "database", $8);
$9 = state$1; $10 = tonumber(ends$1); $11 = true; set(guarded$1, "state", $9); set(guarded$1, "ends", $10); set(guarded$1, "isKnown", $11);
if ((was$1 !== get(guarded$1, "replId"))) {
pcall(mark$1, state$1, get(guarded$1, "ends"));
}
} else if ((right$1 === "0")) {
return ;
} else if ((right$1 === "3")) {
if (!isTrue(was$1)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$1)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$1) && (right$1 !== "4"))) {
if ((state$1 === "2")) {
let left$1 = call$1("PTTL", "quorlock:quarantine"), length$1 = tonumber((isTrue($12 = call$1("GET", "quorlock:quarantine")) ? $12 : ""));
if ((isTrue(length$1) && (compared(left$1, length$1) > 0))) {
call$1("PEXPIRE", "quorlock:quarantine", length$1);
left$1 = length$1;
}
let isFar$1 = (compared(get(guarded$1, "ends"), (number(now$1) + number(math.max(tonumber(longest$1), left$1)))) > 0);
if (isTrue(isFar$1)) {
pcall(mark$1, "2", (number(now$1) + number((isTrue($14 = (($13 = (left$1 === (-2))) ? tonumber(longest$1) : $13)) ? $14 : left$1))));
}
if (((left$1 === (-2)) && (compared(get(guarded$1, "ends"), now$1) <= 0))) {
pcall(mark$1, "1", 0);
}
}
} else {
let length$2 = math.max(tonumber((isTrue(longest$1) ? longest$1 : 0)), tonumber(maxTtl$1));
set(guarded$1, "since", exactly$1(math.max((number(tonumber((isTrue(since$1) ? since$1 : 0))) + 1), tonumber(epoch$1))));
$16 = database$1; $17 = (isTrue($15 = (isTrue(isKnown$1) ? longest$1 : isKnown$1)) ? $15 : maxTtl$1); set(guarded$1, "database", $16); set(guarded$1, "longest", $17);
let isForClock$1 = (isTrue(isKnown$1) ? ((state$1 !== "2") || (call$1("GET", "quorlock:guard:clock") === since$1)) : isKnown$1);
if (isTrue(isForClock$1)) {
call$1("SET", "quorlock:guard:clock", get(guarded$1, "since"));
}
if (((right$1 !== "2") || isTrue(was$1))) {
mark$1("2", (number(now$1) + number(length$2)), length$2);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$1))))) {
mark$1("0", 0);
} else {
set(guarded$1, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$1, "isKnown", true);
}
set(guarded$1, "why", undefined);
}
function bar$1(kind$1, ttl$1, proposal$1) {
if (isTrue(get(guarded$1, "why"))) {
return get(guarded$1, "why");
}
if (((get(guarded$1, "longest") !== get(guarded$1, "wanted")) || (compared(tonumber(ttl$1), tonumber(get(guarded$1, "longest"))) > 0))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$1, "longest")) + " ms here"));
}
if (((proposal$1 === "") && ((kind$1 === "e") || (kind$1 === "p")))) {
return undefined;
}
if ((get(guarded$1, "state") === "2")) {
let left$1 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$1, "ends")) - number(get(guarded$1, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$1(left$1)) + " ms more"));
}
if (((proposal$1 !== "") && (get(guarded$1, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$1, "since")));
}
}
function inQuarantine$1() {
let $1;
return (isTrue(guarded$1) ? (isTrue($1 = get(guarded$1, "why")) ? $1 : (get(guarded$1, "state") === "2")) : guarded$1);
}
function isNew$1() {
let $1;
return (isTrue($1 = (isTrue(guarded$1) ? (get(guarded$1, "state") === "2") : guarded$1)) ? (call$1("GET", "quorlock:guard:clock") !== get(guarded$1, "since")) : $1);
}
function guardState$1() {
let $1, $2, $3, $4;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$1 = ($1 = all(string.match((isTrue($2 = call$1("GET", "quorlock:guard")) ? $2 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$1 = $1[1], longest$1 = $1[2], state$1 = $1[3];
let left$1 = call$1("PTTL", "quorlock:quarantine"), floor$1 = call$1("GET", "quorlock:floor");
let isKnown$1 = (isTrue($4 = (isTrue($3 = (isTrue(guarded$1) ? get(guarded$1, "isKnown") : guarded$1)) ? 1 : $3)) ? $4 : 0);
return new Table([tonumber((isTrue(longest$1) ? longest$1 : 0)), left$1, (isTrue(since$1) ? since$1 : "0"), tonumber((isTrue(state$1) ? state$1 : 2)), (isTrue(floor$1) ? floor$1 : "0"), isKnown$1]);
}
function restoreCounters$1(epoch$1, floor$1) {
if ((((!isTrue(guarded$1) || isTrue(get(guarded$1, "why"))) || (get(guarded$1, "state") !== "1")) || (get(guarded$1, "since") !== epoch$1))) {
return 0;
}
raise$1(new Table([]), math.max(counterOf$1(new Table([])), tonumber(floor$1)));
call$1("SET", "quorlock:floor:past", floor$1, "PX", pastTtl$1);
mark$1("0", 0);
return 1;
}
function claimed$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1) {
let token$1 = get(ARGV, arg$1);
if ((((kind$1 === "v") && (key$1 === last$1)) && isTrue(call$1("SET", get(KEYS, key$1), token$1, "NX", "PX", number$1)))) {
return tonumber(number$1);
}
if ((kind$1 === "q")) {
return enqueue$1(key$1, last$1, token$1, number$1, ticket$1, entryTtl$1, proposal$1, get(ARGV, (number(arg$1) + 1)), "g");
}
return claim$1(key$1, last$1, token$1, number$1, (kind$1 !== "e"));
}
function inBulk$1(kind$1, count$1, number$1, proposal$1) {
let $1, $2, $3, $4, $5, $6;
let done$1 = 0, each$1 = new Table([]), reply$1 = 1;
if ((((kind$1 === "v") && (proposal$1 === "")) && !isTrue(guarded$1))) {
$1 = voteAll$1(key$1, arg$1, count$1, number$1); $2 = tonumber(number$1); done$1 = $1; reply$1 = $2;
} else if ((kind$1 === "l")) {
let isDone$1 = ($3 = all(pcall(releaseAllUnwaited$1, key$1, ((number(key$1) + number(count$1)) - 1), arg$1)))[0], gone$1 = $3[1];
if ((isTrue(isDone$1) && isTrue(gone$1))) {
done$1 = count$1;
}
if ((isTrue(isDone$1) && (type(gone$1) === "table"))) {
each$1 = gone$1;
}
}
for (let place$1 = 1, last$1 = number(done$1); place$1 <= last$1; place$1 += 1) {
set(replies$1, (length(replies$1) + 1), (isTrue($4 = get(each$1, place$1)) ? $4 : reply$1));
}
$5 = (number(key$1) + number(done$1)); $6 = (number(arg$1) + number(done$1)); key$1 = $5; arg$1 = $6;
return done$1;
}
function refused$1(refusal$1, isOfNew$1) {
let $1, $2;
if ((isTrue(isOfNew$1) && !isTrue(get(refusal$1, 2)))) {
$1 = false; $2 = 1; set(refusal$1, 4, $1); set(refusal$1, 5, $2);
}
return refusal$1;
}
function run$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1) {
let $1, $2, $3, $4, $5;
if ((kind$1 === "g")) {
watch$1(get(ARGV, arg$1));
isSeeded$1 = (!isTrue(guarded$1) || (get(guarded$1, "state") !== "1"));
return ;
}
if ((kind$1 === "h")) {
return guardState$1();
}
if ((kind$1 === "f")) {
let seeded$1 = restoreCounters$1(number$1, ticket$1);
isSeeded$1 = (isTrue(isSeeded$1) ? isSeeded$1 : (seeded$1 === 1));
return seeded$1;
}
if ((kind$1 === "c")) {
return call$1("TIME");
}
if (((kind$1 === "r") || ((kind$1 === "l") && isTrue(inQuarantine$1())))) {
return release$1(key$1, last$1, get(ARGV, arg$1));
}
if ((kind$1 === "l")) {
return (isTrue($1 = releaseUnwaited$1(key$1, last$1, get(ARGV, arg$1))) ? $1 : leave$1(key$1, last$1, get(ARGV, arg$1)));
}
if ((kind$1 === "i")) {
return new Table([masked$1(call$1("GET", get(KEYS, key$1))), call$1("PTTL", get(KEYS, key$1)), call$1("ZCARD", queueOf$1(get(KEYS, key$1)))]);
}
if (((proposal$1 !== "") && (compared(tonumber(proposal$1), (((2) ** 53) - ((2) ** 20))) >= 0))) {
error("ERR the fencing token is too large", 0);
}
let why$1 = (isTrue(guarded$1) ? bar$1(kind$1, number$1, proposal$1) : guarded$1);
if (isTrue(why$1)) {
error(why$1, 0);
}
if ((kind$1 === "u")) {
let owner$1 = ownerOf$1(get(KEYS, last$1));
if (isTrue(owner$1)) {
return new Table([((number(last$1) - number(key$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, last$1))]);
}
$2 = "v"; $3 = (number(last$1) - 1); kind$1 = $2; last$1 = $3;
}
let reply$1 = ($4 = all(claimed$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1)))[0], next$1 = $4[1];
if ((type(reply$1) !== "number")) {
return refused$1(reply$1, isNew$1());
}
if ((isTrue(guarded$1) && isTrue(inQuarantine$1()))) {
return new Table([(-2), reply$1]);
}
if ((proposal$1 !== "")) {
let locks$1 = new Table([]);
for (let index$1 = number(key$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
set(locks$1, ((index$1 - number(key$1)) + 1), lockOf$1(get(KEYS, index$1)));
}
return fenced$1(locks$1, reply$1, proposal$1, next$1);
}
return (isTrue($5 = (isTrue(next$1) ? new Table([(-3), reply$1, next$1]) : next$1)) ? $5 : reply$1);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4, $5;
call$1 = redis.call;








ownerFor$1 = ownerOf$1;

keyFor$1 = lockOf$1;



toEnter$1 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$1 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$1 = false;
mayAsk$1 = (isTrue($1 = redis.replicate_commands) ? $1 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;








guarded$1 = undefined;







replies$1 = new Table([]), key$1 = 1, arg$1 = 2;




question$1 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$1, kind$1, keys$1, number$1, ticket$1, entryTtl$1, proposal$1] of matches(get(ARGV, 1), question$1)) {
let keyCount$1 = tonumber(keys$1), argCount$1 = 0;
if ((kind$1 === "q")) {
argCount$1 = 2;
} else if (((((kind$1 !== "i") && (kind$1 !== "c")) && (kind$1 !== "h")) && (kind$1 !== "f"))) {
argCount$1 = 1;
}
let count$1 = (isTrue($2 = tonumber(times$1)) ? $2 : 1);
if (((compared(count$1, 1) > 0) && (keys$1 === "1"))) {
count$1 = (number(count$1) - number(inBulk$1(kind$1, count$1, number$1, proposal$1)));
}
for (let _$1 = 1, last$1 = number(count$1); _$1 <= last$1; _$1 += 1) {
let last$2 = ((number(key$1) + number(keyCount$1)) - 1);
let done$1 = ($3 = all(pcall(run$1, kind$1, last$2, number$1, ticket$1, entryTtl$1, proposal$1)))[0], reply$1 = $3[1];
if (!isTrue(done$1)) {
reply$1 = failure$1(reply$1);
}
if ((kind$1 !== "g")) {
set(replies$1, (length(replies$1) + 1), reply$1);
} else if (!isTrue(done$1)) {
guarded$1 = new Table([]).set("why", get(reply$1, 2));
}
$4 = (number(last$2) + 1); $5 = (number(arg$1) + number(argCount$1)); key$1 = $4; arg$1 = $5;
}
}
return replies$1;
}};
})(),
  "4163abc325078ab803ff36dc62f429d8275668f6": (() => {
let redis, KEYS, ARGV, call$1, time$1, now$1, joined$1, drop$1, claimExclusive$1, needed$1, toEnter$1, toGive$1, mayShare$1, mayAsk$1, counterTtl$1, pastTtl$1, isSeeded$1, sweeps$1, swept$1, unswept$1, skips$1, guarded$1, replies$1, key$1, arg$1, runAny$1, question$1;
function ownerOf$1(key$1) {
let $1;
let owner$1 = redis.pcall("GET", key$1);
if ((type(owner$1) !== "table")) {
return owner$1;
}
if (!isTrue(one(string.find(get(owner$1, "err"), "^WRONGTYPE")))) {
return call$1("GET", key$1);
}
return ("(" + (text((isTrue($1 = get(redis.pcall("TYPE", key$1), "ok")) ? $1 : "no string")) + ")"));
}
function isMine$1(owner$1, token$1) {
let $1, $2;
if ((owner$1 === token$1)) {
return true;
}
if (!isTrue(owner$1)) {
return false;
}
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let other$1 = ($2 = all(string.match(owner$1, "^(.+)%.(%d+)$")))[0], earlier$1 = $2[1];
return (((waiter$1 !== undefined) && (waiter$1 === other$1)) && (compared(tonumber(earlier$1), tonumber(round$1)) < 0));
}
function masked$1(owner$1) {
let $1;
if ((!isTrue(owner$1) || isTrue(one(string.find(owner$1, "^%([%a -]+%)$"))))) {
return owner$1;
}
let round$1 = (isTrue($1 = one(string.match(owner$1, "%.%d+$"))) ? $1 : "");
let length$1 = (length(owner$1) - length(round$1));
let shown$1 = math.min(8, math.floor((number(length$1) / 2)));
return (text(string.sub(owner$1, 1, shown$1)) + (text(string.rep("*", (number(length$1) - number(shown$1)))) + text(round$1)));
}
function isShared$1(key$1) {
return (string.sub(key$1, (-8)) === ":readers");
}
function lockOf$1(key$1) {
return one(string.gsub(key$1, ":%a+$", ":write"));
}
function shared$1(key$1) {
return one(string.gsub(key$1, ":%a+$", ":readers"));
}
function keyFor$1(key$1, how$1) {
let $1, $2;
return (isTrue($2 = (($1 = (how$1 === "r")) ? shared$1(key$1) : $1)) ? $2 : lockOf$1(key$1));
}
function roundsOf$1(key$1) {
return one(string.gsub(key$1, ":%a+$", ":rounds"));
}
function marksOf$1(key$1) {
return one(string.gsub(key$1, ":%a+$", ":marks"));
}
function queueOf$1(key$1) {
return ("quorlock:queue:tagged:" + text(lockOf$1(key$1)));
}
function nameIn$1(token$1) {
let $1;
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
return new Several([(isTrue(waiter$1) ? waiter$1 : token$1), round$1]);
}
function readerOf$1(key$1, token$1) {
let $1, $2, $3, $4;
let name$1 = ($1 = all(nameIn$1(token$1)))[0], round$1 = $1[1];
let expiry$1 = tonumber((isTrue($2 = call$1("ZSCORE", key$1, name$1)) ? $2 : (-1)));
if ((compared(expiry$1, now$1) < 0)) {
return false;
}
return new Several([(isTrue($4 = (isTrue(round$1) ? (text(name$1) + ("." + text((isTrue($3 = call$1("ZSCORE", roundsOf$1(key$1), name$1)) ? $3 : "0")))) : round$1)) ? $4 : name$1), expiry$1]);
}
function lastReader$1(key$1) {
let $1;
let last$1 = call$1("ZRANGE", shared$1(key$1), (-1), (-1), "WITHSCORES");
let expiry$1 = tonumber((isTrue($1 = get(last$1, 2)) ? $1 : (-1)));
if ((compared(expiry$1, now$1) >= 0)) {
return new Several([get(last$1, 1), expiry$1]);
}
}
function ownerFor$1(key$1, token$1) {
let $1, $2, $3;
let writer$1 = ownerOf$1(lockOf$1(key$1));
if (isTrue(writer$1)) {
return writer$1;
}
if (isTrue(isShared$1(key$1))) {
return one(readerOf$1(key$1, token$1));
}
let last$1 = one(lastReader$1(key$1));
return (isTrue($3 = (isTrue(last$1) ? (isTrue($2 = (isTrue($1 = call$1("ZSCORE", roundsOf$1(key$1), last$1)) ? "readers.0" : $1)) ? $2 : "readers") : last$1)) ? $3 : false);
}
function leftOf$1(key$1) {
let $1, $2;
let left$1 = call$1("PTTL", lockOf$1(key$1));
if ((left$1 !== (-2))) {
return left$1;
}
let _$1 = ($1 = all(lastReader$1(key$1)))[0], expiry$1 = $1[1];
return (isTrue($2 = (isTrue(expiry$1) ? (number(expiry$1) - number(now$1)) : expiry$1)) ? $2 : (-2));
}
function admit$1(key$1, token$1, ms$1) {
let $1, $2;
let name$1 = ($1 = all(nameIn$1(token$1)))[0], round$1 = $1[1];
let _$1 = ($2 = all(readerOf$1(key$1, token$1)))[0], own$1 = $2[1];
let expiry$1 = math.max((number(now$1) + number(ms$1)), (isTrue(own$1) ? own$1 : 0));
if (isTrue(own$1)) {
call$1("PEXPIRE", key$1, math.max(call$1("PTTL", key$1), (number(expiry$1) - number(now$1))));
}
call$1("ZADD", key$1, expiry$1, name$1);
if (isTrue(round$1)) {
call$1("ZADD", roundsOf$1(key$1), round$1, name$1);
}
for (let _$2 = 1, table$1 = new Table([key$1, roundsOf$1(key$1)]), set$1; (set$1 = get(table$1, _$2)) !== undefined; _$2 += 1) {
if ((compared(call$1("PTTL", set$1), (number(expiry$1) - number(now$1))) < 0)) {
call$1("PEXPIRE", set$1, (number(expiry$1) - number(now$1)));
}
}
let oldest$1 = call$1("ZRANGE", key$1, 0, 3, "WITHSCORES");
for (let place$1 = 1, last$1 = length(oldest$1); place$1 <= last$1; place$1 += 2) {
if ((compared(tonumber(get(oldest$1, (place$1 + 1))), now$1) < 0)) {
call$1("ZREM", key$1, get(oldest$1, place$1));
call$1("ZREM", roundsOf$1(key$1), get(oldest$1, place$1));
}
}
return (number(expiry$1) - number(now$1));
}
function set$1(key$1, token$1, ms$1) {
if (isTrue(isShared$1(key$1))) {
admit$1(key$1, token$1, tonumber(ms$1));
} else {
call$1("SET", key$1, token$1, "PX", ms$1);
}
}
function join$1(key$1, token$1, ms$1) {
let writer$1 = lockOf$1(key$1);
let isWriter$1 = (call$1("EXISTS", writer$1) === 1);
if (isTrue(isWriter$1)) {
ms$1 = math.max(ms$1, call$1("PTTL", writer$1));
call$1("PEXPIRE", writer$1, ms$1);
}
let left$1 = admit$1(key$1, token$1, ms$1);
if (isTrue(isWriter$1)) {
call$1("DEL", writer$1);
joined$1 = key$1;
}
return left$1;
}
function finish$1(key$1, token$1) {
let $1, $2;
let writer$1 = lockOf$1(key$1), isDropped$1 = false;
if ((isTrue(isShared$1(key$1)) && isTrue(isMine$1(one(readerOf$1(key$1, token$1)), token$1)))) {
let name$1 = one(nameIn$1(token$1));
isDropped$1 = (call$1("ZREM", key$1, name$1) === 1);
call$1("ZREM", roundsOf$1(key$1), name$1);
}
if (isTrue(isMine$1(ownerOf$1(writer$1), token$1))) {
isDropped$1 = (($1 = (call$1("DEL", writer$1) === 1)) ? $1 : isDropped$1);
}
return (isTrue($2 = (isTrue(isDropped$1) ? 1 : isDropped$1)) ? $2 : 0);
}
function claim$1(first$1, last$1, token$1, ttl$1, create$1) {
let $1;
let least$1 = tonumber(ttl$1);
let owners$1 = new Table([]);
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerOf$1(get(KEYS, index$1));
set(owners$1, index$1, owner$1);
if ((!isTrue(isMine$1(owner$1, token$1)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([((index$1 - number(first$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, index$1))]);
}
}
let shortest$1 = undefined;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let left$1 = call$1("PTTL", get(KEYS, index$2));
let isOther$1 = ((get(owners$1, index$2) !== token$1) || (left$1 === (-2)));
let isShort$1 = ((left$1 !== (-1)) && (compared(left$1, least$1) < 0));
let lives$1 = (isTrue($1 = (isTrue(isShort$1) ? ttl$1 : isShort$1)) ? $1 : left$1);
if (((isTrue(isShort$1) && (left$1 !== (-2))) || (isTrue(isOther$1) && (compared(left$1, 0) >= 0)))) {
call$1("PEXPIRE", get(KEYS, index$2), lives$1);
}
if ((isTrue(isOther$1) && (left$1 === (-1)))) {
call$1("SET", get(KEYS, index$2), token$1);
} else if (isTrue(isOther$1)) {
call$1("SET", get(KEYS, index$2), token$1, "PX", lives$1);
}
if (isTrue(isShort$1)) {
left$1 = least$1;
}
if (((left$1 !== (-1)) && (!isTrue(shortest$1) || (compared(left$1, shortest$1) < 0)))) {
shortest$1 = left$1;
}
}
return (isTrue(shortest$1) ? shortest$1 : (-1));
}
function claim$2(first$1, last$1, token$1, ttl$1, create$1) {
let key$1 = get(KEYS, first$1);
let owner$1 = ownerFor$1(key$1, token$1);
if ((!isTrue(isMine$1(owner$1, token$1)) && (isTrue(owner$1) || !isTrue(create$1)))) {
return new Table([1, masked$1(owner$1), leftOf$1(key$1)]);
}
if (isTrue(isShared$1(key$1))) {
return join$1(key$1, token$1, tonumber(ttl$1));
}
return claimExclusive$1(first$1, last$1, token$1, ttl$1, create$1);
}
function release$1(first$1, last$1, token$1) {
let released$1 = 0;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
released$1 = (number(released$1) + number(one(drop$1(get(KEYS, index$1), token$1))));
}
return released$1;
}
function exactly$1(number$1) {
return string.format("%.0f", number$1);
}
function counterOf$1(locks$1) {
let $1, $2;
let past$1 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$1)) {
past$1 = (isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : "0");
call$1("SET", "quorlock:floor:past", past$1, "PX", pastTtl$1);
}
let largest$1 = tonumber(past$1);
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
largest$1 = math.max(largest$1, tonumber((isTrue($2 = call$1("GET", ("quorlock:fence:" + text(lock$1)))) ? $2 : 0)));
}
return largest$1;
}
function raise$1(locks$1, counter$1) {
let $1;
for (let _$1 = 1, table$1 = locks$1, lock$1; (lock$1 = get(table$1, _$1)) !== undefined; _$1 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$1)), exactly$1(counter$1), "PX", counterTtl$1);
}
if ((compared(counter$1, tonumber((isTrue($1 = call$1("GET", "quorlock:floor")) ? $1 : 0))) >= 0)) {
call$1("SET", "quorlock:floor", exactly$1((number(counter$1) + 1000000)));
}
if ((compared(call$1("PTTL", "quorlock:floor:past"), pastTtl$1) > 0)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$1(locks$1, granted$1, proposal$1, next$1) {
let counter$1 = counterOf$1(locks$1);
raise$1(locks$1, math.max(counter$1, tonumber(proposal$1)));
return new Table([(-1), granted$1, exactly$1(counter$1), next$1]);
}
function demand$1(key$1, commands$1) {
let $1;
let check$1 = redis.acl_check_cmd;
for (let [command$1] of matches((isTrue($1 = (isTrue(check$1) ? commands$1 : check$1)) ? $1 : ""), "%u+")) {
if (!isTrue(check$1(command$1, key$1))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$1)) + "' command"))));
}
}
}
function forget$1(queue$1, waiter$1) {
if ((call$1("ZREM", queue$1, waiter$1) === 1)) {
call$1("DEL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
}
function reserve$1(key$1, token$1, lives$1, ttl$1) {
set$1(key$1, token$1, math.max(1, math.min(lives$1, tonumber(ttl$1))));
}
function grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1) {
let $1, $2, $3;
let next$1 = (isTrue($1 = get(call$1("ZRANGE", queue$1, 1, 1, "WITHSCORES"), 2)) ? $1 : "-");
let counter$1 = (($2 = (proposal$1 !== "")) ? counterOf$1(new Table([lockOf$1(key$1)])) : $2);
set$1(key$1, token$1, ttl$1);
if (isTrue(counter$1)) {
raise$1(new Table([lockOf$1(key$1)]), math.max(counter$1, tonumber(proposal$1)));
}
let told$1 = redis.pcall("PUBLISH", inbox$1, (text(token$1) + (" " + (text((isTrue($3 = (isTrue(counter$1) ? exactly$1(counter$1) : counter$1)) ? $3 : "-")) + (" " + text(next$1))))));
if ((type(told$1) === "number")) {
forget$1(queue$1, waiter$1);
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
}
return told$1;
}
function sweep$1(queue$1, from$1, to$1, asking$1) {
let $1, $2, $3, $4;
let waiters$1 = (isTrue($2 = (($1 = (compared(unswept$1, 0) > 0)) ? call$1("ZRANGE", queue$1, from$1, to$1) : $1)) ? $2 : new Table([])), names$1 = new Table([]), dead$1 = new Table([]);
if ((length(waiters$1) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$1 = (number(unswept$1) - length(waiters$1));
for (let index$1 = 1, table$1 = waiters$1, waiter$1; (waiter$1 = get(table$1, index$1)) !== undefined; index$1 += 1) {
set(names$1, index$1, (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
}
let entries$1 = redis.pcall("MGET", ...all(unpack(names$1))), head$1 = undefined, entry$1 = undefined;
if (isTrue(get(entries$1, "err"))) {
for (let index$2 = 1, table$2 = names$1, name$1; (name$1 = get(table$2, index$2)) !== undefined; index$2 += 1) {
set(entries$1, index$2, call$1("GET", name$1));
}
}
for (let index$3 = 1, table$3 = waiters$1, waiter$2; (waiter$2 = get(table$3, index$3)) !== undefined; index$3 += 1) {
if ((!isTrue(get(entries$1, index$3)) && (waiter$2 !== asking$1))) {
set(dead$1, (length(dead$1) + 1), waiter$2);
} else if (!isTrue(head$1)) {
$3 = waiter$2; $4 = get(entries$1, index$3); head$1 = $3; entry$1 = $4;
}
}
if ((length(dead$1) > 0)) {
call$1("ZREM", queue$1, ...all(unpack(dead$1)));
}
return new Several([head$1, entry$1, length(waiters$1)]);
}
function headOf$1(queue$1, asking$1) {
let $1;
let first$1 = get(call$1("ZRANGE", queue$1, 0, 0), 1);
if ((!isTrue(first$1) || (first$1 === asking$1))) {
return first$1;
}
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(first$1, 1, 20)))));
if (isTrue(entry$1)) {
return new Several([first$1, entry$1]);
}
for (let _$1 = 1, last$1 = number(sweeps$1); _$1 <= last$1; _$1 += 1) {
let waiter$1 = ($1 = all(sweep$1(queue$1, 0, (number(swept$1) - 1), asking$1)))[0], found$1 = $1[1], count$1 = $1[2];
if ((isTrue(waiter$1) || (compared(count$1, swept$1) < 0))) {
return new Several([waiter$1, found$1]);
}
}
}
function give$1(key$1, ending$1) {
let $1, $2, $3;
if (isTrue(ending$1)) {
finish$1(key$1, ending$1);
}
let queue$1 = queueOf$1(key$1);
while ((compared(skips$1, 0) > 0)) {
let waiter$1 = ($1 = all(headOf$1(queue$1)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return ;
}
let round$1 = ($2 = all(string.match(entry$1, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$1 = $2[1], inbox$1 = $2[2], proposal$1 = $2[3], how$1 = $2[4];
let token$1 = (text(waiter$1) + ("." + text((isTrue(round$1) ? round$1 : "")))), isTold$1 = (isTrue(round$1) ? (inbox$1 !== "-") : round$1);
let counts$1 = (isTrue($3 = (isTrue(isTold$1) ? mayAsk$1 : isTold$1)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$1) : $3);
key$1 = keyFor$1(key$1, how$1);
if ((!isTrue(round$1) || ((isTrue(counts$1) && !isTrue(get(counts$1, "err"))) && (get(counts$1, 2) === 0)))) {
forget$1(queue$1, waiter$1);
} else if ((isTrue(mayShare$1) && isTrue(ownerFor$1(key$1, token$1)))) {
return ;
} else if (((isTrue(isTold$1) && ((how$1 === "g") || (how$1 === "r"))) && (isTrue(isSeeded$1) || (proposal$1 === "")))) {
let told$1 = grant$1(key$1, queue$1, waiter$1, token$1, ttl$1, inbox$1, proposal$1);
if (((told$1 !== 0) && (how$1 === "g"))) {
return ;
}
if ((told$1 === 0)) {
finish$1(key$1, token$1);
}
} else {
reserve$1(key$1, token$1, call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20))))), ttl$1);
if ((isTrue(isTold$1) && (how$1 === "w"))) {
redis.pcall("PUBLISH", inbox$1, ("wake " + text(token$1)));
}
return ;
}
skips$1 = (number(skips$1) - 1);
}
}
function failure$1(reason$1) {
let $1, $2;
return new Table([0, (isTrue($2 = (($1 = (type(reason$1) === "table")) ? get(reason$1, "err") : $1)) ? $2 : tostring(reason$1))]);
}
function enqueue$1(first$1, last$1, token$1, ttl$1, ticket$1, entryTtl$1, proposal$1, inbox$1, alone$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10;
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
let queues$1 = new Table([]), isTaken$1 = new Table([]), blocked$1 = undefined, isHeld$1 = false;
function claimOnly$1(create$1) {
let next$1 = undefined;
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
forget$1(get(queues$1, index$1), waiter$1);
let ticket$2 = get(call$1("ZRANGE", get(queues$1, index$1), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$2) && (!isTrue(next$1) || (compared(tonumber(ticket$2), tonumber(next$1)) < 0)))) {
next$1 = ticket$2;
}
}
return new Several([one(claim$2(first$1, last$1, token$1, ttl$1, create$1)), next$1]);
}
for (let index$1 = number(first$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
let owner$1 = ownerFor$1(get(KEYS, index$1), token$1);
isHeld$1 = (isTrue(isHeld$1) ? isHeld$1 : (owner$1 === token$1));
set(queues$1, index$1, queueOf$1(get(KEYS, index$1)));
set(isTaken$1, index$1, (isTrue($2 = (isTrue(owner$1) ? !isTrue(isMine$1(owner$1, token$1)) : owner$1)) ? owner$1 : $2));
if (isTrue(get(isTaken$1, index$1))) {
blocked$1 = (isTrue(blocked$1) ? blocked$1 : index$1);
}
}
if (isTrue(isHeld$1)) {
return claimOnly$1(false);
}
let waited$1 = 0;
for (let index$2 = number(first$1), last$3 = number((isTrue($3 = (isTrue(blocked$1) ? (number(first$1) - 1) : blocked$1)) ? $3 : last$1)); index$2 <= last$3; index$2 += 1) {
waited$1 = (number(waited$1) + number(call$1("EXISTS", get(queues$1, index$2))));
}
if ((!isTrue(blocked$1) && (waited$1 === 0))) {
return claim$2(first$1, last$1, token$1, ttl$1, true);
}
demand$1(get(KEYS, first$1), toEnter$1);
let place$1 = (":" + text(string.sub(waiter$1, 1, 20)));
let entry$1 = (text(round$1) + (" " + (text(ttl$1) + (" " + (text(inbox$1) + (" " + (text(proposal$1) + " ")))))));
let isFirst$1 = new Table([]), waitsFor$1 = undefined;
for (let index$3 = number(first$1), last$4 = number(last$1); index$3 <= last$4; index$3 += 1) {
let queue$1 = get(queues$1, index$3);
call$1("ZADD", queue$1, ticket$1, waiter$1);
if ((compared(call$1("PTTL", queue$1), tonumber(entryTtl$1)) < 0)) {
call$1("PEXPIRE", queue$1, (2 * number(entryTtl$1)));
}
if (((round$1 === "1") && (string.sub(ticket$1, (-1)) === "0"))) {
sweep$1(queue$1, 1, 80, waiter$1);
}
set(isFirst$1, index$3, (!isTrue(get(isTaken$1, index$3)) && (one(headOf$1(queue$1, waiter$1)) === waiter$1)));
if ((!isTrue(get(isTaken$1, index$3)) && !isTrue(get(isFirst$1, index$3)))) {
waitsFor$1 = (isTrue(waitsFor$1) ? waitsFor$1 : index$3);
}
}
let inTheWay$1 = (isTrue(blocked$1) ? blocked$1 : waitsFor$1), refusal$1 = undefined;
for (let index$4 = number(first$1), last$5 = number((isTrue($4 = (isTrue(inTheWay$1) ? last$1 : inTheWay$1)) ? $4 : (number(first$1) - 1))); index$4 <= last$5; index$4 += 1) {
let how$1 = (isTrue($8 = (isTrue($7 = (($5 = (first$1 === last$1)) ? alone$1 : $5)) ? $7 : (($6 = (index$4 === inTheWay$1)) ? "w" : $6))) ? $8 : "s");
call$1("SET", (text(get(queues$1, index$4)) + text(place$1)), (text(entry$1) + text(how$1)), "PX", entryTtl$1);
if (isTrue(get(isFirst$1, index$4))) {
reserve$1(get(KEYS, index$4), token$1, tonumber(entryTtl$1), ttl$1);
} else {
if (!isTrue(get(isTaken$1, index$4))) {
give$1(get(KEYS, index$4), token$1);
}
let owner$2 = (($10 = !isTrue(refusal$1)) ? (isTrue($9 = get(isTaken$1, index$4)) ? $9 : ownerFor$1(get(KEYS, index$4), token$1)) : $10);
if ((!isTrue(refusal$1) && !isTrue(isMine$1(owner$2, token$1)))) {
let latest$1 = get(call$1("ZRANGE", get(queues$1, index$4), (-1), (-1), "WITHSCORES"), 2);
let inWay$1 = (isTrue(owner$2) ? owner$2 : ownerFor$1(lockOf$1(get(KEYS, index$4)), token$1));
refusal$1 = new Table([((index$4 - number(first$1)) + 1), masked$1(inWay$1), leftOf$1(get(KEYS, index$4)), latest$1]);
}
}
}
if (isTrue(refusal$1)) {
return refusal$1;
}
return claimOnly$1(true);
}
function leave$1(first$1, last$1, token$1) {
let $1, $2;
demand$1(get(KEYS, first$1), toGive$1);
let waiter$1 = ($1 = all(string.match(token$1, "^(.+)%.(%d+)$")))[0], round$1 = $1[1];
for (let index$1 = number(first$1), last$2 = number((isTrue($2 = (isTrue(waiter$1) ? last$1 : waiter$1)) ? $2 : 0)); index$1 <= last$2; index$1 += 1) {
let queue$1 = queueOf$1(get(KEYS, index$1));
let entry$1 = call$1("GET", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
let entered$1 = (isTrue(entry$1) ? tonumber(...all(string.match(entry$1, "^%d+"))) : entry$1);
if ((isTrue(entered$1) && (compared(entered$1, tonumber(round$1)) <= 0))) {
forget$1(queue$1, waiter$1);
}
}
let released$1 = 0;
for (let index$2 = number(first$1), last$3 = number(last$1); index$2 <= last$3; index$2 += 1) {
let dropped$1 = one(drop$1(get(KEYS, index$2), token$1));
released$1 = (number(released$1) + number(dropped$1));
if (((dropped$1 === 1) || isTrue(mayShare$1))) {
give$1(get(KEYS, index$2));
}
}
return released$1;
}
function mark$1(state$1, ends$1, length$1) {
let $1, $2, $3;
if (isTrue(length$1)) {
call$1("SET", "quorlock:quarantine", exactly$1(length$1), "PX", exactly$1(length$1));
}
let words$1 = new Table([get(guarded$1, "replId"), get(guarded$1, "since"), exactly$1(ends$1), get(guarded$1, "longest"), get(guarded$1, "database"), state$1]);
call$1("SET", "quorlock:guard", table.concat(words$1, " "));
function keepInMemory$1() {
call$1("SET", "quorlock:guard:memory", get(guarded$1, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$1, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$1 = ($1 = all(pcall(keepInMemory$1)))[0], why$1 = $1[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$1)) {
error(why$1, 0);
}
$2 = state$1; $3 = ends$1; set(guarded$1, "state", $2); set(guarded$1, "ends", $3);
}
function watch$1(terms$1) {
let $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17;
function isMemoryOf$1(was$1, since$1, durable$1, info$1) {
let isSame$1 = (was$1 === get(guarded$1, "replId"));
if ((!isTrue(isSame$1) && !isTrue(one(string.find(info$1, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$1 === "1") && !isTrue(isSame$1))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$1) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$1 = undefined;
let maxTtl$1 = ($1 = all(string.match(terms$1, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$1 = $1[1], durable$1 = $1[2], right$1 = $1[3], now$2 = $1[4], database$1 = $1[5], after$1 = $1[6];
if (!isTrue(maxTtl$1)) {
return ;
}
now$2 = tonumber(now$2);
guarded$1 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$1).set("now", now$2);
let info$1 = call$1("INFO", "replication");
set(guarded$1, "replId", one(string.match(info$1, "master_replid:(%S+)")));
if (!isTrue(get(guarded$1, "replId"))) {
set(guarded$1, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$1, "role:master", 1, true)))) {
set(guarded$1, "why", "READONLY it is a replica");
return ;
}
let was$1 = ($2 = all(string.match((isTrue($3 = call$1("GET", "quorlock:guard")) ? $3 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$1 = $2[1], ends$1 = $2[2], longest$1 = $2[3], place$1 = $2[4], state$1 = $2[5];
let isKnown$1 = (isTrue($5 = (isTrue($4 = (isTrue(was$1) ? (place$1 === database$1) : was$1)) ? (compared(tonumber(since$1), tonumber(after$1)) >= 0) : $4)) ? isMemoryOf$1(was$1, since$1, durable$1, info$1) : $5);
if (isTrue(isKnown$1)) {
$6 = since$1; $7 = longest$1; $8 = place$1; set(guarded$1, "since", $6); set(guarded$1, "longest", $7); set(guarded$1, "database", $8);
$9 = state$1; $10 = tonumber(ends$1); $11 = true; set(guarded$1, "state", $9); set(guarded$1, "ends", $10); set(guarded$1, "isKnown", $11);
if ((was$1 !== get(guarded$1, "replId"))) {
pcall(mark$1, state$1, get(guarded$1, "ends"));
}
} else if ((right$1 === "0")) {
return ;
} else if ((right$1 === "3")) {
if (!isTrue(was$1)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$1)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$1) && (right$1 !== "4"))) {
if ((state$1 === "2")) {
let left$1 = call$1("PTTL", "quorlock:quarantine"), length$1 = tonumber((isTrue($12 = call$1("GET", "quorlock:quarantine")) ? $12 : ""));
if ((isTrue(length$1) && (compared(left$1, length$1) > 0))) {
call$1("PEXPIRE", "quorlock:quarantine", length$1);
left$1 = length$1;
}
let isFar$1 = (compared(get(guarded$1, "ends"), (number(now$2) + number(math.max(tonumber(longest$1), left$1)))) > 0);
if (isTrue(isFar$1)) {
pcall(mark$1, "2", (number(now$2) + number((isTrue($14 = (($13 = (left$1 === (-2))) ? tonumber(longest$1) : $13)) ? $14 : left$1))));
}
if (((left$1 === (-2)) && (compared(get(guarded$1, "ends"), now$2) <= 0))) {
pcall(mark$1, "1", 0);
}
}
} else {
let length$2 = math.max(tonumber((isTrue(longest$1) ? longest$1 : 0)), tonumber(maxTtl$1));
set(guarded$1, "since", exactly$1(math.max((number(tonumber((isTrue(since$1) ? since$1 : 0))) + 1), tonumber(epoch$1))));
$16 = database$1; $17 = (isTrue($15 = (isTrue(isKnown$1) ? longest$1 : isKnown$1)) ? $15 : maxTtl$1); set(guarded$1, "database", $16); set(guarded$1, "longest", $17);
let isForClock$1 = (isTrue(isKnown$1) ? ((state$1 !== "2") || (call$1("GET", "quorlock:guard:clock") === since$1)) : isKnown$1);
if (isTrue(isForClock$1)) {
call$1("SET", "quorlock:guard:clock", get(guarded$1, "since"));
}
if (((right$1 !== "2") || isTrue(was$1))) {
mark$1("2", (number(now$2) + number(length$2)), length$2);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$1))))) {
mark$1("0", 0);
} else {
set(guarded$1, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$1, "isKnown", true);
}
set(guarded$1, "why", undefined);
}
function bar$1(kind$1, ttl$1, proposal$1) {
if (isTrue(get(guarded$1, "why"))) {
return get(guarded$1, "why");
}
if (((get(guarded$1, "longest") !== get(guarded$1, "wanted")) || (compared(tonumber(ttl$1), tonumber(get(guarded$1, "longest"))) > 0))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$1, "longest")) + " ms here"));
}
if (((proposal$1 === "") && ((kind$1 === "e") || (kind$1 === "p")))) {
return undefined;
}
if ((get(guarded$1, "state") === "2")) {
let left$1 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$1, "ends")) - number(get(guarded$1, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$1(left$1)) + " ms more"));
}
if (((proposal$1 !== "") && (get(guarded$1, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$1, "since")));
}
}
function inQuarantine$1() {
let $1;
return (isTrue(guarded$1) ? (isTrue($1 = get(guarded$1, "why")) ? $1 : (get(guarded$1, "state") === "2")) : guarded$1);
}
function isNew$1() {
let $1;
return (isTrue($1 = (isTrue(guarded$1) ? (get(guarded$1, "state") === "2") : guarded$1)) ? (call$1("GET", "quorlock:guard:clock") !== get(guarded$1, "since")) : $1);
}
function guardState$1() {
let $1, $2, $3, $4;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$1 = ($1 = all(string.match((isTrue($2 = call$1("GET", "quorlock:guard")) ? $2 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$1 = $1[1], longest$1 = $1[2], state$1 = $1[3];
let left$1 = call$1("PTTL", "quorlock:quarantine"), floor$1 = call$1("GET", "quorlock:floor");
let isKnown$1 = (isTrue($4 = (isTrue($3 = (isTrue(guarded$1) ? get(guarded$1, "isKnown") : guarded$1)) ? 1 : $3)) ? $4 : 0);
return new Table([tonumber((isTrue(longest$1) ? longest$1 : 0)), left$1, (isTrue(since$1) ? since$1 : "0"), tonumber((isTrue(state$1) ? state$1 : 2)), (isTrue(floor$1) ? floor$1 : "0"), isKnown$1]);
}
function restoreCounters$1(epoch$1, floor$1) {
if ((((!isTrue(guarded$1) || isTrue(get(guarded$1, "why"))) || (get(guarded$1, "state") !== "1")) || (get(guarded$1, "since") !== epoch$1))) {
return 0;
}
raise$1(new Table([]), math.max(counterOf$1(new Table([])), tonumber(floor$1)));
call$1("SET", "quorlock:floor:past", floor$1, "PX", pastTtl$1);
mark$1("0", 0);
return 1;
}
function retry$1(key$2, name$1, ms$1) {
let $1;
let marks$1 = marksOf$1(key$2);
if ((ms$1 === 0)) {
return call$1("ZREM", marks$1, name$1);
}
let isNew$2 = (compared(tonumber((isTrue($1 = call$1("ZSCORE", marks$1, name$1)) ? $1 : (-1))), now$1) < 0);
if ((isTrue(isNew$2) && (isTrue(ownerOf$1(lockOf$1(key$2))) || !isTrue(one(lastReader$1(key$2)))))) {
return 0;
}
call$1("ZADD", marks$1, (number(now$1) + number(ms$1)), name$1);
if ((compared(call$1("PTTL", marks$1), ms$1) < 0)) {
call$1("PEXPIRE", marks$1, ms$1);
}
let oldest$1 = call$1("ZRANGE", marks$1, 0, 0, "WITHSCORES");
if ((compared(tonumber(get(oldest$1, 2)), now$1) < 0)) {
call$1("ZREM", marks$1, get(oldest$1, 1));
}
return 1;
}
function refusalByWaiters$1(key$2, token$1) {
let $1, $2;
if ((!isTrue(isShared$1(key$2)) || isTrue(ownerFor$1(key$2, token$1)))) {
return undefined;
}
let mark$2 = call$1("ZRANGE", marksOf$1(key$2), (-1), (-1), "WITHSCORES");
if ((isTrue(get(mark$2, 1)) && (compared(tonumber(get(mark$2, 2)), now$1) >= 0))) {
return new Table([1, "writers", (number(get(mark$2, 2)) - number(now$1))]);
}
let queue$1 = queueOf$1(key$2);
let waiter$1 = ($1 = all(headOf$1(queue$1)))[0], entry$1 = $1[1];
if (!isTrue(waiter$1)) {
return undefined;
}
let left$1 = call$1("PTTL", (text(queue$1) + (":" + text(string.sub(waiter$1, 1, 20)))));
return new Table([1, masked$1((text(waiter$1) + ("." + text((isTrue($2 = one(string.match(entry$1, "^%d+"))) ? $2 : ""))))), left$1]);
}
function claimed$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1) {
let $1, $2, $3, $4, $5, $6, $7;
let token$1 = get(ARGV, arg$1), reply$1 = undefined, next$1 = undefined;
joined$1 = undefined;
if ((kind$1 === "q")) {
let alone$1 = (isTrue($2 = (isTrue($1 = isShared$1(get(KEYS, key$1))) ? "r" : $1)) ? $2 : "g");
$4 = ($3 = all(enqueue$1(key$1, last$1, token$1, number$1, ticket$1, entryTtl$1, proposal$1, get(ARGV, (number(arg$1) + 1)), alone$1)))[0]; $5 = $3[1]; reply$1 = $4; next$1 = $5;
if (((alone$1 === "r") && (type(reply$1) === "number"))) {
joined$1 = get(KEYS, key$1);
}
} else {
reply$1 = (isTrue($7 = (($6 = (kind$1 === "v")) ? refusalByWaiters$1(get(KEYS, key$1), token$1) : $6)) ? $7 : one(claim$2(key$1, last$1, token$1, number$1, (kind$1 !== "e"))));
}
if ((isTrue(joined$1) && !isTrue(inQuarantine$1()))) {
give$1(joined$1);
}
return new Several([reply$1, next$1]);
}
function releaseUnwaited$1() {

}
function inBulk$1() {
return 0;
}
function refused$1(refusal$1, isOfNew$1) {
let $1, $2;
if ((isTrue(isOfNew$1) && !isTrue(get(refusal$1, 2)))) {
$1 = false; $2 = 1; set(refusal$1, 4, $1); set(refusal$1, 5, $2);
}
return refusal$1;
}
function run$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1) {
let $1, $2, $3, $4, $5;
if ((kind$1 === "g")) {
watch$1(get(ARGV, arg$1));
isSeeded$1 = (!isTrue(guarded$1) || (get(guarded$1, "state") !== "1"));
return ;
}
if ((kind$1 === "h")) {
return guardState$1();
}
if ((kind$1 === "f")) {
let seeded$1 = restoreCounters$1(number$1, ticket$1);
isSeeded$1 = (isTrue(isSeeded$1) ? isSeeded$1 : (seeded$1 === 1));
return seeded$1;
}
if ((kind$1 === "c")) {
return call$1("TIME");
}
if (((kind$1 === "r") || ((kind$1 === "l") && isTrue(inQuarantine$1())))) {
return release$1(key$1, last$1, get(ARGV, arg$1));
}
if ((kind$1 === "l")) {
return (isTrue($1 = releaseUnwaited$1(key$1, last$1, get(ARGV, arg$1))) ? $1 : leave$1(key$1, last$1, get(ARGV, arg$1)));
}
if ((kind$1 === "i")) {
return new Table([masked$1(call$1("GET", get(KEYS, key$1))), call$1("PTTL", get(KEYS, key$1)), call$1("ZCARD", queueOf$1(get(KEYS, key$1)))]);
}
if (((proposal$1 !== "") && (compared(tonumber(proposal$1), (((2) ** 53) - ((2) ** 20))) >= 0))) {
error("ERR the fencing token is too large", 0);
}
let why$1 = (isTrue(guarded$1) ? bar$1(kind$1, number$1, proposal$1) : guarded$1);
if (isTrue(why$1)) {
error(why$1, 0);
}
if ((kind$1 === "u")) {
let owner$1 = ownerOf$1(get(KEYS, last$1));
if (isTrue(owner$1)) {
return new Table([((number(last$1) - number(key$1)) + 1), masked$1(owner$1), call$1("PTTL", get(KEYS, last$1))]);
}
$2 = "v"; $3 = (number(last$1) - 1); kind$1 = $2; last$1 = $3;
}
let reply$1 = ($4 = all(claimed$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1)))[0], next$1 = $4[1];
if ((type(reply$1) !== "number")) {
return refused$1(reply$1, isNew$1());
}
if ((isTrue(guarded$1) && isTrue(inQuarantine$1()))) {
return new Table([(-2), reply$1]);
}
if ((proposal$1 !== "")) {
let locks$1 = new Table([]);
for (let index$1 = number(key$1), last$2 = number(last$1); index$1 <= last$2; index$1 += 1) {
set(locks$1, ((index$1 - number(key$1)) + 1), lockOf$1(get(KEYS, index$1)));
}
return fenced$1(locks$1, reply$1, proposal$1, next$1);
}
return (isTrue($5 = (isTrue(next$1) ? new Table([(-3), reply$1, next$1]) : next$1)) ? $5 : reply$1);
}
function run$2(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1) {
if ((kind$1 === "i")) {
return new Table([masked$1(ownerFor$1(lockOf$1(get(KEYS, key$1)), "")), leftOf$1(get(KEYS, key$1)), call$1("ZCARD", queueOf$1(get(KEYS, key$1)))]);
}
if ((compared(last$1, key$1) >= 0)) {
demand$1(get(KEYS, key$1), needed$1);
}
if ((kind$1 === "m")) {
return retry$1(get(KEYS, key$1), get(ARGV, arg$1), tonumber(number$1));
}
return runAny$1(kind$1, last$1, number$1, ticket$1, entryTtl$1, proposal$1);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $1, $2, $3, $4, $5;
call$1 = redis.call;



if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
time$1 = call$1("TIME");
now$1 = ((number(get(time$1, 1)) * 1000) + number(math.floor((number(get(time$1, 2)) / 1000))));
joined$1 = undefined;
















drop$1 = finish$1;

claimExclusive$1 = claim$1;


needed$1 = "DEL EXISTS GET PEXPIRE PTTL SET ZADD ZRANGE ZREM ZSCORE", toEnter$1 = undefined, toGive$1 = undefined;
mayShare$1 = true;
mayAsk$1 = (isTrue($1 = redis.replicate_commands) ? $1 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$1 = 86400000, pastTtl$1 = 43200000;








isSeeded$1 = true;
sweeps$1 = 8, swept$1 = 128, unswept$1 = 4096;
skips$1 = 256;






guarded$1 = undefined;







replies$1 = new Table([]), key$1 = 1, arg$1 = 2;







runAny$1 = run$1;

question$1 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$1, kind$1, keys$1, number$1, ticket$1, entryTtl$1, proposal$1] of matches(get(ARGV, 1), question$1)) {
let keyCount$1 = tonumber(keys$1), argCount$1 = 0;
if ((kind$1 === "q")) {
argCount$1 = 2;
} else if (((((kind$1 !== "i") && (kind$1 !== "c")) && (kind$1 !== "h")) && (kind$1 !== "f"))) {
argCount$1 = 1;
}
let count$1 = (isTrue($2 = tonumber(times$1)) ? $2 : 1);
if (((compared(count$1, 1) > 0) && (keys$1 === "1"))) {
count$1 = (number(count$1) - number(inBulk$1(kind$1, count$1, number$1, proposal$1)));
}
for (let _$1 = 1, last$1 = number(count$1); _$1 <= last$1; _$1 += 1) {
let last$2 = ((number(key$1) + number(keyCount$1)) - 1);
let done$1 = ($3 = all(pcall(run$2, kind$1, last$2, number$1, ticket$1, entryTtl$1, proposal$1)))[0], reply$1 = $3[1];
if (!isTrue(done$1)) {
reply$1 = failure$1(reply$1);
}
if ((kind$1 !== "g")) {
set(replies$1, (length(replies$1) + 1), reply$1);
} else if (!isTrue(done$1)) {
guarded$1 = new Table([]).set("why", get(reply$1, 2));
}
$4 = (number(last$2) + 1); $5 = (number(arg$1) + number(argCount$1)); key$1 = $4; arg$1 = $5;
}
}
return replies$1;
}};
})(),
};
