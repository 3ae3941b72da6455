// @ts-nocheck
// Scripts as JavaScript, by their digests. Written by `pnpm scripts`.
import { scope } from "./library.ts";
import type { CompiledScript } from "../master/redis-library.ts";

const { Several, Table, isTrue, one, all, get, set, number, text, length, isLess, isAtMost, isMore, isAtLeast, modulo, type, tonumber, tostring, unpack, error, pcall, string, table, math, matches } = scope;

export const compiledScripts: Readonly<Record<string, CompiledScript>> = {
  "1d05c5590275efff3edceb03f9a3b6501c11272b": (() => {
let redis, KEYS, ARGV, call$1, kind$3, token$4, ttl$5, proposal$6, terms$7, maxTtl$9, database$10, after$11, seen$14, since$15, longest$16, place$17, state$18, isReady$19, info$20, counterTtl$61, pastTtl$62, isForgetful$87, guarded$88, why$151, granted$152;
function ownerOf$22(key$23) {
let $25, $26;
let owner$24 = redis.pcall("GET", key$23);
if ((type(owner$24) !== "table")) {
return owner$24;
}
return (isTrue($26 = (isTrue($25 = one(string.find(get(owner$24, "err"), "^WRONGTYPE"))) ? "(no string)" : $25)) ? $26 : call$1("GET", key$23));
}
function isMine$27(owner$28, token$29) {
let $30, $33;
if ((owner$28 === token$29)) {
return true;
}
if (!isTrue(owner$28)) {
return false;
}
let waiter$31 = ($30 = all(string.match(token$29, "^(.+)%.(%d+)$")))[0], round$32 = $30[1];
let other$34 = ($33 = all(string.match(owner$28, "^(.+)%.(%d+)$")))[0], earlier$35 = $33[1];
return (((waiter$31 !== undefined) && (waiter$31 === other$34)) && isLess(tonumber(earlier$35), tonumber(round$32)));
}
function masked$36(owner$37) {
let $38;
if (!isTrue(owner$37)) {
return owner$37;
}
let round$39 = (isTrue($38 = one(string.match(owner$37, "%.%d+$"))) ? $38 : "");
let length$40 = (length(owner$37) - length(round$39));
let shown$41 = math.min(8, math.floor((number(length$40) / 2)));
return (text(string.sub(owner$37, 1, shown$41)) + (text(string.rep("*", (number(length$40) - number(shown$41)))) + text(round$39)));
}
function claim$42(first$43, last$44, token$45, ttl$46, create$47) {
let $59;
let least$48 = tonumber(ttl$46);
let owners$49 = new Table([]);
for (let index$50 = number(first$43), last$51 = number(last$44); index$50 <= last$51; index$50 += 1) {
let owner$52 = ownerOf$22(get(KEYS, index$50));
set(owners$49, index$50, owner$52);
if ((!isTrue(isMine$27(owner$52, token$45)) && (isTrue(owner$52) || !isTrue(create$47)))) {
return new Table([((index$50 - number(first$43)) + 1), masked$36(owner$52), call$1("PTTL", get(KEYS, index$50))]);
}
}
let shortest$53 = undefined;
for (let index$54 = number(first$43), last$55 = number(last$44); index$54 <= last$55; index$54 += 1) {
let left$56 = call$1("PTTL", get(KEYS, index$54));
let isOther$57 = ((get(owners$49, index$54) !== token$45) || (left$56 === (-2)));
let isShort$58 = ((left$56 !== (-1)) && isLess(left$56, least$48));
let lives$60 = (isTrue($59 = (isTrue(isShort$58) ? ttl$46 : isShort$58)) ? $59 : left$56);
if (((isTrue(isShort$58) && (left$56 !== (-2))) || (isTrue(isOther$57) && isAtLeast(left$56, 0)))) {
call$1("PEXPIRE", get(KEYS, index$54), lives$60);
}
if ((isTrue(isOther$57) && (left$56 === (-1)))) {
call$1("SET", get(KEYS, index$54), token$45);
} else if (isTrue(isOther$57)) {
call$1("SET", get(KEYS, index$54), token$45, "PX", lives$60);
}
if (isTrue(isShort$58)) {
left$56 = least$48;
}
if (((left$56 !== (-1)) && (!isTrue(shortest$53) || isLess(left$56, shortest$53)))) {
shortest$53 = left$56;
}
}
return (isTrue(shortest$53) ? shortest$53 : (-1));
}
function exactly$63(number$64) {
return string.format("%.0f", number$64);
}
function counterOf$65(locks$66) {
let $68, $73;
let past$67 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$67)) {
past$67 = (isTrue($68 = call$1("GET", "quorlock:floor")) ? $68 : "0");
call$1("SET", "quorlock:floor:past", past$67, "PX", pastTtl$62);
}
let largest$69 = tonumber(past$67);
for (let _$70 = 1, table$72 = locks$66, lock$71; (lock$71 = get(table$72, _$70)) !== undefined; _$70 += 1) {
largest$69 = math.max(largest$69, tonumber((isTrue($73 = call$1("GET", ("quorlock:fence:" + text(lock$71)))) ? $73 : 0)));
}
return largest$69;
}
function raise$74(locks$75, counter$76) {
let $80;
for (let _$77 = 1, table$79 = locks$75, lock$78; (lock$78 = get(table$79, _$77)) !== undefined; _$77 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$78)), exactly$63(counter$76), "PX", counterTtl$61);
}
if (isAtLeast(counter$76, tonumber((isTrue($80 = call$1("GET", "quorlock:floor")) ? $80 : 0)))) {
call$1("SET", "quorlock:floor", exactly$63((number(counter$76) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$62)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$81(locks$82, granted$83, proposal$84, next$85) {
let counter$86 = counterOf$65(locks$82);
raise$74(locks$82, math.max(counter$86, tonumber(proposal$84)));
return new Table([(-1), granted$83, exactly$63(counter$86), next$85]);
}
function mark$89(state$90, ends$91, length$92) {
let $95, $98, $99;
if (isTrue(length$92)) {
call$1("SET", "quorlock:quarantine", exactly$63(length$92), "PX", exactly$63(length$92));
}
let words$93 = new Table([get(guarded$88, "replId"), get(guarded$88, "since"), exactly$63(ends$91), get(guarded$88, "longest"), get(guarded$88, "database"), state$90]);
call$1("SET", "quorlock:guard", table.concat(words$93, " "));
function keepInMemory$94() {
call$1("SET", "quorlock:guard:memory", get(guarded$88, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$88, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$96 = ($95 = all(pcall(keepInMemory$94)))[0], why$97 = $95[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$96)) {
error(why$97, 0);
}
$98 = state$90; $99 = ends$91; set(guarded$88, "state", $98); set(guarded$88, "ends", $99);
}
function watch$100(terms$101) {
let $108, $117, $118, $125, $126, $128, $129, $130, $131, $132, $133, $134, $138, $139, $141, $142, $143;
function isMemoryOf$102(was$103, since$104, durable$105, info$106) {
let isSame$107 = (was$103 === get(guarded$88, "replId"));
if ((!isTrue(isSame$107) && !isTrue(one(string.find(info$106, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$105 === "1") && !isTrue(isSame$107))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$104) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$88 = undefined;
let maxTtl$109 = ($108 = all(string.match(terms$101, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$110 = $108[1], durable$111 = $108[2], right$112 = $108[3], now$113 = $108[4], database$114 = $108[5], after$115 = $108[6];
if (!isTrue(maxTtl$109)) {
return ;
}
now$113 = tonumber(now$113);
guarded$88 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$109).set("now", now$113);
let info$116 = call$1("INFO", "replication");
set(guarded$88, "replId", one(string.match(info$116, "master_replid:(%S+)")));
if (!isTrue(get(guarded$88, "replId"))) {
set(guarded$88, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$116, "role:master", 1, true)))) {
set(guarded$88, "why", "READONLY it is a replica");
return ;
}
let was$119 = ($117 = all(string.match((isTrue($118 = call$1("GET", "quorlock:guard")) ? $118 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$120 = $117[1], ends$121 = $117[2], longest$122 = $117[3], place$123 = $117[4], state$124 = $117[5];
let isKnown$127 = (isTrue($126 = (isTrue($125 = (isTrue(was$119) ? (place$123 === database$114) : was$119)) ? isAtLeast(tonumber(since$120), tonumber(after$115)) : $125)) ? isMemoryOf$102(was$119, since$120, durable$111, info$116) : $126);
if (isTrue(isKnown$127)) {
$128 = since$120; $129 = longest$122; $130 = place$123; set(guarded$88, "since", $128); set(guarded$88, "longest", $129); set(guarded$88, "database", $130);
$131 = state$124; $132 = tonumber(ends$121); $133 = true; set(guarded$88, "state", $131); set(guarded$88, "ends", $132); set(guarded$88, "isKnown", $133);
if ((was$119 !== get(guarded$88, "replId"))) {
pcall(mark$89, state$124, get(guarded$88, "ends"));
}
} else if ((right$112 === "0")) {
return ;
} else if ((right$112 === "3")) {
if (!isTrue(was$119)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$110)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$127) && (right$112 !== "4"))) {
if ((state$124 === "2")) {
let left$135 = call$1("PTTL", "quorlock:quarantine"), length$136 = tonumber((isTrue($134 = call$1("GET", "quorlock:quarantine")) ? $134 : ""));
if ((isTrue(length$136) && isMore(left$135, length$136))) {
call$1("PEXPIRE", "quorlock:quarantine", length$136);
left$135 = length$136;
}
let isFar$137 = isMore(get(guarded$88, "ends"), (number(now$113) + number(math.max(tonumber(longest$122), left$135))));
if (isTrue(isFar$137)) {
pcall(mark$89, "2", (number(now$113) + number((isTrue($139 = (($138 = (left$135 === (-2))) ? tonumber(longest$122) : $138)) ? $139 : left$135))));
}
if (((left$135 === (-2)) && isAtMost(get(guarded$88, "ends"), now$113))) {
pcall(mark$89, "1", 0);
}
}
} else {
let length$140 = math.max(tonumber((isTrue(longest$122) ? longest$122 : 0)), tonumber(maxTtl$109));
set(guarded$88, "since", exactly$63(math.max((number(tonumber((isTrue(since$120) ? since$120 : 0))) + 1), tonumber(epoch$110))));
$142 = database$114; $143 = (isTrue($141 = (isTrue(isKnown$127) ? longest$122 : isKnown$127)) ? $141 : maxTtl$109); set(guarded$88, "database", $142); set(guarded$88, "longest", $143);
if (((right$112 !== "2") || isTrue(was$119))) {
mark$89("2", (number(now$113) + number(length$140)), length$140);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$110))))) {
mark$89("0", 0);
} else {
set(guarded$88, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$88, "isKnown", true);
}
set(guarded$88, "why", undefined);
}
function bar$144(kind$145, ttl$146, proposal$147) {
if (isTrue(get(guarded$88, "why"))) {
return get(guarded$88, "why");
}
if (((get(guarded$88, "longest") !== get(guarded$88, "wanted")) || isMore(tonumber(ttl$146), tonumber(get(guarded$88, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$88, "longest")) + " ms here"));
}
if (((proposal$147 === "") && ((kind$145 === "e") || (kind$145 === "p")))) {
return undefined;
}
if ((get(guarded$88, "state") === "2")) {
let left$148 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$88, "ends")) - number(get(guarded$88, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$63(left$148)) + " ms more"));
}
if (((proposal$147 !== "") && (get(guarded$88, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$88, "since")));
}
}
function inQuarantine$149() {
let $150;
return (isTrue(guarded$88) ? (isTrue($150 = get(guarded$88, "why")) ? $150 : (get(guarded$88, "state") === "2")) : guarded$88);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $2, $8, $12, $13, $21, $153, $154;
call$1 = redis.call;
kind$3 = ($2 = all(unpack(ARGV)))[0], token$4 = $2[1], ttl$5 = $2[2], proposal$6 = $2[3], terms$7 = $2[4];
maxTtl$9 = ($8 = all(string.match(terms$7, "^(%d+),%d+,%d,%d,%d+,(%d+),(%d+)$")))[0], database$10 = $8[1], after$11 = $8[2];
seen$14 = ($12 = all(string.match((isTrue($13 = call$1("GET", "quorlock:guard")) ? $13 : ""), "^(%S+) (%d+) %d+ (%d+) (%d+) (%d)$")))[0], since$15 = $12[1], longest$16 = $12[2], place$17 = $12[3], state$18 = $12[4];
isReady$19 = ((((((longest$16 === maxTtl$9) && (place$17 === database$10)) && ((state$18 === "0") || ((state$18 === "1") && (proposal$6 === "")))) && isAtLeast(tonumber(since$15), tonumber(after$11))) && isAtMost(tonumber(ttl$5), tonumber(maxTtl$9))) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
if (isTrue(isReady$19)) {
info$20 = call$1("INFO", "replication");
isReady$19 = (isTrue($21 = one(string.find(info$20, ("master_replid:" + (text(seen$14) + "\r")), 1, true))) ? one(string.find(info$20, "role:master", 1, true)) : $21);
}
if (((((isTrue(isReady$19) && (kind$3 === "v")) && (proposal$6 === "")) && (length(KEYS) === 1)) && isTrue(call$1("SET", get(KEYS, 1), token$4, "NX", "PX", ttl$5)))) {
return tonumber(ttl$5);
}




counterTtl$61 = 86400000, pastTtl$62 = 43200000;




if (((proposal$6 !== "") && isAtLeast(tonumber(proposal$6), (((2) ** 53) - ((2) ** 20))))) {
return redis.error_reply("ERR the fencing token is too large");
}
isForgetful$87 = false;
if (!isTrue(isReady$19)) {
guarded$88 = undefined;




watch$100(terms$7);
why$151 = bar$144(kind$3, ttl$5, proposal$6);
if (isTrue(why$151)) {
return redis.error_reply(why$151);
}
isForgetful$87 = inQuarantine$149();
}
granted$152 = claim$42(1, length(KEYS), token$4, ttl$5, (kind$3 !== "e"));
if ((type(granted$152) !== "number")) {
return granted$152;
}
if (isTrue(isForgetful$87)) {
return new Table([(-2), granted$152]);
}
return (isTrue($154 = (($153 = (proposal$6 === "")) ? granted$152 : $153)) ? $154 : fenced$81(KEYS, granted$152, proposal$6));
}};
})(),
  "30d9366fe41bfb3bf535f3b0cca44a19cc32fa40": (() => {
let redis, KEYS, ARGV, call$1, isDone$24, gone$25, ownerFor$54, keyFor$57, toEnter$66, toGive$67, mayShare$68, mayAsk$70, counterTtl$71, pastTtl$72, isSeeded$125, sweeps$126, swept$127, unswept$128, skips$129, replies$207;
function queueOf$2(key$3) {
let $4, $6;
let isTagged$5 = (isTrue($4 = one(string.find(key$3, "{", 1, true))) ? one(string.find(key$3, "^[^{]*{[^}]+}")) : $4);
return (isTrue($6 = (isTrue(isTagged$5) ? ("quorlock:queue:tagged:" + text(key$3)) : isTagged$5)) ? $6 : ("quorlock:queue:{" + (text(key$3) + "}")));
}
function releaseAllUnwaited$7(first$8, last$9, from$10) {
let $21, $22;
let owners$11 = call$1("MGET", ...all(unpack(KEYS, first$8, last$9))), queues$12 = new Table([]);
for (let place$13 = 1, last$14 = ((number(last$9) - number(first$8)) + 1); place$13 <= last$14; place$13 += 1) {
if ((get(owners$11, place$13) !== get(ARGV, ((number(from$10) + place$13) - 1)))) {
return undefined;
}
set(queues$12, place$13, queueOf$2(get(KEYS, ((number(first$8) + place$13) - 1))));
}
if (isMore(call$1("EXISTS", ...all(unpack(queues$12))), 0)) {
return undefined;
}
let gone$15 = call$1("DEL", ...all(unpack(KEYS, first$8, last$9)));
if ((gone$15 === length(queues$12))) {
return gone$15;
}
let each$16 = new Table([]), seen$17 = new Table([]);
for (let place$18 = 1, last$19 = length(queues$12); place$18 <= last$19; place$18 += 1) {
let key$20 = get(KEYS, ((number(first$8) + place$18) - 1));
set(each$16, place$18, (isTrue($22 = (isTrue($21 = get(seen$17, key$20)) ? 0 : $21)) ? $22 : 1));
set(seen$17, key$20, true);
}
return each$16;
}
function releaseUnwaited$26(first$27, last$28, token$29) {
for (let index$30 = number(first$27), last$31 = number(last$28); index$30 <= last$31; index$30 += 1) {
if (((redis.pcall("GET", get(KEYS, index$30)) !== token$29) || isMore(call$1("EXISTS", queueOf$2(get(KEYS, index$30))), 0))) {
return undefined;
}
}
let given$32 = 0;
for (let index$33 = number(first$27), last$34 = number(last$28); index$33 <= last$34; index$33 += 1) {
given$32 = (number(given$32) + number(call$1("DEL", get(KEYS, index$33))));
}
return given$32;
}
function ownerOf$35(key$36) {
let $38, $39;
let owner$37 = redis.pcall("GET", key$36);
if ((type(owner$37) !== "table")) {
return owner$37;
}
return (isTrue($39 = (isTrue($38 = one(string.find(get(owner$37, "err"), "^WRONGTYPE"))) ? "(no string)" : $38)) ? $39 : call$1("GET", key$36));
}
function isMine$40(owner$41, token$42) {
let $43, $46;
if ((owner$41 === token$42)) {
return true;
}
if (!isTrue(owner$41)) {
return false;
}
let waiter$44 = ($43 = all(string.match(token$42, "^(.+)%.(%d+)$")))[0], round$45 = $43[1];
let other$47 = ($46 = all(string.match(owner$41, "^(.+)%.(%d+)$")))[0], earlier$48 = $46[1];
return (((waiter$44 !== undefined) && (waiter$44 === other$47)) && isLess(tonumber(earlier$48), tonumber(round$45)));
}
function drop$49(key$50, token$51) {
let $52, $53;
return (isTrue($53 = (isTrue($52 = isMine$40(ownerOf$35(key$50), token$51)) ? call$1("DEL", key$50) : $52)) ? $53 : 0);
}
function lockOf$55(key$56) {
return key$56;
}
function leftOf$58(key$59) {
return call$1("PTTL", key$59);
}
function set$60(key$61, token$62, ms$63) {
call$1("SET", key$61, token$62, "PX", ms$63);
}
function finish$64(key$65) {
return call$1("DEL", key$65);
}
function exactly$73(number$74) {
return string.format("%.0f", number$74);
}
function counterOf$75(locks$76) {
let $78, $83;
let past$77 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$77)) {
past$77 = (isTrue($78 = call$1("GET", "quorlock:floor")) ? $78 : "0");
call$1("SET", "quorlock:floor:past", past$77, "PX", pastTtl$72);
}
let largest$79 = tonumber(past$77);
for (let _$80 = 1, table$82 = locks$76, lock$81; (lock$81 = get(table$82, _$80)) !== undefined; _$80 += 1) {
largest$79 = math.max(largest$79, tonumber((isTrue($83 = call$1("GET", ("quorlock:fence:" + text(lock$81)))) ? $83 : 0)));
}
return largest$79;
}
function raise$84(locks$85, counter$86) {
let $90;
for (let _$87 = 1, table$89 = locks$85, lock$88; (lock$88 = get(table$89, _$87)) !== undefined; _$87 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$88)), exactly$73(counter$86), "PX", counterTtl$71);
}
if (isAtLeast(counter$86, tonumber((isTrue($90 = call$1("GET", "quorlock:floor")) ? $90 : 0)))) {
call$1("SET", "quorlock:floor", exactly$73((number(counter$86) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$72)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$91(locks$92, granted$93, proposal$94, next$95) {
let counter$96 = counterOf$75(locks$92);
raise$84(locks$92, math.max(counter$96, tonumber(proposal$94)));
return new Table([(-1), granted$93, exactly$73(counter$96), next$95]);
}
function demand$97(key$98, commands$99) {
let $101;
let check$100 = redis.acl_check_cmd;
for (let [command$102] of matches((isTrue($101 = (isTrue(check$100) ? commands$99 : check$100)) ? $101 : ""), "%u+")) {
if (!isTrue(check$100(command$102, key$98))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$102)) + "' command"))));
}
}
}
function forget$103(queue$104, waiter$105) {
if ((call$1("ZREM", queue$104, waiter$105) === 1)) {
call$1("DEL", (text(queue$104) + (":" + text(string.sub(waiter$105, 1, 20)))));
}
}
function reserve$106(key$107, token$108, lives$109, ttl$110) {
set$60(key$107, token$108, math.max(1, math.min(lives$109, tonumber(ttl$110))));
}
function grant$111(key$112, queue$113, waiter$114, token$115, ttl$116, inbox$117, proposal$118) {
let $119, $121, $123;
let next$120 = (isTrue($119 = get(call$1("ZRANGE", queue$113, 1, 1, "WITHSCORES"), 2)) ? $119 : "-");
let counter$122 = (($121 = (proposal$118 !== "")) ? counterOf$75(new Table([lockOf$55(key$112)])) : $121);
set$60(key$112, token$115, ttl$116);
if (isTrue(counter$122)) {
raise$84(new Table([lockOf$55(key$112)]), math.max(counter$122, tonumber(proposal$118)));
}
let told$124 = redis.pcall("PUBLISH", inbox$117, (text(token$115) + (" " + (text((isTrue($123 = (isTrue(counter$122) ? exactly$73(counter$122) : counter$122)) ? $123 : "-")) + (" " + text(next$120))))));
if ((type(told$124) === "number")) {
forget$103(queue$113, waiter$114);
} else {
reserve$106(key$112, token$115, call$1("PTTL", (text(queue$113) + (":" + text(string.sub(waiter$114, 1, 20))))), ttl$116);
}
return told$124;
}
function sweep$130(queue$131, from$132, to$133, asking$134) {
let $135, $136, $152, $153;
let waiters$137 = (isTrue($136 = (($135 = isMore(unswept$128, 0)) ? call$1("ZRANGE", queue$131, from$132, to$133) : $135)) ? $136 : new Table([])), names$138 = new Table([]), dead$139 = new Table([]);
if ((length(waiters$137) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$128 = (number(unswept$128) - length(waiters$137));
for (let index$140 = 1, table$142 = waiters$137, waiter$141; (waiter$141 = get(table$142, index$140)) !== undefined; index$140 += 1) {
set(names$138, index$140, (text(queue$131) + (":" + text(string.sub(waiter$141, 1, 20)))));
}
let entries$143 = redis.pcall("MGET", ...all(unpack(names$138))), head$144 = undefined, entry$145 = undefined;
if (isTrue(get(entries$143, "err"))) {
for (let index$146 = 1, table$148 = names$138, name$147; (name$147 = get(table$148, index$146)) !== undefined; index$146 += 1) {
set(entries$143, index$146, call$1("GET", name$147));
}
}
for (let index$149 = 1, table$151 = waiters$137, waiter$150; (waiter$150 = get(table$151, index$149)) !== undefined; index$149 += 1) {
if ((!isTrue(get(entries$143, index$149)) && (waiter$150 !== asking$134))) {
set(dead$139, (length(dead$139) + 1), waiter$150);
} else if (!isTrue(head$144)) {
$152 = waiter$150; $153 = get(entries$143, index$149); head$144 = $152; entry$145 = $153;
}
}
if ((length(dead$139) > 0)) {
call$1("ZREM", queue$131, ...all(unpack(dead$139)));
}
return new Several([head$144, entry$145, length(waiters$137)]);
}
function headOf$154(queue$155, asking$156) {
let $161;
let first$157 = get(call$1("ZRANGE", queue$155, 0, 0), 1);
if ((!isTrue(first$157) || (first$157 === asking$156))) {
return first$157;
}
let entry$158 = call$1("GET", (text(queue$155) + (":" + text(string.sub(first$157, 1, 20)))));
if (isTrue(entry$158)) {
return new Several([first$157, entry$158]);
}
for (let _$159 = 1, last$160 = number(sweeps$126); _$159 <= last$160; _$159 += 1) {
let waiter$162 = ($161 = all(sweep$130(queue$155, 0, (number(swept$127) - 1), asking$156)))[0], found$163 = $161[1], count$164 = $161[2];
if ((isTrue(waiter$162) || isLess(count$164, swept$127))) {
return new Several([waiter$162, found$163]);
}
}
}
function give$165(key$166, ending$167) {
let $169, $172, $180;
if (isTrue(ending$167)) {
finish$64(key$166, ending$167);
}
let queue$168 = queueOf$2(key$166);
while (isMore(skips$129, 0)) {
let waiter$170 = ($169 = all(headOf$154(queue$168)))[0], entry$171 = $169[1];
if (!isTrue(waiter$170)) {
return ;
}
let round$173 = ($172 = all(string.match(entry$171, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$174 = $172[1], inbox$175 = $172[2], proposal$176 = $172[3], how$177 = $172[4];
let token$178 = (text(waiter$170) + ("." + text((isTrue(round$173) ? round$173 : "")))), isTold$179 = (isTrue(round$173) ? (inbox$175 !== "-") : round$173);
let counts$181 = (isTrue($180 = (isTrue(isTold$179) ? mayAsk$70 : isTold$179)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$175) : $180);
key$166 = one(keyFor$57(key$166, how$177));
if ((!isTrue(round$173) || ((isTrue(counts$181) && !isTrue(get(counts$181, "err"))) && (get(counts$181, 2) === 0)))) {
forget$103(queue$168, waiter$170);
} else if ((isTrue(mayShare$68) && isTrue(one(ownerFor$54(key$166, token$178))))) {
return ;
} else if (((isTrue(isTold$179) && ((how$177 === "g") || (how$177 === "r"))) && (isTrue(isSeeded$125) || (proposal$176 === "")))) {
let told$182 = grant$111(key$166, queue$168, waiter$170, token$178, ttl$174, inbox$175, proposal$176);
if (((told$182 !== 0) && (how$177 === "g"))) {
return ;
}
if ((told$182 === 0)) {
finish$64(key$166, token$178);
}
} else {
reserve$106(key$166, token$178, call$1("PTTL", (text(queue$168) + (":" + text(string.sub(waiter$170, 1, 20))))), ttl$174);
if ((isTrue(isTold$179) && (how$177 === "w"))) {
redis.pcall("PUBLISH", inbox$175, ("wake " + text(token$178)));
}
return ;
}
skips$129 = (number(skips$129) - 1);
}
}
function leave$183(first$184, last$185, token$186) {
let $187, $190;
demand$97(get(KEYS, first$184), toGive$67);
let waiter$188 = ($187 = all(string.match(token$186, "^(.+)%.(%d+)$")))[0], round$189 = $187[1];
for (let index$191 = number(first$184), last$192 = number((isTrue($190 = (isTrue(waiter$188) ? last$185 : waiter$188)) ? $190 : 0)); index$191 <= last$192; index$191 += 1) {
let queue$193 = queueOf$2(get(KEYS, index$191));
let entry$194 = call$1("GET", (text(queue$193) + (":" + text(string.sub(waiter$188, 1, 20)))));
let entered$195 = (isTrue(entry$194) ? tonumber(...all(string.match(entry$194, "^%d+"))) : entry$194);
if ((isTrue(entered$195) && isAtMost(entered$195, tonumber(round$189)))) {
forget$103(queue$193, waiter$188);
}
}
let released$196 = 0;
for (let index$197 = number(first$184), last$198 = number(last$185); index$197 <= last$198; index$197 += 1) {
let dropped$199 = drop$49(get(KEYS, index$197), token$186);
released$196 = (number(released$196) + number(dropped$199));
if (((dropped$199 === 1) || isTrue(mayShare$68))) {
give$165(get(KEYS, index$197));
}
}
return released$196;
}
function failure$200(reason$201) {
let $202, $203;
return new Table([0, (isTrue($203 = (($202 = (type(reason$201) === "table")) ? get(reason$201, "err") : $202)) ? $203 : tostring(reason$201))]);
}
function release$204(index$205) {
let $206;
return (isTrue($206 = releaseUnwaited$26(index$205, index$205, get(ARGV, index$205))) ? $206 : leave$183(index$205, index$205, get(ARGV, index$205)));
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $23, $69, $210, $213;
call$1 = redis.call;


isDone$24 = ($23 = all(pcall(releaseAllUnwaited$7, 1, length(KEYS), 1)))[0], gone$25 = $23[1];
if ((isTrue(isDone$24) && isTrue(gone$25))) {
return gone$25;
}




ownerFor$54 = ownerOf$35;

keyFor$57 = lockOf$55;



toEnter$66 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$67 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$68 = false;
mayAsk$70 = (isTrue($69 = redis.replicate_commands) ? $69 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$71 = 86400000, pastTtl$72 = 43200000;








isSeeded$125 = true;
sweeps$126 = 8, swept$127 = 128, unswept$128 = 4096;
skips$129 = 256;






replies$207 = new Table([]);
for (let index$208 = 1, last$209 = length(KEYS); index$208 <= last$209; index$208 += 1) {
let done$211 = ($210 = all(pcall(release$204, index$208)))[0], reply$212 = $210[1];
set(replies$207, index$208, (isTrue($213 = (isTrue(done$211) ? reply$212 : done$211)) ? $213 : failure$200(reply$212)));
}
return replies$207;
}};
})(),
  "32fc15541c638e0f7286463b56be42db88e99a6f": (() => {
let redis, KEYS, ARGV, call$1, key$2, token$3, queue$4, isTagged$6, own$9, first$11, _$12, _$13, next$14, place$15, entries$16, entry$19, round$21, ttl$22, inbox$23, proposal$24, mayAsk$26, counts$27, given$28, check$59, isAllowed$63, given$79, ownerFor$99, keyFor$102, toEnter$111, toGive$112, mayShare$113, mayAsk$115, counterTtl$116, pastTtl$117, isSeeded$170, sweeps$171, swept$172, unswept$173, skips$174;
function grantKey$29() {
let counter$30 = "-";
if ((proposal$24 !== "")) {
let counterTtl$31 = 86400000, pastTtl$32 = 43200000;
function exactly$33(number$34) {
return string.format("%.0f", number$34);
}
function counterOf$35(locks$36) {
let $38, $43;
let past$37 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$37)) {
past$37 = (isTrue($38 = call$1("GET", "quorlock:floor")) ? $38 : "0");
call$1("SET", "quorlock:floor:past", past$37, "PX", pastTtl$32);
}
let largest$39 = tonumber(past$37);
for (let _$40 = 1, table$42 = locks$36, lock$41; (lock$41 = get(table$42, _$40)) !== undefined; _$40 += 1) {
largest$39 = math.max(largest$39, tonumber((isTrue($43 = call$1("GET", ("quorlock:fence:" + text(lock$41)))) ? $43 : 0)));
}
return largest$39;
}
function raise$44(locks$45, counter$46) {
let $50;
for (let _$47 = 1, table$49 = locks$45, lock$48; (lock$48 = get(table$49, _$47)) !== undefined; _$47 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$48)), exactly$33(counter$46), "PX", counterTtl$31);
}
if (isAtLeast(counter$46, tonumber((isTrue($50 = call$1("GET", "quorlock:floor")) ? $50 : 0)))) {
call$1("SET", "quorlock:floor", exactly$33((number(counter$46) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$32)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$51(locks$52, granted$53, proposal$54, next$55) {
let counter$56 = counterOf$35(locks$52);
raise$44(locks$52, math.max(counter$56, tonumber(proposal$54)));
return new Table([(-1), granted$53, exactly$33(counter$56), next$55]);
}
let largest$57 = counterOf$35(new Table([key$2]));
raise$44(new Table([key$2]), math.max(largest$57, tonumber(proposal$24)));
counter$30 = exactly$33(largest$57);
}
call$1("SET", key$2, given$28, "PX", ttl$22);
let told$58 = redis.pcall("PUBLISH", inbox$23, (text(given$28) + (" " + (text(counter$30) + (" " + text((isTrue(next$14) ? next$14 : "-")))))));
if ((type(told$58) !== "number")) {
call$1("SET", key$2, given$28, "PX", math.max(1, math.min(call$1("PTTL", place$15), tonumber(ttl$22))));
} else if ((call$1("ZREM", queue$4, first$11) === 1)) {
call$1("DEL", place$15);
}
}
function queueOf$64(key$65) {
let $66, $68;
let isTagged$67 = (isTrue($66 = one(string.find(key$65, "{", 1, true))) ? one(string.find(key$65, "^[^{]*{[^}]+}")) : $66);
return (isTrue($68 = (isTrue(isTagged$67) ? ("quorlock:queue:tagged:" + text(key$65)) : isTagged$67)) ? $68 : ("quorlock:queue:{" + (text(key$65) + "}")));
}
function releaseUnwaited$69(first$70, last$71, token$72) {
for (let index$73 = number(first$70), last$74 = number(last$71); index$73 <= last$74; index$73 += 1) {
if (((redis.pcall("GET", get(KEYS, index$73)) !== token$72) || isMore(call$1("EXISTS", queueOf$64(get(KEYS, index$73))), 0))) {
return undefined;
}
}
let given$75 = 0;
for (let index$76 = number(first$70), last$77 = number(last$71); index$76 <= last$77; index$76 += 1) {
given$75 = (number(given$75) + number(call$1("DEL", get(KEYS, index$76))));
}
return given$75;
}
function ownerOf$80(key$81) {
let $83, $84;
let owner$82 = redis.pcall("GET", key$81);
if ((type(owner$82) !== "table")) {
return owner$82;
}
return (isTrue($84 = (isTrue($83 = one(string.find(get(owner$82, "err"), "^WRONGTYPE"))) ? "(no string)" : $83)) ? $84 : call$1("GET", key$81));
}
function isMine$85(owner$86, token$87) {
let $88, $91;
if ((owner$86 === token$87)) {
return true;
}
if (!isTrue(owner$86)) {
return false;
}
let waiter$89 = ($88 = all(string.match(token$87, "^(.+)%.(%d+)$")))[0], round$90 = $88[1];
let other$92 = ($91 = all(string.match(owner$86, "^(.+)%.(%d+)$")))[0], earlier$93 = $91[1];
return (((waiter$89 !== undefined) && (waiter$89 === other$92)) && isLess(tonumber(earlier$93), tonumber(round$90)));
}
function drop$94(key$95, token$96) {
let $97, $98;
return (isTrue($98 = (isTrue($97 = isMine$85(ownerOf$80(key$95), token$96)) ? call$1("DEL", key$95) : $97)) ? $98 : 0);
}
function lockOf$100(key$101) {
return key$101;
}
function leftOf$103(key$104) {
return call$1("PTTL", key$104);
}
function set$105(key$106, token$107, ms$108) {
call$1("SET", key$106, token$107, "PX", ms$108);
}
function finish$109(key$110) {
return call$1("DEL", key$110);
}
function exactly$118(number$119) {
return string.format("%.0f", number$119);
}
function counterOf$120(locks$121) {
let $123, $128;
let past$122 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$122)) {
past$122 = (isTrue($123 = call$1("GET", "quorlock:floor")) ? $123 : "0");
call$1("SET", "quorlock:floor:past", past$122, "PX", pastTtl$117);
}
let largest$124 = tonumber(past$122);
for (let _$125 = 1, table$127 = locks$121, lock$126; (lock$126 = get(table$127, _$125)) !== undefined; _$125 += 1) {
largest$124 = math.max(largest$124, tonumber((isTrue($128 = call$1("GET", ("quorlock:fence:" + text(lock$126)))) ? $128 : 0)));
}
return largest$124;
}
function raise$129(locks$130, counter$131) {
let $135;
for (let _$132 = 1, table$134 = locks$130, lock$133; (lock$133 = get(table$134, _$132)) !== undefined; _$132 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$133)), exactly$118(counter$131), "PX", counterTtl$116);
}
if (isAtLeast(counter$131, tonumber((isTrue($135 = call$1("GET", "quorlock:floor")) ? $135 : 0)))) {
call$1("SET", "quorlock:floor", exactly$118((number(counter$131) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$117)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$136(locks$137, granted$138, proposal$139, next$140) {
let counter$141 = counterOf$120(locks$137);
raise$129(locks$137, math.max(counter$141, tonumber(proposal$139)));
return new Table([(-1), granted$138, exactly$118(counter$141), next$140]);
}
function demand$142(key$143, commands$144) {
let $146;
let check$145 = redis.acl_check_cmd;
for (let [command$147] of matches((isTrue($146 = (isTrue(check$145) ? commands$144 : check$145)) ? $146 : ""), "%u+")) {
if (!isTrue(check$145(command$147, key$143))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$147)) + "' command"))));
}
}
}
function forget$148(queue$149, waiter$150) {
if ((call$1("ZREM", queue$149, waiter$150) === 1)) {
call$1("DEL", (text(queue$149) + (":" + text(string.sub(waiter$150, 1, 20)))));
}
}
function reserve$151(key$152, token$153, lives$154, ttl$155) {
set$105(key$152, token$153, math.max(1, math.min(lives$154, tonumber(ttl$155))));
}
function grant$156(key$157, queue$158, waiter$159, token$160, ttl$161, inbox$162, proposal$163) {
let $164, $166, $168;
let next$165 = (isTrue($164 = get(call$1("ZRANGE", queue$158, 1, 1, "WITHSCORES"), 2)) ? $164 : "-");
let counter$167 = (($166 = (proposal$163 !== "")) ? counterOf$120(new Table([lockOf$100(key$157)])) : $166);
set$105(key$157, token$160, ttl$161);
if (isTrue(counter$167)) {
raise$129(new Table([lockOf$100(key$157)]), math.max(counter$167, tonumber(proposal$163)));
}
let told$169 = redis.pcall("PUBLISH", inbox$162, (text(token$160) + (" " + (text((isTrue($168 = (isTrue(counter$167) ? exactly$118(counter$167) : counter$167)) ? $168 : "-")) + (" " + text(next$165))))));
if ((type(told$169) === "number")) {
forget$148(queue$158, waiter$159);
} else {
reserve$151(key$157, token$160, call$1("PTTL", (text(queue$158) + (":" + text(string.sub(waiter$159, 1, 20))))), ttl$161);
}
return told$169;
}
function sweep$175(queue$176, from$177, to$178, asking$179) {
let $180, $181, $197, $198;
let waiters$182 = (isTrue($181 = (($180 = isMore(unswept$173, 0)) ? call$1("ZRANGE", queue$176, from$177, to$178) : $180)) ? $181 : new Table([])), names$183 = new Table([]), dead$184 = new Table([]);
if ((length(waiters$182) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$173 = (number(unswept$173) - length(waiters$182));
for (let index$185 = 1, table$187 = waiters$182, waiter$186; (waiter$186 = get(table$187, index$185)) !== undefined; index$185 += 1) {
set(names$183, index$185, (text(queue$176) + (":" + text(string.sub(waiter$186, 1, 20)))));
}
let entries$188 = redis.pcall("MGET", ...all(unpack(names$183))), head$189 = undefined, entry$190 = undefined;
if (isTrue(get(entries$188, "err"))) {
for (let index$191 = 1, table$193 = names$183, name$192; (name$192 = get(table$193, index$191)) !== undefined; index$191 += 1) {
set(entries$188, index$191, call$1("GET", name$192));
}
}
for (let index$194 = 1, table$196 = waiters$182, waiter$195; (waiter$195 = get(table$196, index$194)) !== undefined; index$194 += 1) {
if ((!isTrue(get(entries$188, index$194)) && (waiter$195 !== asking$179))) {
set(dead$184, (length(dead$184) + 1), waiter$195);
} else if (!isTrue(head$189)) {
$197 = waiter$195; $198 = get(entries$188, index$194); head$189 = $197; entry$190 = $198;
}
}
if ((length(dead$184) > 0)) {
call$1("ZREM", queue$176, ...all(unpack(dead$184)));
}
return new Several([head$189, entry$190, length(waiters$182)]);
}
function headOf$199(queue$200, asking$201) {
let $206;
let first$202 = get(call$1("ZRANGE", queue$200, 0, 0), 1);
if ((!isTrue(first$202) || (first$202 === asking$201))) {
return first$202;
}
let entry$203 = call$1("GET", (text(queue$200) + (":" + text(string.sub(first$202, 1, 20)))));
if (isTrue(entry$203)) {
return new Several([first$202, entry$203]);
}
for (let _$204 = 1, last$205 = number(sweeps$171); _$204 <= last$205; _$204 += 1) {
let waiter$207 = ($206 = all(sweep$175(queue$200, 0, (number(swept$172) - 1), asking$201)))[0], found$208 = $206[1], count$209 = $206[2];
if ((isTrue(waiter$207) || isLess(count$209, swept$172))) {
return new Several([waiter$207, found$208]);
}
}
}
function give$210(key$211, ending$212) {
let $214, $217, $225;
if (isTrue(ending$212)) {
finish$109(key$211, ending$212);
}
let queue$213 = queueOf$64(key$211);
while (isMore(skips$174, 0)) {
let waiter$215 = ($214 = all(headOf$199(queue$213)))[0], entry$216 = $214[1];
if (!isTrue(waiter$215)) {
return ;
}
let round$218 = ($217 = all(string.match(entry$216, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$219 = $217[1], inbox$220 = $217[2], proposal$221 = $217[3], how$222 = $217[4];
let token$223 = (text(waiter$215) + ("." + text((isTrue(round$218) ? round$218 : "")))), isTold$224 = (isTrue(round$218) ? (inbox$220 !== "-") : round$218);
let counts$226 = (isTrue($225 = (isTrue(isTold$224) ? mayAsk$115 : isTold$224)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$220) : $225);
key$211 = one(keyFor$102(key$211, how$222));
if ((!isTrue(round$218) || ((isTrue(counts$226) && !isTrue(get(counts$226, "err"))) && (get(counts$226, 2) === 0)))) {
forget$148(queue$213, waiter$215);
} else if ((isTrue(mayShare$113) && isTrue(one(ownerFor$99(key$211, token$223))))) {
return ;
} else if (((isTrue(isTold$224) && ((how$222 === "g") || (how$222 === "r"))) && (isTrue(isSeeded$170) || (proposal$221 === "")))) {
let told$227 = grant$156(key$211, queue$213, waiter$215, token$223, ttl$219, inbox$220, proposal$221);
if (((told$227 !== 0) && (how$222 === "g"))) {
return ;
}
if ((told$227 === 0)) {
finish$109(key$211, token$223);
}
} else {
reserve$151(key$211, token$223, call$1("PTTL", (text(queue$213) + (":" + text(string.sub(waiter$215, 1, 20))))), ttl$219);
if ((isTrue(isTold$224) && (how$222 === "w"))) {
redis.pcall("PUBLISH", inbox$220, ("wake " + text(token$223)));
}
return ;
}
skips$174 = (number(skips$174) - 1);
}
}
function leave$228(first$229, last$230, token$231) {
let $232, $235;
demand$142(get(KEYS, first$229), toGive$112);
let waiter$233 = ($232 = all(string.match(token$231, "^(.+)%.(%d+)$")))[0], round$234 = $232[1];
for (let index$236 = number(first$229), last$237 = number((isTrue($235 = (isTrue(waiter$233) ? last$230 : waiter$233)) ? $235 : 0)); index$236 <= last$237; index$236 += 1) {
let queue$238 = queueOf$64(get(KEYS, index$236));
let entry$239 = call$1("GET", (text(queue$238) + (":" + text(string.sub(waiter$233, 1, 20)))));
let entered$240 = (isTrue(entry$239) ? tonumber(...all(string.match(entry$239, "^%d+"))) : entry$239);
if ((isTrue(entered$240) && isAtMost(entered$240, tonumber(round$234)))) {
forget$148(queue$238, waiter$233);
}
}
let released$241 = 0;
for (let index$242 = number(first$229), last$243 = number(last$230); index$242 <= last$243; index$242 += 1) {
let dropped$244 = drop$94(get(KEYS, index$242), token$231);
released$241 = (number(released$241) + number(dropped$244));
if (((dropped$244 === 1) || isTrue(mayShare$113))) {
give$210(get(KEYS, index$242));
}
}
return released$241;
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $5, $7, $8, $10, $17, $18, $20, $25, $60, $61, $62, $78, $114;
call$1 = redis.call;
key$2 = get(KEYS, 1), token$3 = get(ARGV, length(ARGV)), queue$4 = undefined;
if ((!isTrue(get(KEYS, 2)) && (redis.pcall("GET", key$2) === token$3))) {
isTagged$6 = (isTrue($5 = one(string.find(key$2, "{", 1, true))) ? one(string.find(key$2, "^[^{]*{[^}]+}")) : $5);
queue$4 = (isTrue($7 = (isTrue(isTagged$6) ? ("quorlock:queue:tagged:" + text(key$2)) : isTagged$6)) ? $7 : ("quorlock:queue:{" + (text(key$2) + "}")));
if ((call$1("EXISTS", queue$4) === 0)) {
return call$1("DEL", key$2);
}
}
if (isTrue(queue$4)) {
own$9 = (isTrue($8 = one(string.match(token$3, "^(.+)%.%d+$"))) ? $8 : "");
first$11 = ($10 = all(unpack(call$1("ZRANGE", queue$4, 0, 1, "WITHSCORES"))))[0], _$12 = $10[1], _$13 = $10[2], next$14 = $10[3];
place$15 = (text(queue$4) + (":" + text(string.sub((isTrue(first$11) ? first$11 : ""), 1, 20))));
entries$16 = (isTrue(first$11) ? redis.pcall("MGET", place$15, (text(queue$4) + (":" + text(string.sub(own$9, 1, 20))))) : first$11);
entry$19 = (isTrue($18 = (isTrue($17 = (isTrue(entries$16) ? !isTrue(get(entries$16, 2)) : entries$16)) ? get(entries$16, 1) : $17)) ? $18 : "");
round$21 = ($20 = all(string.match(entry$19, "^(%d+) (%d+) (%S+) (%d*) g$")))[0], ttl$22 = $20[1], inbox$23 = $20[2], proposal$24 = $20[3];
if ((isTrue(round$21) && (inbox$23 !== "-"))) {
mayAsk$26 = (isTrue($25 = redis.replicate_commands) ? $25 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counts$27 = (isTrue(mayAsk$26) ? redis.pcall("PUBSUB", "NUMSUB", inbox$23) : mayAsk$26), given$28 = (text(first$11) + ("." + text(round$21)));

check$59 = redis.acl_check_cmd;
isAllowed$63 = (($62 = !isTrue(check$59)) ? $62 : (isTrue($61 = (isTrue($60 = check$59("DEL", key$2)) ? check$59("PTTL", key$2) : $60)) ? check$59("ZREM", key$2) : $61));
if (((((isTrue(counts$27) && !isTrue(get(counts$27, "err"))) && isMore(get(counts$27, 2), 0)) && isTrue(isAllowed$63)) && isTrue(one(pcall(grantKey$29))))) {
return 1;
}
}
}


given$79 = (isTrue($78 = get(KEYS, 2)) ? releaseUnwaited$69(1, length(KEYS), token$3) : $78);
if (isTrue(given$79)) {
return given$79;
}



ownerFor$99 = ownerOf$80;

keyFor$102 = lockOf$100;



toEnter$111 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$112 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$113 = false;
mayAsk$115 = (isTrue($114 = redis.replicate_commands) ? $114 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$116 = 86400000, pastTtl$117 = 43200000;








isSeeded$170 = true;
sweeps$171 = 8, swept$172 = 128, unswept$173 = 4096;
skips$174 = 256;




return leave$228(1, length(KEYS), token$3);
}};
})(),
  "810980d3a9f3eeaae60f76e9680bd0bfbe43ebd9": (() => {
let redis, KEYS, ARGV, call$1, released$21;
function ownerOf$2(key$3) {
let $5, $6;
let owner$4 = redis.pcall("GET", key$3);
if ((type(owner$4) !== "table")) {
return owner$4;
}
return (isTrue($6 = (isTrue($5 = one(string.find(get(owner$4, "err"), "^WRONGTYPE"))) ? "(no string)" : $5)) ? $6 : call$1("GET", key$3));
}
function isMine$7(owner$8, token$9) {
let $10, $13;
if ((owner$8 === token$9)) {
return true;
}
if (!isTrue(owner$8)) {
return false;
}
let waiter$11 = ($10 = all(string.match(token$9, "^(.+)%.(%d+)$")))[0], round$12 = $10[1];
let other$14 = ($13 = all(string.match(owner$8, "^(.+)%.(%d+)$")))[0], earlier$15 = $13[1];
return (((waiter$11 !== undefined) && (waiter$11 === other$14)) && isLess(tonumber(earlier$15), tonumber(round$12)));
}
function drop$16(key$17, token$18) {
let $19, $20;
return (isTrue($20 = (isTrue($19 = isMine$7(ownerOf$2(key$17), token$18)) ? call$1("DEL", key$17) : $19)) ? $20 : 0);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
call$1 = redis.call;



released$21 = 0;
for (let index$22 = 1, last$23 = length(KEYS); index$22 <= last$23; index$22 += 1) {
released$21 = (number(released$21) + number(drop$16(get(KEYS, index$22), get(ARGV, 1))));
}
return released$21;
}};
})(),
  "9b059bb0ca9d7a10ad199529ff4c50b666b531b2": (() => {
let redis, KEYS, ARGV, call$1, key$2, token$3, queue$4, isTagged$6, given$23, ownerFor$50, keyFor$53, toEnter$62, toGive$63, mayShare$64, mayAsk$66, counterTtl$67, pastTtl$68, isSeeded$121, sweeps$122, swept$123, unswept$124, skips$125, guarded$196, isKnown$259;
function queueOf$8(key$9) {
let $10, $12;
let isTagged$11 = (isTrue($10 = one(string.find(key$9, "{", 1, true))) ? one(string.find(key$9, "^[^{]*{[^}]+}")) : $10);
return (isTrue($12 = (isTrue(isTagged$11) ? ("quorlock:queue:tagged:" + text(key$9)) : isTagged$11)) ? $12 : ("quorlock:queue:{" + (text(key$9) + "}")));
}
function releaseUnwaited$13(first$14, last$15, token$16) {
for (let index$17 = number(first$14), last$18 = number(last$15); index$17 <= last$18; index$17 += 1) {
if (((redis.pcall("GET", get(KEYS, index$17)) !== token$16) || isMore(call$1("EXISTS", queueOf$8(get(KEYS, index$17))), 0))) {
return undefined;
}
}
let given$19 = 0;
for (let index$20 = number(first$14), last$21 = number(last$15); index$20 <= last$21; index$20 += 1) {
given$19 = (number(given$19) + number(call$1("DEL", get(KEYS, index$20))));
}
return given$19;
}
function ownerOf$24(key$25) {
let $27, $28;
let owner$26 = redis.pcall("GET", key$25);
if ((type(owner$26) !== "table")) {
return owner$26;
}
return (isTrue($28 = (isTrue($27 = one(string.find(get(owner$26, "err"), "^WRONGTYPE"))) ? "(no string)" : $27)) ? $28 : call$1("GET", key$25));
}
function isMine$29(owner$30, token$31) {
let $32, $35;
if ((owner$30 === token$31)) {
return true;
}
if (!isTrue(owner$30)) {
return false;
}
let waiter$33 = ($32 = all(string.match(token$31, "^(.+)%.(%d+)$")))[0], round$34 = $32[1];
let other$36 = ($35 = all(string.match(owner$30, "^(.+)%.(%d+)$")))[0], earlier$37 = $35[1];
return (((waiter$33 !== undefined) && (waiter$33 === other$36)) && isLess(tonumber(earlier$37), tonumber(round$34)));
}
function drop$38(key$39, token$40) {
let $41, $42;
return (isTrue($42 = (isTrue($41 = isMine$29(ownerOf$24(key$39), token$40)) ? call$1("DEL", key$39) : $41)) ? $42 : 0);
}
function release$43(first$44, last$45, token$46) {
let released$47 = 0;
for (let index$48 = number(first$44), last$49 = number(last$45); index$48 <= last$49; index$48 += 1) {
released$47 = (number(released$47) + number(drop$38(get(KEYS, index$48), token$46)));
}
return released$47;
}
function lockOf$51(key$52) {
return key$52;
}
function leftOf$54(key$55) {
return call$1("PTTL", key$55);
}
function set$56(key$57, token$58, ms$59) {
call$1("SET", key$57, token$58, "PX", ms$59);
}
function finish$60(key$61) {
return call$1("DEL", key$61);
}
function exactly$69(number$70) {
return string.format("%.0f", number$70);
}
function counterOf$71(locks$72) {
let $74, $79;
let past$73 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$73)) {
past$73 = (isTrue($74 = call$1("GET", "quorlock:floor")) ? $74 : "0");
call$1("SET", "quorlock:floor:past", past$73, "PX", pastTtl$68);
}
let largest$75 = tonumber(past$73);
for (let _$76 = 1, table$78 = locks$72, lock$77; (lock$77 = get(table$78, _$76)) !== undefined; _$76 += 1) {
largest$75 = math.max(largest$75, tonumber((isTrue($79 = call$1("GET", ("quorlock:fence:" + text(lock$77)))) ? $79 : 0)));
}
return largest$75;
}
function raise$80(locks$81, counter$82) {
let $86;
for (let _$83 = 1, table$85 = locks$81, lock$84; (lock$84 = get(table$85, _$83)) !== undefined; _$83 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$84)), exactly$69(counter$82), "PX", counterTtl$67);
}
if (isAtLeast(counter$82, tonumber((isTrue($86 = call$1("GET", "quorlock:floor")) ? $86 : 0)))) {
call$1("SET", "quorlock:floor", exactly$69((number(counter$82) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$68)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$87(locks$88, granted$89, proposal$90, next$91) {
let counter$92 = counterOf$71(locks$88);
raise$80(locks$88, math.max(counter$92, tonumber(proposal$90)));
return new Table([(-1), granted$89, exactly$69(counter$92), next$91]);
}
function demand$93(key$94, commands$95) {
let $97;
let check$96 = redis.acl_check_cmd;
for (let [command$98] of matches((isTrue($97 = (isTrue(check$96) ? commands$95 : check$96)) ? $97 : ""), "%u+")) {
if (!isTrue(check$96(command$98, key$94))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$98)) + "' command"))));
}
}
}
function forget$99(queue$100, waiter$101) {
if ((call$1("ZREM", queue$100, waiter$101) === 1)) {
call$1("DEL", (text(queue$100) + (":" + text(string.sub(waiter$101, 1, 20)))));
}
}
function reserve$102(key$103, token$104, lives$105, ttl$106) {
set$56(key$103, token$104, math.max(1, math.min(lives$105, tonumber(ttl$106))));
}
function grant$107(key$108, queue$109, waiter$110, token$111, ttl$112, inbox$113, proposal$114) {
let $115, $117, $119;
let next$116 = (isTrue($115 = get(call$1("ZRANGE", queue$109, 1, 1, "WITHSCORES"), 2)) ? $115 : "-");
let counter$118 = (($117 = (proposal$114 !== "")) ? counterOf$71(new Table([lockOf$51(key$108)])) : $117);
set$56(key$108, token$111, ttl$112);
if (isTrue(counter$118)) {
raise$80(new Table([lockOf$51(key$108)]), math.max(counter$118, tonumber(proposal$114)));
}
let told$120 = redis.pcall("PUBLISH", inbox$113, (text(token$111) + (" " + (text((isTrue($119 = (isTrue(counter$118) ? exactly$69(counter$118) : counter$118)) ? $119 : "-")) + (" " + text(next$116))))));
if ((type(told$120) === "number")) {
forget$99(queue$109, waiter$110);
} else {
reserve$102(key$108, token$111, call$1("PTTL", (text(queue$109) + (":" + text(string.sub(waiter$110, 1, 20))))), ttl$112);
}
return told$120;
}
function sweep$126(queue$127, from$128, to$129, asking$130) {
let $131, $132, $148, $149;
let waiters$133 = (isTrue($132 = (($131 = isMore(unswept$124, 0)) ? call$1("ZRANGE", queue$127, from$128, to$129) : $131)) ? $132 : new Table([])), names$134 = new Table([]), dead$135 = new Table([]);
if ((length(waiters$133) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$124 = (number(unswept$124) - length(waiters$133));
for (let index$136 = 1, table$138 = waiters$133, waiter$137; (waiter$137 = get(table$138, index$136)) !== undefined; index$136 += 1) {
set(names$134, index$136, (text(queue$127) + (":" + text(string.sub(waiter$137, 1, 20)))));
}
let entries$139 = redis.pcall("MGET", ...all(unpack(names$134))), head$140 = undefined, entry$141 = undefined;
if (isTrue(get(entries$139, "err"))) {
for (let index$142 = 1, table$144 = names$134, name$143; (name$143 = get(table$144, index$142)) !== undefined; index$142 += 1) {
set(entries$139, index$142, call$1("GET", name$143));
}
}
for (let index$145 = 1, table$147 = waiters$133, waiter$146; (waiter$146 = get(table$147, index$145)) !== undefined; index$145 += 1) {
if ((!isTrue(get(entries$139, index$145)) && (waiter$146 !== asking$130))) {
set(dead$135, (length(dead$135) + 1), waiter$146);
} else if (!isTrue(head$140)) {
$148 = waiter$146; $149 = get(entries$139, index$145); head$140 = $148; entry$141 = $149;
}
}
if ((length(dead$135) > 0)) {
call$1("ZREM", queue$127, ...all(unpack(dead$135)));
}
return new Several([head$140, entry$141, length(waiters$133)]);
}
function headOf$150(queue$151, asking$152) {
let $157;
let first$153 = get(call$1("ZRANGE", queue$151, 0, 0), 1);
if ((!isTrue(first$153) || (first$153 === asking$152))) {
return first$153;
}
let entry$154 = call$1("GET", (text(queue$151) + (":" + text(string.sub(first$153, 1, 20)))));
if (isTrue(entry$154)) {
return new Several([first$153, entry$154]);
}
for (let _$155 = 1, last$156 = number(sweeps$122); _$155 <= last$156; _$155 += 1) {
let waiter$158 = ($157 = all(sweep$126(queue$151, 0, (number(swept$123) - 1), asking$152)))[0], found$159 = $157[1], count$160 = $157[2];
if ((isTrue(waiter$158) || isLess(count$160, swept$123))) {
return new Several([waiter$158, found$159]);
}
}
}
function give$161(key$162, ending$163) {
let $165, $168, $176;
if (isTrue(ending$163)) {
finish$60(key$162, ending$163);
}
let queue$164 = queueOf$8(key$162);
while (isMore(skips$125, 0)) {
let waiter$166 = ($165 = all(headOf$150(queue$164)))[0], entry$167 = $165[1];
if (!isTrue(waiter$166)) {
return ;
}
let round$169 = ($168 = all(string.match(entry$167, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$170 = $168[1], inbox$171 = $168[2], proposal$172 = $168[3], how$173 = $168[4];
let token$174 = (text(waiter$166) + ("." + text((isTrue(round$169) ? round$169 : "")))), isTold$175 = (isTrue(round$169) ? (inbox$171 !== "-") : round$169);
let counts$177 = (isTrue($176 = (isTrue(isTold$175) ? mayAsk$66 : isTold$175)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$171) : $176);
key$162 = one(keyFor$53(key$162, how$173));
if ((!isTrue(round$169) || ((isTrue(counts$177) && !isTrue(get(counts$177, "err"))) && (get(counts$177, 2) === 0)))) {
forget$99(queue$164, waiter$166);
} else if ((isTrue(mayShare$64) && isTrue(one(ownerFor$50(key$162, token$174))))) {
return ;
} else if (((isTrue(isTold$175) && ((how$173 === "g") || (how$173 === "r"))) && (isTrue(isSeeded$121) || (proposal$172 === "")))) {
let told$178 = grant$107(key$162, queue$164, waiter$166, token$174, ttl$170, inbox$171, proposal$172);
if (((told$178 !== 0) && (how$173 === "g"))) {
return ;
}
if ((told$178 === 0)) {
finish$60(key$162, token$174);
}
} else {
reserve$102(key$162, token$174, call$1("PTTL", (text(queue$164) + (":" + text(string.sub(waiter$166, 1, 20))))), ttl$170);
if ((isTrue(isTold$175) && (how$173 === "w"))) {
redis.pcall("PUBLISH", inbox$171, ("wake " + text(token$174)));
}
return ;
}
skips$125 = (number(skips$125) - 1);
}
}
function leave$179(first$180, last$181, token$182) {
let $183, $186;
demand$93(get(KEYS, first$180), toGive$63);
let waiter$184 = ($183 = all(string.match(token$182, "^(.+)%.(%d+)$")))[0], round$185 = $183[1];
for (let index$187 = number(first$180), last$188 = number((isTrue($186 = (isTrue(waiter$184) ? last$181 : waiter$184)) ? $186 : 0)); index$187 <= last$188; index$187 += 1) {
let queue$189 = queueOf$8(get(KEYS, index$187));
let entry$190 = call$1("GET", (text(queue$189) + (":" + text(string.sub(waiter$184, 1, 20)))));
let entered$191 = (isTrue(entry$190) ? tonumber(...all(string.match(entry$190, "^%d+"))) : entry$190);
if ((isTrue(entered$191) && isAtMost(entered$191, tonumber(round$185)))) {
forget$99(queue$189, waiter$184);
}
}
let released$192 = 0;
for (let index$193 = number(first$180), last$194 = number(last$181); index$193 <= last$194; index$193 += 1) {
let dropped$195 = drop$38(get(KEYS, index$193), token$182);
released$192 = (number(released$192) + number(dropped$195));
if (((dropped$195 === 1) || isTrue(mayShare$64))) {
give$161(get(KEYS, index$193));
}
}
return released$192;
}
function mark$197(state$198, ends$199, length$200) {
let $203, $206, $207;
if (isTrue(length$200)) {
call$1("SET", "quorlock:quarantine", exactly$69(length$200), "PX", exactly$69(length$200));
}
let words$201 = new Table([get(guarded$196, "replId"), get(guarded$196, "since"), exactly$69(ends$199), get(guarded$196, "longest"), get(guarded$196, "database"), state$198]);
call$1("SET", "quorlock:guard", table.concat(words$201, " "));
function keepInMemory$202() {
call$1("SET", "quorlock:guard:memory", get(guarded$196, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$196, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$204 = ($203 = all(pcall(keepInMemory$202)))[0], why$205 = $203[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$204)) {
error(why$205, 0);
}
$206 = state$198; $207 = ends$199; set(guarded$196, "state", $206); set(guarded$196, "ends", $207);
}
function watch$208(terms$209) {
let $216, $225, $226, $233, $234, $236, $237, $238, $239, $240, $241, $242, $246, $247, $249, $250, $251;
function isMemoryOf$210(was$211, since$212, durable$213, info$214) {
let isSame$215 = (was$211 === get(guarded$196, "replId"));
if ((!isTrue(isSame$215) && !isTrue(one(string.find(info$214, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$213 === "1") && !isTrue(isSame$215))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$212) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$196 = undefined;
let maxTtl$217 = ($216 = all(string.match(terms$209, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$218 = $216[1], durable$219 = $216[2], right$220 = $216[3], now$221 = $216[4], database$222 = $216[5], after$223 = $216[6];
if (!isTrue(maxTtl$217)) {
return ;
}
now$221 = tonumber(now$221);
guarded$196 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$217).set("now", now$221);
let info$224 = call$1("INFO", "replication");
set(guarded$196, "replId", one(string.match(info$224, "master_replid:(%S+)")));
if (!isTrue(get(guarded$196, "replId"))) {
set(guarded$196, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$224, "role:master", 1, true)))) {
set(guarded$196, "why", "READONLY it is a replica");
return ;
}
let was$227 = ($225 = all(string.match((isTrue($226 = call$1("GET", "quorlock:guard")) ? $226 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$228 = $225[1], ends$229 = $225[2], longest$230 = $225[3], place$231 = $225[4], state$232 = $225[5];
let isKnown$235 = (isTrue($234 = (isTrue($233 = (isTrue(was$227) ? (place$231 === database$222) : was$227)) ? isAtLeast(tonumber(since$228), tonumber(after$223)) : $233)) ? isMemoryOf$210(was$227, since$228, durable$219, info$224) : $234);
if (isTrue(isKnown$235)) {
$236 = since$228; $237 = longest$230; $238 = place$231; set(guarded$196, "since", $236); set(guarded$196, "longest", $237); set(guarded$196, "database", $238);
$239 = state$232; $240 = tonumber(ends$229); $241 = true; set(guarded$196, "state", $239); set(guarded$196, "ends", $240); set(guarded$196, "isKnown", $241);
if ((was$227 !== get(guarded$196, "replId"))) {
pcall(mark$197, state$232, get(guarded$196, "ends"));
}
} else if ((right$220 === "0")) {
return ;
} else if ((right$220 === "3")) {
if (!isTrue(was$227)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$218)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$235) && (right$220 !== "4"))) {
if ((state$232 === "2")) {
let left$243 = call$1("PTTL", "quorlock:quarantine"), length$244 = tonumber((isTrue($242 = call$1("GET", "quorlock:quarantine")) ? $242 : ""));
if ((isTrue(length$244) && isMore(left$243, length$244))) {
call$1("PEXPIRE", "quorlock:quarantine", length$244);
left$243 = length$244;
}
let isFar$245 = isMore(get(guarded$196, "ends"), (number(now$221) + number(math.max(tonumber(longest$230), left$243))));
if (isTrue(isFar$245)) {
pcall(mark$197, "2", (number(now$221) + number((isTrue($247 = (($246 = (left$243 === (-2))) ? tonumber(longest$230) : $246)) ? $247 : left$243))));
}
if (((left$243 === (-2)) && isAtMost(get(guarded$196, "ends"), now$221))) {
pcall(mark$197, "1", 0);
}
}
} else {
let length$248 = math.max(tonumber((isTrue(longest$230) ? longest$230 : 0)), tonumber(maxTtl$217));
set(guarded$196, "since", exactly$69(math.max((number(tonumber((isTrue(since$228) ? since$228 : 0))) + 1), tonumber(epoch$218))));
$250 = database$222; $251 = (isTrue($249 = (isTrue(isKnown$235) ? longest$230 : isKnown$235)) ? $249 : maxTtl$217); set(guarded$196, "database", $250); set(guarded$196, "longest", $251);
if (((right$220 !== "2") || isTrue(was$227))) {
mark$197("2", (number(now$221) + number(length$248)), length$248);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$218))))) {
mark$197("0", 0);
} else {
set(guarded$196, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$196, "isKnown", true);
}
set(guarded$196, "why", undefined);
}
function bar$252(kind$253, ttl$254, proposal$255) {
if (isTrue(get(guarded$196, "why"))) {
return get(guarded$196, "why");
}
if (((get(guarded$196, "longest") !== get(guarded$196, "wanted")) || isMore(tonumber(ttl$254), tonumber(get(guarded$196, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$196, "longest")) + " ms here"));
}
if (((proposal$255 === "") && ((kind$253 === "e") || (kind$253 === "p")))) {
return undefined;
}
if ((get(guarded$196, "state") === "2")) {
let left$256 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$196, "ends")) - number(get(guarded$196, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$69(left$256)) + " ms more"));
}
if (((proposal$255 !== "") && (get(guarded$196, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$196, "since")));
}
}
function inQuarantine$257() {
let $258;
return (isTrue(guarded$196) ? (isTrue($258 = get(guarded$196, "why")) ? $258 : (get(guarded$196, "state") === "2")) : guarded$196);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $5, $7, $22, $65;
call$1 = redis.call;
key$2 = get(KEYS, 1), token$3 = get(ARGV, length(ARGV)), queue$4 = undefined;
if ((!isTrue(get(KEYS, 2)) && (redis.pcall("GET", key$2) === token$3))) {
isTagged$6 = (isTrue($5 = one(string.find(key$2, "{", 1, true))) ? one(string.find(key$2, "^[^{]*{[^}]+}")) : $5);
queue$4 = (isTrue($7 = (isTrue(isTagged$6) ? ("quorlock:queue:tagged:" + text(key$2)) : isTagged$6)) ? $7 : ("quorlock:queue:{" + (text(key$2) + "}")));
if ((call$1("EXISTS", queue$4) === 0)) {
return call$1("DEL", key$2);
}
}


given$23 = (isTrue($22 = get(KEYS, 2)) ? releaseUnwaited$13(1, length(KEYS), token$3) : $22);
if (isTrue(given$23)) {
return given$23;
}




ownerFor$50 = ownerOf$24;

keyFor$53 = lockOf$51;



toEnter$62 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$63 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$64 = false;
mayAsk$66 = (isTrue($65 = redis.replicate_commands) ? $65 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$67 = 86400000, pastTtl$68 = 43200000;








isSeeded$121 = true;
sweeps$122 = 8, swept$123 = 128, unswept$124 = 4096;
skips$125 = 256;




guarded$196 = undefined;




isKnown$259 = one(pcall(watch$208, get(ARGV, 1)));
if ((!isTrue(isKnown$259) || isTrue(inQuarantine$257()))) {
return release$43(1, length(KEYS), token$3);
}
isSeeded$121 = (!isTrue(guarded$196) || (get(guarded$196, "state") !== "1"));
return leave$179(1, length(KEYS), token$3);
}};
})(),
  "b10aaf518a89a7ad04c25b91c49b707473d50163": (() => {
let redis, KEYS, ARGV, call$1, ttl$2, granted$11, replies$58;
function voteAll$3(key$4, arg$5, count$6, ttl$7) {
for (let place$8 = 0, last$9 = (number(count$6) - 1); place$8 <= last$9; place$8 += 1) {
let set$10 = redis.pcall("SET", get(KEYS, (number(key$4) + place$8)), get(ARGV, (number(arg$5) + place$8)), "NX", "PX", ttl$7);
if ((!isTrue(set$10) || isTrue(get(set$10, "err")))) {
return place$8;
}
}
return count$6;
}
function ownerOf$12(key$13) {
let $15, $16;
let owner$14 = redis.pcall("GET", key$13);
if ((type(owner$14) !== "table")) {
return owner$14;
}
return (isTrue($16 = (isTrue($15 = one(string.find(get(owner$14, "err"), "^WRONGTYPE"))) ? "(no string)" : $15)) ? $16 : call$1("GET", key$13));
}
function isMine$17(owner$18, token$19) {
let $20, $23;
if ((owner$18 === token$19)) {
return true;
}
if (!isTrue(owner$18)) {
return false;
}
let waiter$21 = ($20 = all(string.match(token$19, "^(.+)%.(%d+)$")))[0], round$22 = $20[1];
let other$24 = ($23 = all(string.match(owner$18, "^(.+)%.(%d+)$")))[0], earlier$25 = $23[1];
return (((waiter$21 !== undefined) && (waiter$21 === other$24)) && isLess(tonumber(earlier$25), tonumber(round$22)));
}
function masked$26(owner$27) {
let $28;
if (!isTrue(owner$27)) {
return owner$27;
}
let round$29 = (isTrue($28 = one(string.match(owner$27, "%.%d+$"))) ? $28 : "");
let length$30 = (length(owner$27) - length(round$29));
let shown$31 = math.min(8, math.floor((number(length$30) / 2)));
return (text(string.sub(owner$27, 1, shown$31)) + (text(string.rep("*", (number(length$30) - number(shown$31)))) + text(round$29)));
}
function claim$32(first$33, last$34, token$35, ttl$36, create$37) {
let $49;
let least$38 = tonumber(ttl$36);
let owners$39 = new Table([]);
for (let index$40 = number(first$33), last$41 = number(last$34); index$40 <= last$41; index$40 += 1) {
let owner$42 = ownerOf$12(get(KEYS, index$40));
set(owners$39, index$40, owner$42);
if ((!isTrue(isMine$17(owner$42, token$35)) && (isTrue(owner$42) || !isTrue(create$37)))) {
return new Table([((index$40 - number(first$33)) + 1), masked$26(owner$42), call$1("PTTL", get(KEYS, index$40))]);
}
}
let shortest$43 = undefined;
for (let index$44 = number(first$33), last$45 = number(last$34); index$44 <= last$45; index$44 += 1) {
let left$46 = call$1("PTTL", get(KEYS, index$44));
let isOther$47 = ((get(owners$39, index$44) !== token$35) || (left$46 === (-2)));
let isShort$48 = ((left$46 !== (-1)) && isLess(left$46, least$38));
let lives$50 = (isTrue($49 = (isTrue(isShort$48) ? ttl$36 : isShort$48)) ? $49 : left$46);
if (((isTrue(isShort$48) && (left$46 !== (-2))) || (isTrue(isOther$47) && isAtLeast(left$46, 0)))) {
call$1("PEXPIRE", get(KEYS, index$44), lives$50);
}
if ((isTrue(isOther$47) && (left$46 === (-1)))) {
call$1("SET", get(KEYS, index$44), token$35);
} else if (isTrue(isOther$47)) {
call$1("SET", get(KEYS, index$44), token$35, "PX", lives$50);
}
if (isTrue(isShort$48)) {
left$46 = least$38;
}
if (((left$46 !== (-1)) && (!isTrue(shortest$43) || isLess(left$46, shortest$43)))) {
shortest$43 = left$46;
}
}
return (isTrue(shortest$43) ? shortest$43 : (-1));
}
function failure$51(reason$52) {
let $53, $54;
return new Table([0, (isTrue($54 = (($53 = (type(reason$52) === "table")) ? get(reason$52, "err") : $53)) ? $54 : tostring(reason$52))]);
}
function vote$55(index$56) {
let token$57 = get(ARGV, (number(index$56) + 1));
if (isTrue(call$1("SET", get(KEYS, index$56), token$57, "NX", "PX", ttl$2))) {
return tonumber(ttl$2);
}
return claim$32(index$56, index$56, token$57, ttl$2, true);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $63, $64, $65, $66;
call$1 = redis.call;
ttl$2 = get(ARGV, 1);

granted$11 = voteAll$3(1, 2, length(KEYS), ttl$2);
if ((granted$11 === length(KEYS))) {
return granted$11;
}






replies$58 = new Table([]);
for (let index$59 = 1, last$60 = length(KEYS); index$59 <= last$60; index$59 += 1) {
let done$61 = true, reply$62 = tonumber(ttl$2);
if (isMore(index$59, granted$11)) {
$64 = ($63 = all(pcall(vote$55, index$59)))[0]; $65 = $63[1]; done$61 = $64; reply$62 = $65;
}
set(replies$58, index$59, (isTrue($66 = (isTrue(done$61) ? reply$62 : done$61)) ? $66 : failure$51(reply$62)));
}
return replies$58;
}};
})(),
  "d27d581d2f6c1be5168c571246c97c6665f6aaff": (() => {
let redis, KEYS, ARGV, call$1, index$2, record$3, tag$5, text$6, ttl$7, turn$8, time$9, now$10, oldest$11, count$14, first$15;

return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $4;
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
call$1 = redis.call;
index$2 = get(KEYS, 1), record$3 = get(KEYS, 2);
tag$5 = ($4 = all(unpack(ARGV)))[0], text$6 = $4[1], ttl$7 = $4[2], turn$8 = $4[3];
if ((ttl$7 === "0")) {
call$1("ZREM", index$2, tag$5);
call$1("DEL", record$3);
return new Table([0, new Table([])]);
}
time$9 = call$1("TIME");
now$10 = ((number(get(time$9, 1)) * 1000) + number(math.floor((number(get(time$9, 2)) / 1000))));
call$1("SET", record$3, text$6, "PX", ttl$7);
call$1("ZADD", index$2, (number(now$10) + number(ttl$7)), tag$5);
call$1("PEXPIRE", index$2, ttl$7);
oldest$11 = call$1("ZRANGE", index$2, 0, 7, "WITHSCORES");
for (let place$12 = 1, last$13 = length(oldest$11); place$12 <= last$13; place$12 += 2) {
if (isLess(tonumber(get(oldest$11, (place$12 + 1))), now$10)) {
call$1("ZREM", index$2, get(oldest$11, place$12));
}
}
count$14 = call$1("ZCARD", index$2);
first$15 = (50 * modulo(number(turn$8), number(math.ceil((number(count$14) / 50)))));
return new Table([count$14, call$1("ZRANGE", index$2, first$15, (number(first$15) + 49))]);
}};
})(),
  "d69953d9feafe69e2d8514ef2b9cbe6a9125d4b7": (() => {
let redis, KEYS, ARGV, call$1, key$3, token$4, ttl$5, ticket$6, entryTtl$7, proposal$8, inbox$9, waiter$17, round$18, isTagged$20, queue$22, owner$23, check$24, left$25, place$26, ownerFor$65, keyFor$68, toEnter$77, toGive$78, mayShare$79, mayAsk$81, counterTtl$82, pastTtl$83, isSeeded$136, sweeps$137, swept$138, unswept$139, skips$140, granted$248, next$249;
function masked$10(owner$11) {
let $12;
if (!isTrue(owner$11)) {
return owner$11;
}
let round$13 = (isTrue($12 = one(string.match(owner$11, "%.%d+$"))) ? $12 : "");
let length$14 = (length(owner$11) - length(round$13));
let shown$15 = math.min(8, math.floor((number(length$14) / 2)));
return (text(string.sub(owner$11, 1, shown$15)) + (text(string.rep("*", (number(length$14) - number(shown$15)))) + text(round$13)));
}
function ownerOf$27(key$28) {
let $30, $31;
let owner$29 = redis.pcall("GET", key$28);
if ((type(owner$29) !== "table")) {
return owner$29;
}
return (isTrue($31 = (isTrue($30 = one(string.find(get(owner$29, "err"), "^WRONGTYPE"))) ? "(no string)" : $30)) ? $31 : call$1("GET", key$28));
}
function isMine$32(owner$33, token$34) {
let $35, $38;
if ((owner$33 === token$34)) {
return true;
}
if (!isTrue(owner$33)) {
return false;
}
let waiter$36 = ($35 = all(string.match(token$34, "^(.+)%.(%d+)$")))[0], round$37 = $35[1];
let other$39 = ($38 = all(string.match(owner$33, "^(.+)%.(%d+)$")))[0], earlier$40 = $38[1];
return (((waiter$36 !== undefined) && (waiter$36 === other$39)) && isLess(tonumber(earlier$40), tonumber(round$37)));
}
function claim$41(first$42, last$43, token$44, ttl$45, create$46) {
let $58;
let least$47 = tonumber(ttl$45);
let owners$48 = new Table([]);
for (let index$49 = number(first$42), last$50 = number(last$43); index$49 <= last$50; index$49 += 1) {
let owner$51 = ownerOf$27(get(KEYS, index$49));
set(owners$48, index$49, owner$51);
if ((!isTrue(isMine$32(owner$51, token$44)) && (isTrue(owner$51) || !isTrue(create$46)))) {
return new Table([((index$49 - number(first$42)) + 1), masked$10(owner$51), call$1("PTTL", get(KEYS, index$49))]);
}
}
let shortest$52 = undefined;
for (let index$53 = number(first$42), last$54 = number(last$43); index$53 <= last$54; index$53 += 1) {
let left$55 = call$1("PTTL", get(KEYS, index$53));
let isOther$56 = ((get(owners$48, index$53) !== token$44) || (left$55 === (-2)));
let isShort$57 = ((left$55 !== (-1)) && isLess(left$55, least$47));
let lives$59 = (isTrue($58 = (isTrue(isShort$57) ? ttl$45 : isShort$57)) ? $58 : left$55);
if (((isTrue(isShort$57) && (left$55 !== (-2))) || (isTrue(isOther$56) && isAtLeast(left$55, 0)))) {
call$1("PEXPIRE", get(KEYS, index$53), lives$59);
}
if ((isTrue(isOther$56) && (left$55 === (-1)))) {
call$1("SET", get(KEYS, index$53), token$44);
} else if (isTrue(isOther$56)) {
call$1("SET", get(KEYS, index$53), token$44, "PX", lives$59);
}
if (isTrue(isShort$57)) {
left$55 = least$47;
}
if (((left$55 !== (-1)) && (!isTrue(shortest$52) || isLess(left$55, shortest$52)))) {
shortest$52 = left$55;
}
}
return (isTrue(shortest$52) ? shortest$52 : (-1));
}
function queueOf$60(key$61) {
let $62, $64;
let isTagged$63 = (isTrue($62 = one(string.find(key$61, "{", 1, true))) ? one(string.find(key$61, "^[^{]*{[^}]+}")) : $62);
return (isTrue($64 = (isTrue(isTagged$63) ? ("quorlock:queue:tagged:" + text(key$61)) : isTagged$63)) ? $64 : ("quorlock:queue:{" + (text(key$61) + "}")));
}
function lockOf$66(key$67) {
return key$67;
}
function leftOf$69(key$70) {
return call$1("PTTL", key$70);
}
function set$71(key$72, token$73, ms$74) {
call$1("SET", key$72, token$73, "PX", ms$74);
}
function finish$75(key$76) {
return call$1("DEL", key$76);
}
function exactly$84(number$85) {
return string.format("%.0f", number$85);
}
function counterOf$86(locks$87) {
let $89, $94;
let past$88 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$88)) {
past$88 = (isTrue($89 = call$1("GET", "quorlock:floor")) ? $89 : "0");
call$1("SET", "quorlock:floor:past", past$88, "PX", pastTtl$83);
}
let largest$90 = tonumber(past$88);
for (let _$91 = 1, table$93 = locks$87, lock$92; (lock$92 = get(table$93, _$91)) !== undefined; _$91 += 1) {
largest$90 = math.max(largest$90, tonumber((isTrue($94 = call$1("GET", ("quorlock:fence:" + text(lock$92)))) ? $94 : 0)));
}
return largest$90;
}
function raise$95(locks$96, counter$97) {
let $101;
for (let _$98 = 1, table$100 = locks$96, lock$99; (lock$99 = get(table$100, _$98)) !== undefined; _$98 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$99)), exactly$84(counter$97), "PX", counterTtl$82);
}
if (isAtLeast(counter$97, tonumber((isTrue($101 = call$1("GET", "quorlock:floor")) ? $101 : 0)))) {
call$1("SET", "quorlock:floor", exactly$84((number(counter$97) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$83)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$102(locks$103, granted$104, proposal$105, next$106) {
let counter$107 = counterOf$86(locks$103);
raise$95(locks$103, math.max(counter$107, tonumber(proposal$105)));
return new Table([(-1), granted$104, exactly$84(counter$107), next$106]);
}
function demand$108(key$109, commands$110) {
let $112;
let check$111 = redis.acl_check_cmd;
for (let [command$113] of matches((isTrue($112 = (isTrue(check$111) ? commands$110 : check$111)) ? $112 : ""), "%u+")) {
if (!isTrue(check$111(command$113, key$109))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$113)) + "' command"))));
}
}
}
function forget$114(queue$115, waiter$116) {
if ((call$1("ZREM", queue$115, waiter$116) === 1)) {
call$1("DEL", (text(queue$115) + (":" + text(string.sub(waiter$116, 1, 20)))));
}
}
function reserve$117(key$118, token$119, lives$120, ttl$121) {
set$71(key$118, token$119, math.max(1, math.min(lives$120, tonumber(ttl$121))));
}
function grant$122(key$123, queue$124, waiter$125, token$126, ttl$127, inbox$128, proposal$129) {
let $130, $132, $134;
let next$131 = (isTrue($130 = get(call$1("ZRANGE", queue$124, 1, 1, "WITHSCORES"), 2)) ? $130 : "-");
let counter$133 = (($132 = (proposal$129 !== "")) ? counterOf$86(new Table([lockOf$66(key$123)])) : $132);
set$71(key$123, token$126, ttl$127);
if (isTrue(counter$133)) {
raise$95(new Table([lockOf$66(key$123)]), math.max(counter$133, tonumber(proposal$129)));
}
let told$135 = redis.pcall("PUBLISH", inbox$128, (text(token$126) + (" " + (text((isTrue($134 = (isTrue(counter$133) ? exactly$84(counter$133) : counter$133)) ? $134 : "-")) + (" " + text(next$131))))));
if ((type(told$135) === "number")) {
forget$114(queue$124, waiter$125);
} else {
reserve$117(key$123, token$126, call$1("PTTL", (text(queue$124) + (":" + text(string.sub(waiter$125, 1, 20))))), ttl$127);
}
return told$135;
}
function sweep$141(queue$142, from$143, to$144, asking$145) {
let $146, $147, $163, $164;
let waiters$148 = (isTrue($147 = (($146 = isMore(unswept$139, 0)) ? call$1("ZRANGE", queue$142, from$143, to$144) : $146)) ? $147 : new Table([])), names$149 = new Table([]), dead$150 = new Table([]);
if ((length(waiters$148) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$139 = (number(unswept$139) - length(waiters$148));
for (let index$151 = 1, table$153 = waiters$148, waiter$152; (waiter$152 = get(table$153, index$151)) !== undefined; index$151 += 1) {
set(names$149, index$151, (text(queue$142) + (":" + text(string.sub(waiter$152, 1, 20)))));
}
let entries$154 = redis.pcall("MGET", ...all(unpack(names$149))), head$155 = undefined, entry$156 = undefined;
if (isTrue(get(entries$154, "err"))) {
for (let index$157 = 1, table$159 = names$149, name$158; (name$158 = get(table$159, index$157)) !== undefined; index$157 += 1) {
set(entries$154, index$157, call$1("GET", name$158));
}
}
for (let index$160 = 1, table$162 = waiters$148, waiter$161; (waiter$161 = get(table$162, index$160)) !== undefined; index$160 += 1) {
if ((!isTrue(get(entries$154, index$160)) && (waiter$161 !== asking$145))) {
set(dead$150, (length(dead$150) + 1), waiter$161);
} else if (!isTrue(head$155)) {
$163 = waiter$161; $164 = get(entries$154, index$160); head$155 = $163; entry$156 = $164;
}
}
if ((length(dead$150) > 0)) {
call$1("ZREM", queue$142, ...all(unpack(dead$150)));
}
return new Several([head$155, entry$156, length(waiters$148)]);
}
function headOf$165(queue$166, asking$167) {
let $172;
let first$168 = get(call$1("ZRANGE", queue$166, 0, 0), 1);
if ((!isTrue(first$168) || (first$168 === asking$167))) {
return first$168;
}
let entry$169 = call$1("GET", (text(queue$166) + (":" + text(string.sub(first$168, 1, 20)))));
if (isTrue(entry$169)) {
return new Several([first$168, entry$169]);
}
for (let _$170 = 1, last$171 = number(sweeps$137); _$170 <= last$171; _$170 += 1) {
let waiter$173 = ($172 = all(sweep$141(queue$166, 0, (number(swept$138) - 1), asking$167)))[0], found$174 = $172[1], count$175 = $172[2];
if ((isTrue(waiter$173) || isLess(count$175, swept$138))) {
return new Several([waiter$173, found$174]);
}
}
}
function give$176(key$177, ending$178) {
let $180, $183, $191;
if (isTrue(ending$178)) {
finish$75(key$177, ending$178);
}
let queue$179 = queueOf$60(key$177);
while (isMore(skips$140, 0)) {
let waiter$181 = ($180 = all(headOf$165(queue$179)))[0], entry$182 = $180[1];
if (!isTrue(waiter$181)) {
return ;
}
let round$184 = ($183 = all(string.match(entry$182, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$185 = $183[1], inbox$186 = $183[2], proposal$187 = $183[3], how$188 = $183[4];
let token$189 = (text(waiter$181) + ("." + text((isTrue(round$184) ? round$184 : "")))), isTold$190 = (isTrue(round$184) ? (inbox$186 !== "-") : round$184);
let counts$192 = (isTrue($191 = (isTrue(isTold$190) ? mayAsk$81 : isTold$190)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$186) : $191);
key$177 = one(keyFor$68(key$177, how$188));
if ((!isTrue(round$184) || ((isTrue(counts$192) && !isTrue(get(counts$192, "err"))) && (get(counts$192, 2) === 0)))) {
forget$114(queue$179, waiter$181);
} else if ((isTrue(mayShare$79) && isTrue(one(ownerFor$65(key$177, token$189))))) {
return ;
} else if (((isTrue(isTold$190) && ((how$188 === "g") || (how$188 === "r"))) && (isTrue(isSeeded$136) || (proposal$187 === "")))) {
let told$193 = grant$122(key$177, queue$179, waiter$181, token$189, ttl$185, inbox$186, proposal$187);
if (((told$193 !== 0) && (how$188 === "g"))) {
return ;
}
if ((told$193 === 0)) {
finish$75(key$177, token$189);
}
} else {
reserve$117(key$177, token$189, call$1("PTTL", (text(queue$179) + (":" + text(string.sub(waiter$181, 1, 20))))), ttl$185);
if ((isTrue(isTold$190) && (how$188 === "w"))) {
redis.pcall("PUBLISH", inbox$186, ("wake " + text(token$189)));
}
return ;
}
skips$140 = (number(skips$140) - 1);
}
}
function enqueue$194(first$195, last$196, token$197, ttl$198, ticket$199, entryTtl$200, proposal$201, inbox$202, alone$203) {
let $204, $220, $222, $234, $237, $238, $239, $240, $242, $243;
let waiter$205 = ($204 = all(string.match(token$197, "^(.+)%.(%d+)$")))[0], round$206 = $204[1];
let queues$207 = new Table([]), isTaken$208 = new Table([]), blocked$209 = undefined, isHeld$210 = false;
function claimOnly$211(create$212) {
let next$213 = undefined;
for (let index$214 = number(first$195), last$215 = number(last$196); index$214 <= last$215; index$214 += 1) {
forget$114(get(queues$207, index$214), waiter$205);
let ticket$216 = get(call$1("ZRANGE", get(queues$207, index$214), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$216) && (!isTrue(next$213) || isLess(tonumber(ticket$216), tonumber(next$213))))) {
next$213 = ticket$216;
}
}
return new Several([claim$41(first$195, last$196, token$197, ttl$198, create$212), next$213]);
}
for (let index$217 = number(first$195), last$218 = number(last$196); index$217 <= last$218; index$217 += 1) {
let owner$219 = one(ownerFor$65(get(KEYS, index$217), token$197));
isHeld$210 = (isTrue(isHeld$210) ? isHeld$210 : (owner$219 === token$197));
set(queues$207, index$217, queueOf$60(get(KEYS, index$217)));
set(isTaken$208, index$217, (isTrue($220 = (isTrue(owner$219) ? !isTrue(isMine$32(owner$219, token$197)) : owner$219)) ? owner$219 : $220));
if (isTrue(get(isTaken$208, index$217))) {
blocked$209 = (isTrue(blocked$209) ? blocked$209 : index$217);
}
}
if (isTrue(isHeld$210)) {
return claimOnly$211(false);
}
let waited$221 = 0;
for (let index$223 = number(first$195), last$224 = number((isTrue($222 = (isTrue(blocked$209) ? (number(first$195) - 1) : blocked$209)) ? $222 : last$196)); index$223 <= last$224; index$223 += 1) {
waited$221 = (number(waited$221) + number(call$1("EXISTS", get(queues$207, index$223))));
}
if ((!isTrue(blocked$209) && (waited$221 === 0))) {
return claim$41(first$195, last$196, token$197, ttl$198, true);
}
demand$108(get(KEYS, first$195), toEnter$77);
let place$225 = (":" + text(string.sub(waiter$205, 1, 20)));
let entry$226 = (text(round$206) + (" " + (text(ttl$198) + (" " + (text(inbox$202) + (" " + (text(proposal$201) + " ")))))));
let isFirst$227 = new Table([]), waitsFor$228 = undefined;
for (let index$229 = number(first$195), last$230 = number(last$196); index$229 <= last$230; index$229 += 1) {
let queue$231 = get(queues$207, index$229);
call$1("ZADD", queue$231, ticket$199, waiter$205);
if (isLess(call$1("PTTL", queue$231), tonumber(entryTtl$200))) {
call$1("PEXPIRE", queue$231, (2 * number(entryTtl$200)));
}
if (((round$206 === "1") && (string.sub(ticket$199, (-1)) === "0"))) {
sweep$141(queue$231, 1, 80, waiter$205);
}
set(isFirst$227, index$229, (!isTrue(get(isTaken$208, index$229)) && (one(headOf$165(queue$231, waiter$205)) === waiter$205)));
if ((!isTrue(get(isTaken$208, index$229)) && !isTrue(get(isFirst$227, index$229)))) {
waitsFor$228 = (isTrue(waitsFor$228) ? waitsFor$228 : index$229);
}
}
let inTheWay$232 = (isTrue(blocked$209) ? blocked$209 : waitsFor$228), refusal$233 = undefined;
for (let index$235 = number(first$195), last$236 = number((isTrue($234 = (isTrue(inTheWay$232) ? last$196 : inTheWay$232)) ? $234 : (number(first$195) - 1))); index$235 <= last$236; index$235 += 1) {
let how$241 = (isTrue($240 = (isTrue($239 = (($237 = (first$195 === last$196)) ? alone$203 : $237)) ? $239 : (($238 = (index$235 === inTheWay$232)) ? "w" : $238))) ? $240 : "s");
call$1("SET", (text(get(queues$207, index$235)) + text(place$225)), (text(entry$226) + text(how$241)), "PX", entryTtl$200);
if (isTrue(get(isFirst$227, index$235))) {
reserve$117(get(KEYS, index$235), token$197, tonumber(entryTtl$200), ttl$198);
} else {
if (!isTrue(get(isTaken$208, index$235))) {
give$176(get(KEYS, index$235), token$197);
}
let owner$244 = (($243 = !isTrue(refusal$233)) ? (isTrue($242 = get(isTaken$208, index$235)) ? $242 : one(ownerFor$65(get(KEYS, index$235), token$197))) : $243);
if ((!isTrue(refusal$233) && !isTrue(isMine$32(owner$244, token$197)))) {
let latest$245 = get(call$1("ZRANGE", get(queues$207, index$235), (-1), (-1), "WITHSCORES"), 2);
let inWay$246 = (isTrue(owner$244) ? owner$244 : one(ownerFor$65(lockOf$66(get(KEYS, index$235)), token$197)));
refusal$233 = new Table([((index$235 - number(first$195)) + 1), masked$10(inWay$246), leftOf$69(get(KEYS, index$235)), latest$245]);
}
}
}
if (isTrue(refusal$233)) {
return refusal$233;
}
return claimOnly$211(true);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $2, $16, $19, $21, $80, $247, $250, $251, $252;
call$1 = redis.call;
key$3 = get(KEYS, 1), token$4 = ($2 = all(unpack(ARGV)))[0], ttl$5 = $2[1], ticket$6 = $2[2], entryTtl$7 = $2[3], proposal$8 = $2[4], inbox$9 = $2[5];
if (((proposal$8 !== "") && isAtLeast(tonumber(proposal$8), (((2) ** 53) - ((2) ** 20))))) {
return redis.error_reply("ERR the fencing token is too large");
}

waiter$17 = ($16 = all(string.match(token$4, "^(.+)%.(%d+)$")))[0], round$18 = $16[1];
if ((isTrue(round$18) && !isTrue(get(KEYS, 2)))) {
isTagged$20 = (isTrue($19 = one(string.find(key$3, "{", 1, true))) ? one(string.find(key$3, "^[^{]*{[^}]+}")) : $19);
queue$22 = (isTrue($21 = (isTrue(isTagged$20) ? ("quorlock:queue:tagged:" + text(key$3)) : isTagged$20)) ? $21 : ("quorlock:queue:{" + (text(key$3) + "}")));
owner$23 = redis.pcall("GET", key$3), check$24 = redis.acl_check_cmd;
if (((!isTrue(owner$23) && (proposal$8 === "")) && (call$1("EXISTS", queue$22) === 0))) {
call$1("SET", key$3, token$4, "PX", ttl$5);
return tonumber(ttl$5);
}
if (((((type(owner$23) === "string") && (one(string.match(owner$23, "^(.+)%.%d+$")) !== waiter$17)) && !((round$18 === "1") && (string.sub(ticket$6, (-1)) === "0"))) && (!isTrue(check$24) || (((((isTrue(check$24("DEL", key$3)) && isTrue(check$24("PEXPIRE", key$3))) && isTrue(check$24("SET", key$3))) && isTrue(check$24("ZADD", key$3))) && isTrue(check$24("ZRANGE", key$3))) && isTrue(check$24("ZREM", key$3)))))) {
left$25 = call$1("PTTL", key$3);
call$1("ZADD", queue$22, ticket$6, waiter$17);
if (isLess(call$1("PTTL", queue$22), tonumber(entryTtl$7))) {
call$1("PEXPIRE", queue$22, (2 * number(entryTtl$7)));
}
place$26 = (text(queue$22) + (":" + text(string.sub(waiter$17, 1, 20))));
call$1("SET", place$26, (text(round$18) + (" " + (text(ttl$5) + (" " + (text(inbox$9) + (" " + (text(proposal$8) + " g"))))))), "PX", entryTtl$7);
return new Table([1, masked$10(owner$23), left$25, get(call$1("ZRANGE", queue$22, (-1), (-1), "WITHSCORES"), 2)]);
}
}




ownerFor$65 = ownerOf$27;

keyFor$68 = lockOf$66;



toEnter$77 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$78 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$79 = false;
mayAsk$81 = (isTrue($80 = redis.replicate_commands) ? $80 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$82 = 86400000, pastTtl$83 = 43200000;








isSeeded$136 = true;
sweeps$137 = 8, swept$138 = 128, unswept$139 = 4096;
skips$140 = 256;




granted$248 = ($247 = all(enqueue$194(1, length(KEYS), token$4, ttl$5, ticket$6, entryTtl$7, proposal$8, inbox$9, "g")))[0], next$249 = $247[1];
if ((type(granted$248) !== "number")) {
return granted$248;
}
return (isTrue($252 = (isTrue($251 = (($250 = (proposal$8 !== "")) ? fenced$102(KEYS, granted$248, proposal$8, next$249) : $250)) ? $251 : (isTrue(next$249) ? new Table([(-3), granted$248, next$249]) : next$249))) ? $252 : granted$248);
}};
})(),
  "e44e39411362c8378cbbc5718af0da0749311f0b": (() => {
let redis, KEYS, ARGV, call$1, time$22, now$23, joined$24, drop$113, claimExclusive$133, needed$149, toEnter$150, toGive$151, mayShare$152, mayAsk$154, counterTtl$155, pastTtl$156, isSeeded$209, sweeps$210, swept$211, unswept$212, skips$213, guarded$341, replies$419, key$420, arg$421, runAny$480, operation$488;
function ownerOf$2(key$3) {
let $5, $6;
let owner$4 = redis.pcall("GET", key$3);
if ((type(owner$4) !== "table")) {
return owner$4;
}
return (isTrue($6 = (isTrue($5 = one(string.find(get(owner$4, "err"), "^WRONGTYPE"))) ? "(no string)" : $5)) ? $6 : call$1("GET", key$3));
}
function isMine$7(owner$8, token$9) {
let $10, $13;
if ((owner$8 === token$9)) {
return true;
}
if (!isTrue(owner$8)) {
return false;
}
let waiter$11 = ($10 = all(string.match(token$9, "^(.+)%.(%d+)$")))[0], round$12 = $10[1];
let other$14 = ($13 = all(string.match(owner$8, "^(.+)%.(%d+)$")))[0], earlier$15 = $13[1];
return (((waiter$11 !== undefined) && (waiter$11 === other$14)) && isLess(tonumber(earlier$15), tonumber(round$12)));
}
function masked$16(owner$17) {
let $18;
if (!isTrue(owner$17)) {
return owner$17;
}
let round$19 = (isTrue($18 = one(string.match(owner$17, "%.%d+$"))) ? $18 : "");
let length$20 = (length(owner$17) - length(round$19));
let shown$21 = math.min(8, math.floor((number(length$20) / 2)));
return (text(string.sub(owner$17, 1, shown$21)) + (text(string.rep("*", (number(length$20) - number(shown$21)))) + text(round$19)));
}
function isShared$25(key$26) {
return (string.sub(key$26, (-8)) === ":readers");
}
function lockOf$27(key$28) {
return one(string.gsub(key$28, ":%a+$", ":write"));
}
function shared$29(key$30) {
return one(string.gsub(key$30, ":%a+$", ":readers"));
}
function keyFor$31(key$32, how$33) {
let $34, $35;
return (isTrue($35 = (($34 = (how$33 === "r")) ? shared$29(key$32) : $34)) ? $35 : lockOf$27(key$32));
}
function roundsOf$36(key$37) {
return one(string.gsub(key$37, ":%a+$", ":rounds"));
}
function marksOf$38(key$39) {
return one(string.gsub(key$39, ":%a+$", ":marks"));
}
function queueOf$40(key$41) {
return ("quorlock:queue:tagged:" + text(lockOf$27(key$41)));
}
function nameIn$42(token$43) {
let $44;
let waiter$45 = ($44 = all(string.match(token$43, "^(.+)%.(%d+)$")))[0], round$46 = $44[1];
return new Several([(isTrue(waiter$45) ? waiter$45 : token$43), round$46]);
}
function readerOf$47(key$48, token$49) {
let $50, $53, $55, $56;
let name$51 = ($50 = all(nameIn$42(token$49)))[0], round$52 = $50[1];
let expiry$54 = tonumber((isTrue($53 = call$1("ZSCORE", key$48, name$51)) ? $53 : (-1)));
if (isLess(expiry$54, now$23)) {
return false;
}
return new Several([(isTrue($56 = (isTrue(round$52) ? (text(name$51) + ("." + text((isTrue($55 = call$1("ZSCORE", roundsOf$36(key$48), name$51)) ? $55 : "0")))) : round$52)) ? $56 : name$51), expiry$54]);
}
function lastReader$57(key$58) {
let $60;
let last$59 = call$1("ZRANGE", shared$29(key$58), (-1), (-1), "WITHSCORES");
let expiry$61 = tonumber((isTrue($60 = get(last$59, 2)) ? $60 : (-1)));
if (isAtLeast(expiry$61, now$23)) {
return new Several([get(last$59, 1), expiry$61]);
}
}
function ownerFor$62(key$63, token$64) {
let $67, $68, $69;
let writer$65 = ownerOf$2(lockOf$27(key$63));
if (isTrue(writer$65)) {
return writer$65;
}
if (isTrue(isShared$25(key$63))) {
return one(readerOf$47(key$63, token$64));
}
let last$66 = one(lastReader$57(key$63));
return (isTrue($69 = (isTrue(last$66) ? (isTrue($68 = (isTrue($67 = call$1("ZSCORE", roundsOf$36(key$63), last$66)) ? "readers.0" : $67)) ? $68 : "readers") : last$66)) ? $69 : false);
}
function leftOf$70(key$71) {
let $73, $76;
let left$72 = call$1("PTTL", lockOf$27(key$71));
if ((left$72 !== (-2))) {
return left$72;
}
let _$74 = ($73 = all(lastReader$57(key$71)))[0], expiry$75 = $73[1];
return (isTrue($76 = (isTrue(expiry$75) ? (number(expiry$75) - number(now$23)) : expiry$75)) ? $76 : (-2));
}
function admit$77(key$78, token$79, ms$80) {
let $81, $84;
let name$82 = ($81 = all(nameIn$42(token$79)))[0], round$83 = $81[1];
let _$85 = ($84 = all(readerOf$47(key$78, token$79)))[0], own$86 = $84[1];
let expiry$87 = math.max((number(now$23) + number(ms$80)), (isTrue(own$86) ? own$86 : 0));
if (isTrue(own$86)) {
call$1("PEXPIRE", key$78, math.max(call$1("PTTL", key$78), (number(expiry$87) - number(now$23))));
}
call$1("ZADD", key$78, expiry$87, name$82);
if (isTrue(round$83)) {
call$1("ZADD", roundsOf$36(key$78), round$83, name$82);
}
for (let _$88 = 1, table$90 = new Table([key$78, roundsOf$36(key$78)]), set$89; (set$89 = get(table$90, _$88)) !== undefined; _$88 += 1) {
if (isLess(call$1("PTTL", set$89), (number(expiry$87) - number(now$23)))) {
call$1("PEXPIRE", set$89, (number(expiry$87) - number(now$23)));
}
}
let oldest$91 = call$1("ZRANGE", key$78, 0, 3, "WITHSCORES");
for (let place$92 = 1, last$93 = length(oldest$91); place$92 <= last$93; place$92 += 2) {
if (isLess(tonumber(get(oldest$91, (place$92 + 1))), now$23)) {
call$1("ZREM", key$78, get(oldest$91, place$92));
call$1("ZREM", roundsOf$36(key$78), get(oldest$91, place$92));
}
}
return (number(expiry$87) - number(now$23));
}
function set$94(key$95, token$96, ms$97) {
if (isTrue(isShared$25(key$95))) {
admit$77(key$95, token$96, tonumber(ms$97));
} else {
call$1("SET", key$95, token$96, "PX", ms$97);
}
}
function join$98(key$99, token$100, ms$101) {
let writer$102 = lockOf$27(key$99);
let isWriter$103 = (call$1("EXISTS", writer$102) === 1);
if (isTrue(isWriter$103)) {
ms$101 = math.max(ms$101, call$1("PTTL", writer$102));
call$1("PEXPIRE", writer$102, ms$101);
}
let left$104 = admit$77(key$99, token$100, ms$101);
if (isTrue(isWriter$103)) {
call$1("DEL", writer$102);
joined$24 = key$99;
}
return left$104;
}
function finish$105(key$106, token$107) {
let $111, $112;
let writer$108 = lockOf$27(key$106), isDropped$109 = false;
if ((isTrue(isShared$25(key$106)) && isTrue(isMine$7(one(readerOf$47(key$106, token$107)), token$107)))) {
let name$110 = one(nameIn$42(token$107));
isDropped$109 = (call$1("ZREM", key$106, name$110) === 1);
call$1("ZREM", roundsOf$36(key$106), name$110);
}
if (isTrue(isMine$7(ownerOf$2(writer$108), token$107))) {
isDropped$109 = (($111 = (call$1("DEL", writer$108) === 1)) ? $111 : isDropped$109);
}
return (isTrue($112 = (isTrue(isDropped$109) ? 1 : isDropped$109)) ? $112 : 0);
}
function claim$114(first$115, last$116, token$117, ttl$118, create$119) {
let $131;
let least$120 = tonumber(ttl$118);
let owners$121 = new Table([]);
for (let index$122 = number(first$115), last$123 = number(last$116); index$122 <= last$123; index$122 += 1) {
let owner$124 = ownerOf$2(get(KEYS, index$122));
set(owners$121, index$122, owner$124);
if ((!isTrue(isMine$7(owner$124, token$117)) && (isTrue(owner$124) || !isTrue(create$119)))) {
return new Table([((index$122 - number(first$115)) + 1), masked$16(owner$124), call$1("PTTL", get(KEYS, index$122))]);
}
}
let shortest$125 = undefined;
for (let index$126 = number(first$115), last$127 = number(last$116); index$126 <= last$127; index$126 += 1) {
let left$128 = call$1("PTTL", get(KEYS, index$126));
let isOther$129 = ((get(owners$121, index$126) !== token$117) || (left$128 === (-2)));
let isShort$130 = ((left$128 !== (-1)) && isLess(left$128, least$120));
let lives$132 = (isTrue($131 = (isTrue(isShort$130) ? ttl$118 : isShort$130)) ? $131 : left$128);
if (((isTrue(isShort$130) && (left$128 !== (-2))) || (isTrue(isOther$129) && isAtLeast(left$128, 0)))) {
call$1("PEXPIRE", get(KEYS, index$126), lives$132);
}
if ((isTrue(isOther$129) && (left$128 === (-1)))) {
call$1("SET", get(KEYS, index$126), token$117);
} else if (isTrue(isOther$129)) {
call$1("SET", get(KEYS, index$126), token$117, "PX", lives$132);
}
if (isTrue(isShort$130)) {
left$128 = least$120;
}
if (((left$128 !== (-1)) && (!isTrue(shortest$125) || isLess(left$128, shortest$125)))) {
shortest$125 = left$128;
}
}
return (isTrue(shortest$125) ? shortest$125 : (-1));
}
function claim$134(first$135, last$136, token$137, ttl$138, create$139) {
let key$140 = get(KEYS, first$135);
let owner$141 = ownerFor$62(key$140, token$137);
if ((!isTrue(isMine$7(owner$141, token$137)) && (isTrue(owner$141) || !isTrue(create$139)))) {
return new Table([1, masked$16(owner$141), leftOf$70(key$140)]);
}
if (isTrue(isShared$25(key$140))) {
return join$98(key$140, token$137, tonumber(ttl$138));
}
return claimExclusive$133(first$135, last$136, token$137, ttl$138, create$139);
}
function release$142(first$143, last$144, token$145) {
let released$146 = 0;
for (let index$147 = number(first$143), last$148 = number(last$144); index$147 <= last$148; index$147 += 1) {
released$146 = (number(released$146) + number(one(drop$113(get(KEYS, index$147), token$145))));
}
return released$146;
}
function exactly$157(number$158) {
return string.format("%.0f", number$158);
}
function counterOf$159(locks$160) {
let $162, $167;
let past$161 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$161)) {
past$161 = (isTrue($162 = call$1("GET", "quorlock:floor")) ? $162 : "0");
call$1("SET", "quorlock:floor:past", past$161, "PX", pastTtl$156);
}
let largest$163 = tonumber(past$161);
for (let _$164 = 1, table$166 = locks$160, lock$165; (lock$165 = get(table$166, _$164)) !== undefined; _$164 += 1) {
largest$163 = math.max(largest$163, tonumber((isTrue($167 = call$1("GET", ("quorlock:fence:" + text(lock$165)))) ? $167 : 0)));
}
return largest$163;
}
function raise$168(locks$169, counter$170) {
let $174;
for (let _$171 = 1, table$173 = locks$169, lock$172; (lock$172 = get(table$173, _$171)) !== undefined; _$171 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$172)), exactly$157(counter$170), "PX", counterTtl$155);
}
if (isAtLeast(counter$170, tonumber((isTrue($174 = call$1("GET", "quorlock:floor")) ? $174 : 0)))) {
call$1("SET", "quorlock:floor", exactly$157((number(counter$170) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$156)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$175(locks$176, granted$177, proposal$178, next$179) {
let counter$180 = counterOf$159(locks$176);
raise$168(locks$176, math.max(counter$180, tonumber(proposal$178)));
return new Table([(-1), granted$177, exactly$157(counter$180), next$179]);
}
function demand$181(key$182, commands$183) {
let $185;
let check$184 = redis.acl_check_cmd;
for (let [command$186] of matches((isTrue($185 = (isTrue(check$184) ? commands$183 : check$184)) ? $185 : ""), "%u+")) {
if (!isTrue(check$184(command$186, key$182))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$186)) + "' command"))));
}
}
}
function forget$187(queue$188, waiter$189) {
if ((call$1("ZREM", queue$188, waiter$189) === 1)) {
call$1("DEL", (text(queue$188) + (":" + text(string.sub(waiter$189, 1, 20)))));
}
}
function reserve$190(key$191, token$192, lives$193, ttl$194) {
set$94(key$191, token$192, math.max(1, math.min(lives$193, tonumber(ttl$194))));
}
function grant$195(key$196, queue$197, waiter$198, token$199, ttl$200, inbox$201, proposal$202) {
let $203, $205, $207;
let next$204 = (isTrue($203 = get(call$1("ZRANGE", queue$197, 1, 1, "WITHSCORES"), 2)) ? $203 : "-");
let counter$206 = (($205 = (proposal$202 !== "")) ? counterOf$159(new Table([lockOf$27(key$196)])) : $205);
set$94(key$196, token$199, ttl$200);
if (isTrue(counter$206)) {
raise$168(new Table([lockOf$27(key$196)]), math.max(counter$206, tonumber(proposal$202)));
}
let told$208 = redis.pcall("PUBLISH", inbox$201, (text(token$199) + (" " + (text((isTrue($207 = (isTrue(counter$206) ? exactly$157(counter$206) : counter$206)) ? $207 : "-")) + (" " + text(next$204))))));
if ((type(told$208) === "number")) {
forget$187(queue$197, waiter$198);
} else {
reserve$190(key$196, token$199, call$1("PTTL", (text(queue$197) + (":" + text(string.sub(waiter$198, 1, 20))))), ttl$200);
}
return told$208;
}
function sweep$214(queue$215, from$216, to$217, asking$218) {
let $219, $220, $236, $237;
let waiters$221 = (isTrue($220 = (($219 = isMore(unswept$212, 0)) ? call$1("ZRANGE", queue$215, from$216, to$217) : $219)) ? $220 : new Table([])), names$222 = new Table([]), dead$223 = new Table([]);
if ((length(waiters$221) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$212 = (number(unswept$212) - length(waiters$221));
for (let index$224 = 1, table$226 = waiters$221, waiter$225; (waiter$225 = get(table$226, index$224)) !== undefined; index$224 += 1) {
set(names$222, index$224, (text(queue$215) + (":" + text(string.sub(waiter$225, 1, 20)))));
}
let entries$227 = redis.pcall("MGET", ...all(unpack(names$222))), head$228 = undefined, entry$229 = undefined;
if (isTrue(get(entries$227, "err"))) {
for (let index$230 = 1, table$232 = names$222, name$231; (name$231 = get(table$232, index$230)) !== undefined; index$230 += 1) {
set(entries$227, index$230, call$1("GET", name$231));
}
}
for (let index$233 = 1, table$235 = waiters$221, waiter$234; (waiter$234 = get(table$235, index$233)) !== undefined; index$233 += 1) {
if ((!isTrue(get(entries$227, index$233)) && (waiter$234 !== asking$218))) {
set(dead$223, (length(dead$223) + 1), waiter$234);
} else if (!isTrue(head$228)) {
$236 = waiter$234; $237 = get(entries$227, index$233); head$228 = $236; entry$229 = $237;
}
}
if ((length(dead$223) > 0)) {
call$1("ZREM", queue$215, ...all(unpack(dead$223)));
}
return new Several([head$228, entry$229, length(waiters$221)]);
}
function headOf$238(queue$239, asking$240) {
let $245;
let first$241 = get(call$1("ZRANGE", queue$239, 0, 0), 1);
if ((!isTrue(first$241) || (first$241 === asking$240))) {
return first$241;
}
let entry$242 = call$1("GET", (text(queue$239) + (":" + text(string.sub(first$241, 1, 20)))));
if (isTrue(entry$242)) {
return new Several([first$241, entry$242]);
}
for (let _$243 = 1, last$244 = number(sweeps$210); _$243 <= last$244; _$243 += 1) {
let waiter$246 = ($245 = all(sweep$214(queue$239, 0, (number(swept$211) - 1), asking$240)))[0], found$247 = $245[1], count$248 = $245[2];
if ((isTrue(waiter$246) || isLess(count$248, swept$211))) {
return new Several([waiter$246, found$247]);
}
}
}
function give$249(key$250, ending$251) {
let $253, $256, $264;
if (isTrue(ending$251)) {
finish$105(key$250, ending$251);
}
let queue$252 = queueOf$40(key$250);
while (isMore(skips$213, 0)) {
let waiter$254 = ($253 = all(headOf$238(queue$252)))[0], entry$255 = $253[1];
if (!isTrue(waiter$254)) {
return ;
}
let round$257 = ($256 = all(string.match(entry$255, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$258 = $256[1], inbox$259 = $256[2], proposal$260 = $256[3], how$261 = $256[4];
let token$262 = (text(waiter$254) + ("." + text((isTrue(round$257) ? round$257 : "")))), isTold$263 = (isTrue(round$257) ? (inbox$259 !== "-") : round$257);
let counts$265 = (isTrue($264 = (isTrue(isTold$263) ? mayAsk$154 : isTold$263)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$259) : $264);
key$250 = keyFor$31(key$250, how$261);
if ((!isTrue(round$257) || ((isTrue(counts$265) && !isTrue(get(counts$265, "err"))) && (get(counts$265, 2) === 0)))) {
forget$187(queue$252, waiter$254);
} else if ((isTrue(mayShare$152) && isTrue(ownerFor$62(key$250, token$262)))) {
return ;
} else if (((isTrue(isTold$263) && ((how$261 === "g") || (how$261 === "r"))) && (isTrue(isSeeded$209) || (proposal$260 === "")))) {
let told$266 = grant$195(key$250, queue$252, waiter$254, token$262, ttl$258, inbox$259, proposal$260);
if (((told$266 !== 0) && (how$261 === "g"))) {
return ;
}
if ((told$266 === 0)) {
finish$105(key$250, token$262);
}
} else {
reserve$190(key$250, token$262, call$1("PTTL", (text(queue$252) + (":" + text(string.sub(waiter$254, 1, 20))))), ttl$258);
if ((isTrue(isTold$263) && (how$261 === "w"))) {
redis.pcall("PUBLISH", inbox$259, ("wake " + text(token$262)));
}
return ;
}
skips$213 = (number(skips$213) - 1);
}
}
function failure$267(reason$268) {
let $269, $270;
return new Table([0, (isTrue($270 = (($269 = (type(reason$268) === "table")) ? get(reason$268, "err") : $269)) ? $270 : tostring(reason$268))]);
}
function enqueue$271(first$272, last$273, token$274, ttl$275, ticket$276, entryTtl$277, proposal$278, inbox$279, alone$280) {
let $281, $297, $299, $311, $314, $315, $316, $317, $319, $320;
let waiter$282 = ($281 = all(string.match(token$274, "^(.+)%.(%d+)$")))[0], round$283 = $281[1];
let queues$284 = new Table([]), isTaken$285 = new Table([]), blocked$286 = undefined, isHeld$287 = false;
function claimOnly$288(create$289) {
let next$290 = undefined;
for (let index$291 = number(first$272), last$292 = number(last$273); index$291 <= last$292; index$291 += 1) {
forget$187(get(queues$284, index$291), waiter$282);
let ticket$293 = get(call$1("ZRANGE", get(queues$284, index$291), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$293) && (!isTrue(next$290) || isLess(tonumber(ticket$293), tonumber(next$290))))) {
next$290 = ticket$293;
}
}
return new Several([one(claim$134(first$272, last$273, token$274, ttl$275, create$289)), next$290]);
}
for (let index$294 = number(first$272), last$295 = number(last$273); index$294 <= last$295; index$294 += 1) {
let owner$296 = ownerFor$62(get(KEYS, index$294), token$274);
isHeld$287 = (isTrue(isHeld$287) ? isHeld$287 : (owner$296 === token$274));
set(queues$284, index$294, queueOf$40(get(KEYS, index$294)));
set(isTaken$285, index$294, (isTrue($297 = (isTrue(owner$296) ? !isTrue(isMine$7(owner$296, token$274)) : owner$296)) ? owner$296 : $297));
if (isTrue(get(isTaken$285, index$294))) {
blocked$286 = (isTrue(blocked$286) ? blocked$286 : index$294);
}
}
if (isTrue(isHeld$287)) {
return claimOnly$288(false);
}
let waited$298 = 0;
for (let index$300 = number(first$272), last$301 = number((isTrue($299 = (isTrue(blocked$286) ? (number(first$272) - 1) : blocked$286)) ? $299 : last$273)); index$300 <= last$301; index$300 += 1) {
waited$298 = (number(waited$298) + number(call$1("EXISTS", get(queues$284, index$300))));
}
if ((!isTrue(blocked$286) && (waited$298 === 0))) {
return claim$134(first$272, last$273, token$274, ttl$275, true);
}
demand$181(get(KEYS, first$272), toEnter$150);
let place$302 = (":" + text(string.sub(waiter$282, 1, 20)));
let entry$303 = (text(round$283) + (" " + (text(ttl$275) + (" " + (text(inbox$279) + (" " + (text(proposal$278) + " ")))))));
let isFirst$304 = new Table([]), waitsFor$305 = undefined;
for (let index$306 = number(first$272), last$307 = number(last$273); index$306 <= last$307; index$306 += 1) {
let queue$308 = get(queues$284, index$306);
call$1("ZADD", queue$308, ticket$276, waiter$282);
if (isLess(call$1("PTTL", queue$308), tonumber(entryTtl$277))) {
call$1("PEXPIRE", queue$308, (2 * number(entryTtl$277)));
}
if (((round$283 === "1") && (string.sub(ticket$276, (-1)) === "0"))) {
sweep$214(queue$308, 1, 80, waiter$282);
}
set(isFirst$304, index$306, (!isTrue(get(isTaken$285, index$306)) && (one(headOf$238(queue$308, waiter$282)) === waiter$282)));
if ((!isTrue(get(isTaken$285, index$306)) && !isTrue(get(isFirst$304, index$306)))) {
waitsFor$305 = (isTrue(waitsFor$305) ? waitsFor$305 : index$306);
}
}
let inTheWay$309 = (isTrue(blocked$286) ? blocked$286 : waitsFor$305), refusal$310 = undefined;
for (let index$312 = number(first$272), last$313 = number((isTrue($311 = (isTrue(inTheWay$309) ? last$273 : inTheWay$309)) ? $311 : (number(first$272) - 1))); index$312 <= last$313; index$312 += 1) {
let how$318 = (isTrue($317 = (isTrue($316 = (($314 = (first$272 === last$273)) ? alone$280 : $314)) ? $316 : (($315 = (index$312 === inTheWay$309)) ? "w" : $315))) ? $317 : "s");
call$1("SET", (text(get(queues$284, index$312)) + text(place$302)), (text(entry$303) + text(how$318)), "PX", entryTtl$277);
if (isTrue(get(isFirst$304, index$312))) {
reserve$190(get(KEYS, index$312), token$274, tonumber(entryTtl$277), ttl$275);
} else {
if (!isTrue(get(isTaken$285, index$312))) {
give$249(get(KEYS, index$312), token$274);
}
let owner$321 = (($320 = !isTrue(refusal$310)) ? (isTrue($319 = get(isTaken$285, index$312)) ? $319 : ownerFor$62(get(KEYS, index$312), token$274)) : $320);
if ((!isTrue(refusal$310) && !isTrue(isMine$7(owner$321, token$274)))) {
let latest$322 = get(call$1("ZRANGE", get(queues$284, index$312), (-1), (-1), "WITHSCORES"), 2);
let inWay$323 = (isTrue(owner$321) ? owner$321 : ownerFor$62(lockOf$27(get(KEYS, index$312)), token$274));
refusal$310 = new Table([((index$312 - number(first$272)) + 1), masked$16(inWay$323), leftOf$70(get(KEYS, index$312)), latest$322]);
}
}
}
if (isTrue(refusal$310)) {
return refusal$310;
}
return claimOnly$288(true);
}
function leave$324(first$325, last$326, token$327) {
let $328, $331;
demand$181(get(KEYS, first$325), toGive$151);
let waiter$329 = ($328 = all(string.match(token$327, "^(.+)%.(%d+)$")))[0], round$330 = $328[1];
for (let index$332 = number(first$325), last$333 = number((isTrue($331 = (isTrue(waiter$329) ? last$326 : waiter$329)) ? $331 : 0)); index$332 <= last$333; index$332 += 1) {
let queue$334 = queueOf$40(get(KEYS, index$332));
let entry$335 = call$1("GET", (text(queue$334) + (":" + text(string.sub(waiter$329, 1, 20)))));
let entered$336 = (isTrue(entry$335) ? tonumber(...all(string.match(entry$335, "^%d+"))) : entry$335);
if ((isTrue(entered$336) && isAtMost(entered$336, tonumber(round$330)))) {
forget$187(queue$334, waiter$329);
}
}
let released$337 = 0;
for (let index$338 = number(first$325), last$339 = number(last$326); index$338 <= last$339; index$338 += 1) {
let dropped$340 = one(drop$113(get(KEYS, index$338), token$327));
released$337 = (number(released$337) + number(dropped$340));
if (((dropped$340 === 1) || isTrue(mayShare$152))) {
give$249(get(KEYS, index$338));
}
}
return released$337;
}
function mark$342(state$343, ends$344, length$345) {
let $348, $351, $352;
if (isTrue(length$345)) {
call$1("SET", "quorlock:quarantine", exactly$157(length$345), "PX", exactly$157(length$345));
}
let words$346 = new Table([get(guarded$341, "replId"), get(guarded$341, "since"), exactly$157(ends$344), get(guarded$341, "longest"), get(guarded$341, "database"), state$343]);
call$1("SET", "quorlock:guard", table.concat(words$346, " "));
function keepInMemory$347() {
call$1("SET", "quorlock:guard:memory", get(guarded$341, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$341, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$349 = ($348 = all(pcall(keepInMemory$347)))[0], why$350 = $348[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$349)) {
error(why$350, 0);
}
$351 = state$343; $352 = ends$344; set(guarded$341, "state", $351); set(guarded$341, "ends", $352);
}
function watch$353(terms$354) {
let $361, $370, $371, $378, $379, $381, $382, $383, $384, $385, $386, $387, $391, $392, $394, $395, $396;
function isMemoryOf$355(was$356, since$357, durable$358, info$359) {
let isSame$360 = (was$356 === get(guarded$341, "replId"));
if ((!isTrue(isSame$360) && !isTrue(one(string.find(info$359, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$358 === "1") && !isTrue(isSame$360))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$357) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$341 = undefined;
let maxTtl$362 = ($361 = all(string.match(terms$354, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$363 = $361[1], durable$364 = $361[2], right$365 = $361[3], now$366 = $361[4], database$367 = $361[5], after$368 = $361[6];
if (!isTrue(maxTtl$362)) {
return ;
}
now$366 = tonumber(now$366);
guarded$341 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$362).set("now", now$366);
let info$369 = call$1("INFO", "replication");
set(guarded$341, "replId", one(string.match(info$369, "master_replid:(%S+)")));
if (!isTrue(get(guarded$341, "replId"))) {
set(guarded$341, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$369, "role:master", 1, true)))) {
set(guarded$341, "why", "READONLY it is a replica");
return ;
}
let was$372 = ($370 = all(string.match((isTrue($371 = call$1("GET", "quorlock:guard")) ? $371 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$373 = $370[1], ends$374 = $370[2], longest$375 = $370[3], place$376 = $370[4], state$377 = $370[5];
let isKnown$380 = (isTrue($379 = (isTrue($378 = (isTrue(was$372) ? (place$376 === database$367) : was$372)) ? isAtLeast(tonumber(since$373), tonumber(after$368)) : $378)) ? isMemoryOf$355(was$372, since$373, durable$364, info$369) : $379);
if (isTrue(isKnown$380)) {
$381 = since$373; $382 = longest$375; $383 = place$376; set(guarded$341, "since", $381); set(guarded$341, "longest", $382); set(guarded$341, "database", $383);
$384 = state$377; $385 = tonumber(ends$374); $386 = true; set(guarded$341, "state", $384); set(guarded$341, "ends", $385); set(guarded$341, "isKnown", $386);
if ((was$372 !== get(guarded$341, "replId"))) {
pcall(mark$342, state$377, get(guarded$341, "ends"));
}
} else if ((right$365 === "0")) {
return ;
} else if ((right$365 === "3")) {
if (!isTrue(was$372)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$363)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$380) && (right$365 !== "4"))) {
if ((state$377 === "2")) {
let left$388 = call$1("PTTL", "quorlock:quarantine"), length$389 = tonumber((isTrue($387 = call$1("GET", "quorlock:quarantine")) ? $387 : ""));
if ((isTrue(length$389) && isMore(left$388, length$389))) {
call$1("PEXPIRE", "quorlock:quarantine", length$389);
left$388 = length$389;
}
let isFar$390 = isMore(get(guarded$341, "ends"), (number(now$366) + number(math.max(tonumber(longest$375), left$388))));
if (isTrue(isFar$390)) {
pcall(mark$342, "2", (number(now$366) + number((isTrue($392 = (($391 = (left$388 === (-2))) ? tonumber(longest$375) : $391)) ? $392 : left$388))));
}
if (((left$388 === (-2)) && isAtMost(get(guarded$341, "ends"), now$366))) {
pcall(mark$342, "1", 0);
}
}
} else {
let length$393 = math.max(tonumber((isTrue(longest$375) ? longest$375 : 0)), tonumber(maxTtl$362));
set(guarded$341, "since", exactly$157(math.max((number(tonumber((isTrue(since$373) ? since$373 : 0))) + 1), tonumber(epoch$363))));
$395 = database$367; $396 = (isTrue($394 = (isTrue(isKnown$380) ? longest$375 : isKnown$380)) ? $394 : maxTtl$362); set(guarded$341, "database", $395); set(guarded$341, "longest", $396);
if (((right$365 !== "2") || isTrue(was$372))) {
mark$342("2", (number(now$366) + number(length$393)), length$393);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$363))))) {
mark$342("0", 0);
} else {
set(guarded$341, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$341, "isKnown", true);
}
set(guarded$341, "why", undefined);
}
function bar$397(kind$398, ttl$399, proposal$400) {
if (isTrue(get(guarded$341, "why"))) {
return get(guarded$341, "why");
}
if (((get(guarded$341, "longest") !== get(guarded$341, "wanted")) || isMore(tonumber(ttl$399), tonumber(get(guarded$341, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$341, "longest")) + " ms here"));
}
if (((proposal$400 === "") && ((kind$398 === "e") || (kind$398 === "p")))) {
return undefined;
}
if ((get(guarded$341, "state") === "2")) {
let left$401 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$341, "ends")) - number(get(guarded$341, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$157(left$401)) + " ms more"));
}
if (((proposal$400 !== "") && (get(guarded$341, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$341, "since")));
}
}
function inQuarantine$402() {
let $403;
return (isTrue(guarded$341) ? (isTrue($403 = get(guarded$341, "why")) ? $403 : (get(guarded$341, "state") === "2")) : guarded$341);
}
function guardState$404() {
let $405, $406, $413, $414;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$407 = ($405 = all(string.match((isTrue($406 = call$1("GET", "quorlock:guard")) ? $406 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$408 = $405[1], longest$409 = $405[2], state$410 = $405[3];
let left$411 = call$1("PTTL", "quorlock:quarantine"), floor$412 = call$1("GET", "quorlock:floor");
let isKnown$415 = (isTrue($414 = (isTrue($413 = (isTrue(guarded$341) ? get(guarded$341, "isKnown") : guarded$341)) ? 1 : $413)) ? $414 : 0);
return new Table([tonumber((isTrue(longest$409) ? longest$409 : 0)), left$411, (isTrue(since$407) ? since$407 : "0"), tonumber((isTrue(state$410) ? state$410 : 2)), (isTrue(floor$412) ? floor$412 : "0"), isKnown$415]);
}
function restoreCounters$416(epoch$417, floor$418) {
if ((((!isTrue(guarded$341) || isTrue(get(guarded$341, "why"))) || (get(guarded$341, "state") !== "1")) || (get(guarded$341, "since") !== epoch$417))) {
return 0;
}
raise$168(new Table([]), math.max(counterOf$159(new Table([])), tonumber(floor$418)));
call$1("SET", "quorlock:floor:past", floor$418, "PX", pastTtl$156);
mark$342("0", 0);
return 1;
}
function retry$422(key$423, name$424, ms$425) {
let $427;
let marks$426 = marksOf$38(key$423);
if ((ms$425 === 0)) {
return call$1("ZREM", marks$426, name$424);
}
let isNew$428 = isLess(tonumber((isTrue($427 = call$1("ZSCORE", marks$426, name$424)) ? $427 : (-1))), now$23);
if ((isTrue(isNew$428) && (isTrue(ownerOf$2(lockOf$27(key$423))) || !isTrue(one(lastReader$57(key$423)))))) {
return 0;
}
call$1("ZADD", marks$426, (number(now$23) + number(ms$425)), name$424);
if (isLess(call$1("PTTL", marks$426), ms$425)) {
call$1("PEXPIRE", marks$426, ms$425);
}
let oldest$429 = call$1("ZRANGE", marks$426, 0, 0, "WITHSCORES");
if (isLess(tonumber(get(oldest$429, 2)), now$23)) {
call$1("ZREM", marks$426, get(oldest$429, 1));
}
return 1;
}
function refusalByWaiters$430(key$431, token$432) {
let $435, $439;
if ((!isTrue(isShared$25(key$431)) || isTrue(ownerFor$62(key$431, token$432)))) {
return undefined;
}
let mark$433 = call$1("ZRANGE", marksOf$38(key$431), (-1), (-1), "WITHSCORES");
if ((isTrue(get(mark$433, 1)) && isAtLeast(tonumber(get(mark$433, 2)), now$23))) {
return new Table([1, "writers", (number(get(mark$433, 2)) - number(now$23))]);
}
let queue$434 = queueOf$40(key$431);
let waiter$436 = ($435 = all(headOf$238(queue$434)))[0], entry$437 = $435[1];
if (!isTrue(waiter$436)) {
return undefined;
}
let left$438 = call$1("PTTL", (text(queue$434) + (":" + text(string.sub(waiter$436, 1, 20)))));
return new Table([1, masked$16((text(waiter$436) + ("." + text((isTrue($439 = one(string.match(entry$437, "^%d+"))) ? $439 : ""))))), left$438]);
}
function claimed$440(kind$441, last$442, number$443, ticket$444, entryTtl$445, proposal$446) {
let $450, $451, $453, $454, $455, $456, $457;
let token$447 = get(ARGV, arg$421), reply$448 = undefined, next$449 = undefined;
joined$24 = undefined;
if ((kind$441 === "q")) {
let alone$452 = (isTrue($451 = (isTrue($450 = isShared$25(get(KEYS, key$420))) ? "r" : $450)) ? $451 : "g");
$454 = ($453 = all(enqueue$271(key$420, last$442, token$447, number$443, ticket$444, entryTtl$445, proposal$446, get(ARGV, (number(arg$421) + 1)), alone$452)))[0]; $455 = $453[1]; reply$448 = $454; next$449 = $455;
if (((alone$452 === "r") && (type(reply$448) === "number"))) {
joined$24 = get(KEYS, key$420);
}
} else {
reply$448 = (isTrue($457 = (($456 = (kind$441 === "v")) ? refusalByWaiters$430(get(KEYS, key$420), token$447) : $456)) ? $457 : one(claim$134(key$420, last$442, token$447, number$443, (kind$441 !== "e"))));
}
if ((isTrue(joined$24) && !isTrue(inQuarantine$402()))) {
give$249(joined$24);
}
return new Several([reply$448, next$449]);
}
function releaseUnwaited$458() {

}
function inBulk$459() {
return 0;
}
function run$460(kind$461, last$462, number$463, ticket$464, entryTtl$465, proposal$466) {
let $468, $471, $472, $473, $479;
if ((kind$461 === "g")) {
watch$353(get(ARGV, arg$421));
isSeeded$209 = (!isTrue(guarded$341) || (get(guarded$341, "state") !== "1"));
return ;
}
if ((kind$461 === "h")) {
return guardState$404();
}
if ((kind$461 === "f")) {
let seeded$467 = restoreCounters$416(number$463, ticket$464);
isSeeded$209 = (isTrue(isSeeded$209) ? isSeeded$209 : (seeded$467 === 1));
return seeded$467;
}
if ((kind$461 === "c")) {
return call$1("TIME");
}
if (((kind$461 === "r") || ((kind$461 === "l") && isTrue(inQuarantine$402())))) {
return release$142(key$420, last$462, get(ARGV, arg$421));
}
if ((kind$461 === "l")) {
return (isTrue($468 = releaseUnwaited$458(key$420, last$462, get(ARGV, arg$421))) ? $468 : leave$324(key$420, last$462, get(ARGV, arg$421)));
}
if ((kind$461 === "i")) {
return new Table([masked$16(call$1("GET", get(KEYS, key$420))), call$1("PTTL", get(KEYS, key$420)), call$1("ZCARD", queueOf$40(get(KEYS, key$420)))]);
}
if (((proposal$466 !== "") && isAtLeast(tonumber(proposal$466), (((2) ** 53) - ((2) ** 20))))) {
error("ERR the fencing token is too large", 0);
}
let why$469 = (isTrue(guarded$341) ? bar$397(kind$461, number$463, proposal$466) : guarded$341);
if (isTrue(why$469)) {
error(why$469, 0);
}
if ((kind$461 === "u")) {
let owner$470 = ownerOf$2(get(KEYS, last$462));
if (isTrue(owner$470)) {
return new Table([((number(last$462) - number(key$420)) + 1), masked$16(owner$470), call$1("PTTL", get(KEYS, last$462))]);
}
$471 = "v"; $472 = (number(last$462) - 1); kind$461 = $471; last$462 = $472;
}
let reply$474 = ($473 = all(claimed$440(kind$461, last$462, number$463, ticket$464, entryTtl$465, proposal$466)))[0], next$475 = $473[1];
if ((type(reply$474) !== "number")) {
return reply$474;
}
if ((isTrue(guarded$341) && isTrue(inQuarantine$402()))) {
return new Table([(-2), reply$474]);
}
if ((proposal$466 !== "")) {
let locks$476 = new Table([]);
for (let index$477 = number(key$420), last$478 = number(last$462); index$477 <= last$478; index$477 += 1) {
set(locks$476, ((index$477 - number(key$420)) + 1), lockOf$27(get(KEYS, index$477)));
}
return fenced$175(locks$476, reply$474, proposal$466, next$475);
}
return (isTrue($479 = (isTrue(next$475) ? new Table([(-3), reply$474, next$475]) : next$475)) ? $479 : reply$474);
}
function run$481(kind$482, last$483, number$484, ticket$485, entryTtl$486, proposal$487) {
if ((kind$482 === "i")) {
return new Table([masked$16(ownerFor$62(lockOf$27(get(KEYS, key$420)), "")), leftOf$70(get(KEYS, key$420)), call$1("ZCARD", queueOf$40(get(KEYS, key$420)))]);
}
if (isAtLeast(last$483, key$420)) {
demand$181(get(KEYS, key$420), needed$149);
}
if ((kind$482 === "m")) {
return retry$422(get(KEYS, key$420), get(ARGV, arg$421), tonumber(number$484));
}
return runAny$480(kind$482, last$483, number$484, ticket$485, entryTtl$486, proposal$487);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $153, $498, $503, $506, $507;
call$1 = redis.call;



if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
time$22 = call$1("TIME");
now$23 = ((number(get(time$22, 1)) * 1000) + number(math.floor((number(get(time$22, 2)) / 1000))));
joined$24 = undefined;
















drop$113 = finish$105;

claimExclusive$133 = claim$114;


needed$149 = "DEL EXISTS GET PEXPIRE PTTL SET ZADD ZRANGE ZREM ZSCORE", toEnter$150 = undefined, toGive$151 = undefined;
mayShare$152 = true;
mayAsk$154 = (isTrue($153 = redis.replicate_commands) ? $153 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$155 = 86400000, pastTtl$156 = 43200000;








isSeeded$209 = true;
sweeps$210 = 8, swept$211 = 128, unswept$212 = 4096;
skips$213 = 256;






guarded$341 = undefined;






replies$419 = new Table([]), key$420 = 1, arg$421 = 2;






runAny$480 = run$460;

operation$488 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$489, kind$490, keys$491, number$492, ticket$493, entryTtl$494, proposal$495] of matches(get(ARGV, 1), operation$488)) {
let keyCount$496 = tonumber(keys$491), argCount$497 = 0;
if ((kind$490 === "q")) {
argCount$497 = 2;
} else if (((((kind$490 !== "i") && (kind$490 !== "c")) && (kind$490 !== "h")) && (kind$490 !== "f"))) {
argCount$497 = 1;
}
let count$499 = (isTrue($498 = tonumber(times$489)) ? $498 : 1);
if ((isMore(count$499, 1) && (keys$491 === "1"))) {
count$499 = (number(count$499) - number(inBulk$459(kind$490, count$499, number$492, proposal$495)));
}
for (let _$500 = 1, last$501 = number(count$499); _$500 <= last$501; _$500 += 1) {
let last$502 = ((number(key$420) + number(keyCount$496)) - 1);
let done$504 = ($503 = all(pcall(run$481, kind$490, last$502, number$492, ticket$493, entryTtl$494, proposal$495)))[0], reply$505 = $503[1];
if (!isTrue(done$504)) {
reply$505 = failure$267(reply$505);
}
if ((kind$490 !== "g")) {
set(replies$419, (length(replies$419) + 1), reply$505);
} else if (!isTrue(done$504)) {
guarded$341 = new Table([]).set("why", get(reply$505, 2));
}
$506 = (number(last$502) + 1); $507 = (number(arg$421) + number(argCount$497)); key$420 = $506; arg$421 = $507;
}
}
return replies$419;
}};
})(),
  "ebf1996487ec20fb055f0c1e227e4e106e374626": (() => {
let redis, KEYS, ARGV, call$1, token$3, ttl$4, create$5, proposal$6, left$7, counterTtl$47, pastTtl$48, isSet$74, granted$76;
function ownerOf$8(key$9) {
let $11, $12;
let owner$10 = redis.pcall("GET", key$9);
if ((type(owner$10) !== "table")) {
return owner$10;
}
return (isTrue($12 = (isTrue($11 = one(string.find(get(owner$10, "err"), "^WRONGTYPE"))) ? "(no string)" : $11)) ? $12 : call$1("GET", key$9));
}
function isMine$13(owner$14, token$15) {
let $16, $19;
if ((owner$14 === token$15)) {
return true;
}
if (!isTrue(owner$14)) {
return false;
}
let waiter$17 = ($16 = all(string.match(token$15, "^(.+)%.(%d+)$")))[0], round$18 = $16[1];
let other$20 = ($19 = all(string.match(owner$14, "^(.+)%.(%d+)$")))[0], earlier$21 = $19[1];
return (((waiter$17 !== undefined) && (waiter$17 === other$20)) && isLess(tonumber(earlier$21), tonumber(round$18)));
}
function masked$22(owner$23) {
let $24;
if (!isTrue(owner$23)) {
return owner$23;
}
let round$25 = (isTrue($24 = one(string.match(owner$23, "%.%d+$"))) ? $24 : "");
let length$26 = (length(owner$23) - length(round$25));
let shown$27 = math.min(8, math.floor((number(length$26) / 2)));
return (text(string.sub(owner$23, 1, shown$27)) + (text(string.rep("*", (number(length$26) - number(shown$27)))) + text(round$25)));
}
function claim$28(first$29, last$30, token$31, ttl$32, create$33) {
let $45;
let least$34 = tonumber(ttl$32);
let owners$35 = new Table([]);
for (let index$36 = number(first$29), last$37 = number(last$30); index$36 <= last$37; index$36 += 1) {
let owner$38 = ownerOf$8(get(KEYS, index$36));
set(owners$35, index$36, owner$38);
if ((!isTrue(isMine$13(owner$38, token$31)) && (isTrue(owner$38) || !isTrue(create$33)))) {
return new Table([((index$36 - number(first$29)) + 1), masked$22(owner$38), call$1("PTTL", get(KEYS, index$36))]);
}
}
let shortest$39 = undefined;
for (let index$40 = number(first$29), last$41 = number(last$30); index$40 <= last$41; index$40 += 1) {
let left$42 = call$1("PTTL", get(KEYS, index$40));
let isOther$43 = ((get(owners$35, index$40) !== token$31) || (left$42 === (-2)));
let isShort$44 = ((left$42 !== (-1)) && isLess(left$42, least$34));
let lives$46 = (isTrue($45 = (isTrue(isShort$44) ? ttl$32 : isShort$44)) ? $45 : left$42);
if (((isTrue(isShort$44) && (left$42 !== (-2))) || (isTrue(isOther$43) && isAtLeast(left$42, 0)))) {
call$1("PEXPIRE", get(KEYS, index$40), lives$46);
}
if ((isTrue(isOther$43) && (left$42 === (-1)))) {
call$1("SET", get(KEYS, index$40), token$31);
} else if (isTrue(isOther$43)) {
call$1("SET", get(KEYS, index$40), token$31, "PX", lives$46);
}
if (isTrue(isShort$44)) {
left$42 = least$34;
}
if (((left$42 !== (-1)) && (!isTrue(shortest$39) || isLess(left$42, shortest$39)))) {
shortest$39 = left$42;
}
}
return (isTrue(shortest$39) ? shortest$39 : (-1));
}
function exactly$49(number$50) {
return string.format("%.0f", number$50);
}
function counterOf$51(locks$52) {
let $54, $59;
let past$53 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$53)) {
past$53 = (isTrue($54 = call$1("GET", "quorlock:floor")) ? $54 : "0");
call$1("SET", "quorlock:floor:past", past$53, "PX", pastTtl$48);
}
let largest$55 = tonumber(past$53);
for (let _$56 = 1, table$58 = locks$52, lock$57; (lock$57 = get(table$58, _$56)) !== undefined; _$56 += 1) {
largest$55 = math.max(largest$55, tonumber((isTrue($59 = call$1("GET", ("quorlock:fence:" + text(lock$57)))) ? $59 : 0)));
}
return largest$55;
}
function raise$60(locks$61, counter$62) {
let $66;
for (let _$63 = 1, table$65 = locks$61, lock$64; (lock$64 = get(table$65, _$63)) !== undefined; _$63 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$64)), exactly$49(counter$62), "PX", counterTtl$47);
}
if (isAtLeast(counter$62, tonumber((isTrue($66 = call$1("GET", "quorlock:floor")) ? $66 : 0)))) {
call$1("SET", "quorlock:floor", exactly$49((number(counter$62) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$48)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$67(locks$68, granted$69, proposal$70, next$71) {
let counter$72 = counterOf$51(locks$68);
raise$60(locks$68, math.max(counter$72, tonumber(proposal$70)));
return new Table([(-1), granted$69, exactly$49(counter$72), next$71]);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $2, $73, $75, $77, $78;
call$1 = redis.call;
token$3 = get(ARGV, 1), ttl$4 = get(ARGV, 2), create$5 = (get(ARGV, 3) === "1"), proposal$6 = (isTrue($2 = get(ARGV, 4)) ? $2 : "");
if ((((proposal$6 === "") && (length(KEYS) === 1)) && (redis.pcall("GET", get(KEYS, 1)) === token$3))) {
left$7 = call$1("PTTL", get(KEYS, 1));
if (((left$7 !== (-1)) && isLess(left$7, tonumber(ttl$4)))) {
if ((call$1("PEXPIRE", get(KEYS, 1), ttl$4) === 0)) {
call$1("SET", get(KEYS, 1), token$3, "PX", ttl$4);
}
return tonumber(ttl$4);
}
}




if ((proposal$6 === "")) {
return claim$28(1, length(KEYS), token$3, ttl$4, create$5);
}
counterTtl$47 = 86400000, pastTtl$48 = 43200000;




if (((proposal$6 !== "") && isAtLeast(tonumber(proposal$6), (((2) ** 53) - ((2) ** 20))))) {
return redis.error_reply("ERR the fencing token is too large");
}
isSet$74 = (isTrue($73 = (isTrue(create$5) ? (length(KEYS) === 1) : create$5)) ? call$1("SET", get(KEYS, 1), token$3, "NX", "PX", ttl$4) : $73);
granted$76 = (isTrue($75 = (isTrue(isSet$74) ? tonumber(ttl$4) : isSet$74)) ? $75 : claim$28(1, length(KEYS), token$3, ttl$4, create$5));
return (isTrue($78 = (($77 = (type(granted$76) === "number")) ? fenced$67(KEYS, granted$76, proposal$6) : $77)) ? $78 : granted$76);
}};
})(),
  "efa81484c11a731eec79395351f5a835eeb4656d": (() => {
let redis, KEYS, ARGV, queue$12, waiters$13;
function masked$1(owner$2) {
let $3;
if (!isTrue(owner$2)) {
return owner$2;
}
let round$4 = (isTrue($3 = one(string.match(owner$2, "%.%d+$"))) ? $3 : "");
let length$5 = (length(owner$2) - length(round$4));
let shown$6 = math.min(8, math.floor((number(length$5) / 2)));
return (text(string.sub(owner$2, 1, shown$6)) + (text(string.rep("*", (number(length$5) - number(shown$6)))) + text(round$4)));
}
function queueOf$7(key$8) {
let $9, $11;
let isTagged$10 = (isTrue($9 = one(string.find(key$8, "{", 1, true))) ? one(string.find(key$8, "^[^{]*{[^}]+}")) : $9);
return (isTrue($11 = (isTrue(isTagged$10) ? ("quorlock:queue:tagged:" + text(key$8)) : isTagged$10)) ? $11 : ("quorlock:queue:{" + (text(key$8) + "}")));
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{


queue$12 = queueOf$7(get(KEYS, 1)), waiters$13 = new Table([]);
for (let _$14 = 1, table$16 = redis.call("ZRANGE", queue$12, 0, 49), waiter$15; (waiter$15 = get(table$16, _$14)) !== undefined; _$14 += 1) {
if ((redis.call("EXISTS", (text(queue$12) + (":" + text(string.sub(waiter$15, 1, 20))))) === 1)) {
set(waiters$13, (length(waiters$13) + 1), masked$1(waiter$15));
}
}
return waiters$13;
}};
})(),
  "f6afea07c6e9e08d52a6aa0479311bff48ee5923": (() => {
let redis, KEYS, ARGV, call$1, ownerFor$66, keyFor$69, toEnter$78, toGive$79, mayShare$80, mayAsk$82, counterTtl$83, pastTtl$84, isSeeded$137, sweeps$138, swept$139, unswept$140, skips$141, guarded$294, replies$372, key$373, arg$374, operation$421;
function ownerOf$2(key$3) {
let $5, $6;
let owner$4 = redis.pcall("GET", key$3);
if ((type(owner$4) !== "table")) {
return owner$4;
}
return (isTrue($6 = (isTrue($5 = one(string.find(get(owner$4, "err"), "^WRONGTYPE"))) ? "(no string)" : $5)) ? $6 : call$1("GET", key$3));
}
function isMine$7(owner$8, token$9) {
let $10, $13;
if ((owner$8 === token$9)) {
return true;
}
if (!isTrue(owner$8)) {
return false;
}
let waiter$11 = ($10 = all(string.match(token$9, "^(.+)%.(%d+)$")))[0], round$12 = $10[1];
let other$14 = ($13 = all(string.match(owner$8, "^(.+)%.(%d+)$")))[0], earlier$15 = $13[1];
return (((waiter$11 !== undefined) && (waiter$11 === other$14)) && isLess(tonumber(earlier$15), tonumber(round$12)));
}
function masked$16(owner$17) {
let $18;
if (!isTrue(owner$17)) {
return owner$17;
}
let round$19 = (isTrue($18 = one(string.match(owner$17, "%.%d+$"))) ? $18 : "");
let length$20 = (length(owner$17) - length(round$19));
let shown$21 = math.min(8, math.floor((number(length$20) / 2)));
return (text(string.sub(owner$17, 1, shown$21)) + (text(string.rep("*", (number(length$20) - number(shown$21)))) + text(round$19)));
}
function claim$22(first$23, last$24, token$25, ttl$26, create$27) {
let $39;
let least$28 = tonumber(ttl$26);
let owners$29 = new Table([]);
for (let index$30 = number(first$23), last$31 = number(last$24); index$30 <= last$31; index$30 += 1) {
let owner$32 = ownerOf$2(get(KEYS, index$30));
set(owners$29, index$30, owner$32);
if ((!isTrue(isMine$7(owner$32, token$25)) && (isTrue(owner$32) || !isTrue(create$27)))) {
return new Table([((index$30 - number(first$23)) + 1), masked$16(owner$32), call$1("PTTL", get(KEYS, index$30))]);
}
}
let shortest$33 = undefined;
for (let index$34 = number(first$23), last$35 = number(last$24); index$34 <= last$35; index$34 += 1) {
let left$36 = call$1("PTTL", get(KEYS, index$34));
let isOther$37 = ((get(owners$29, index$34) !== token$25) || (left$36 === (-2)));
let isShort$38 = ((left$36 !== (-1)) && isLess(left$36, least$28));
let lives$40 = (isTrue($39 = (isTrue(isShort$38) ? ttl$26 : isShort$38)) ? $39 : left$36);
if (((isTrue(isShort$38) && (left$36 !== (-2))) || (isTrue(isOther$37) && isAtLeast(left$36, 0)))) {
call$1("PEXPIRE", get(KEYS, index$34), lives$40);
}
if ((isTrue(isOther$37) && (left$36 === (-1)))) {
call$1("SET", get(KEYS, index$34), token$25);
} else if (isTrue(isOther$37)) {
call$1("SET", get(KEYS, index$34), token$25, "PX", lives$40);
}
if (isTrue(isShort$38)) {
left$36 = least$28;
}
if (((left$36 !== (-1)) && (!isTrue(shortest$33) || isLess(left$36, shortest$33)))) {
shortest$33 = left$36;
}
}
return (isTrue(shortest$33) ? shortest$33 : (-1));
}
function voteAll$41(key$42, arg$43, count$44, ttl$45) {
for (let place$46 = 0, last$47 = (number(count$44) - 1); place$46 <= last$47; place$46 += 1) {
let set$48 = redis.pcall("SET", get(KEYS, (number(key$42) + place$46)), get(ARGV, (number(arg$43) + place$46)), "NX", "PX", ttl$45);
if ((!isTrue(set$48) || isTrue(get(set$48, "err")))) {
return place$46;
}
}
return count$44;
}
function drop$49(key$50, token$51) {
let $52, $53;
return (isTrue($53 = (isTrue($52 = isMine$7(ownerOf$2(key$50), token$51)) ? call$1("DEL", key$50) : $52)) ? $53 : 0);
}
function release$54(first$55, last$56, token$57) {
let released$58 = 0;
for (let index$59 = number(first$55), last$60 = number(last$56); index$59 <= last$60; index$59 += 1) {
released$58 = (number(released$58) + number(drop$49(get(KEYS, index$59), token$57)));
}
return released$58;
}
function queueOf$61(key$62) {
let $63, $65;
let isTagged$64 = (isTrue($63 = one(string.find(key$62, "{", 1, true))) ? one(string.find(key$62, "^[^{]*{[^}]+}")) : $63);
return (isTrue($65 = (isTrue(isTagged$64) ? ("quorlock:queue:tagged:" + text(key$62)) : isTagged$64)) ? $65 : ("quorlock:queue:{" + (text(key$62) + "}")));
}
function lockOf$67(key$68) {
return key$68;
}
function leftOf$70(key$71) {
return call$1("PTTL", key$71);
}
function set$72(key$73, token$74, ms$75) {
call$1("SET", key$73, token$74, "PX", ms$75);
}
function finish$76(key$77) {
return call$1("DEL", key$77);
}
function exactly$85(number$86) {
return string.format("%.0f", number$86);
}
function counterOf$87(locks$88) {
let $90, $95;
let past$89 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$89)) {
past$89 = (isTrue($90 = call$1("GET", "quorlock:floor")) ? $90 : "0");
call$1("SET", "quorlock:floor:past", past$89, "PX", pastTtl$84);
}
let largest$91 = tonumber(past$89);
for (let _$92 = 1, table$94 = locks$88, lock$93; (lock$93 = get(table$94, _$92)) !== undefined; _$92 += 1) {
largest$91 = math.max(largest$91, tonumber((isTrue($95 = call$1("GET", ("quorlock:fence:" + text(lock$93)))) ? $95 : 0)));
}
return largest$91;
}
function raise$96(locks$97, counter$98) {
let $102;
for (let _$99 = 1, table$101 = locks$97, lock$100; (lock$100 = get(table$101, _$99)) !== undefined; _$99 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$100)), exactly$85(counter$98), "PX", counterTtl$83);
}
if (isAtLeast(counter$98, tonumber((isTrue($102 = call$1("GET", "quorlock:floor")) ? $102 : 0)))) {
call$1("SET", "quorlock:floor", exactly$85((number(counter$98) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$84)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$103(locks$104, granted$105, proposal$106, next$107) {
let counter$108 = counterOf$87(locks$104);
raise$96(locks$104, math.max(counter$108, tonumber(proposal$106)));
return new Table([(-1), granted$105, exactly$85(counter$108), next$107]);
}
function demand$109(key$110, commands$111) {
let $113;
let check$112 = redis.acl_check_cmd;
for (let [command$114] of matches((isTrue($113 = (isTrue(check$112) ? commands$111 : check$112)) ? $113 : ""), "%u+")) {
if (!isTrue(check$112(command$114, key$110))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$114)) + "' command"))));
}
}
}
function forget$115(queue$116, waiter$117) {
if ((call$1("ZREM", queue$116, waiter$117) === 1)) {
call$1("DEL", (text(queue$116) + (":" + text(string.sub(waiter$117, 1, 20)))));
}
}
function reserve$118(key$119, token$120, lives$121, ttl$122) {
set$72(key$119, token$120, math.max(1, math.min(lives$121, tonumber(ttl$122))));
}
function grant$123(key$124, queue$125, waiter$126, token$127, ttl$128, inbox$129, proposal$130) {
let $131, $133, $135;
let next$132 = (isTrue($131 = get(call$1("ZRANGE", queue$125, 1, 1, "WITHSCORES"), 2)) ? $131 : "-");
let counter$134 = (($133 = (proposal$130 !== "")) ? counterOf$87(new Table([lockOf$67(key$124)])) : $133);
set$72(key$124, token$127, ttl$128);
if (isTrue(counter$134)) {
raise$96(new Table([lockOf$67(key$124)]), math.max(counter$134, tonumber(proposal$130)));
}
let told$136 = redis.pcall("PUBLISH", inbox$129, (text(token$127) + (" " + (text((isTrue($135 = (isTrue(counter$134) ? exactly$85(counter$134) : counter$134)) ? $135 : "-")) + (" " + text(next$132))))));
if ((type(told$136) === "number")) {
forget$115(queue$125, waiter$126);
} else {
reserve$118(key$124, token$127, call$1("PTTL", (text(queue$125) + (":" + text(string.sub(waiter$126, 1, 20))))), ttl$128);
}
return told$136;
}
function sweep$142(queue$143, from$144, to$145, asking$146) {
let $147, $148, $164, $165;
let waiters$149 = (isTrue($148 = (($147 = isMore(unswept$140, 0)) ? call$1("ZRANGE", queue$143, from$144, to$145) : $147)) ? $148 : new Table([])), names$150 = new Table([]), dead$151 = new Table([]);
if ((length(waiters$149) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$140 = (number(unswept$140) - length(waiters$149));
for (let index$152 = 1, table$154 = waiters$149, waiter$153; (waiter$153 = get(table$154, index$152)) !== undefined; index$152 += 1) {
set(names$150, index$152, (text(queue$143) + (":" + text(string.sub(waiter$153, 1, 20)))));
}
let entries$155 = redis.pcall("MGET", ...all(unpack(names$150))), head$156 = undefined, entry$157 = undefined;
if (isTrue(get(entries$155, "err"))) {
for (let index$158 = 1, table$160 = names$150, name$159; (name$159 = get(table$160, index$158)) !== undefined; index$158 += 1) {
set(entries$155, index$158, call$1("GET", name$159));
}
}
for (let index$161 = 1, table$163 = waiters$149, waiter$162; (waiter$162 = get(table$163, index$161)) !== undefined; index$161 += 1) {
if ((!isTrue(get(entries$155, index$161)) && (waiter$162 !== asking$146))) {
set(dead$151, (length(dead$151) + 1), waiter$162);
} else if (!isTrue(head$156)) {
$164 = waiter$162; $165 = get(entries$155, index$161); head$156 = $164; entry$157 = $165;
}
}
if ((length(dead$151) > 0)) {
call$1("ZREM", queue$143, ...all(unpack(dead$151)));
}
return new Several([head$156, entry$157, length(waiters$149)]);
}
function headOf$166(queue$167, asking$168) {
let $173;
let first$169 = get(call$1("ZRANGE", queue$167, 0, 0), 1);
if ((!isTrue(first$169) || (first$169 === asking$168))) {
return first$169;
}
let entry$170 = call$1("GET", (text(queue$167) + (":" + text(string.sub(first$169, 1, 20)))));
if (isTrue(entry$170)) {
return new Several([first$169, entry$170]);
}
for (let _$171 = 1, last$172 = number(sweeps$138); _$171 <= last$172; _$171 += 1) {
let waiter$174 = ($173 = all(sweep$142(queue$167, 0, (number(swept$139) - 1), asking$168)))[0], found$175 = $173[1], count$176 = $173[2];
if ((isTrue(waiter$174) || isLess(count$176, swept$139))) {
return new Several([waiter$174, found$175]);
}
}
}
function give$177(key$178, ending$179) {
let $181, $184, $192;
if (isTrue(ending$179)) {
finish$76(key$178, ending$179);
}
let queue$180 = queueOf$61(key$178);
while (isMore(skips$141, 0)) {
let waiter$182 = ($181 = all(headOf$166(queue$180)))[0], entry$183 = $181[1];
if (!isTrue(waiter$182)) {
return ;
}
let round$185 = ($184 = all(string.match(entry$183, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$186 = $184[1], inbox$187 = $184[2], proposal$188 = $184[3], how$189 = $184[4];
let token$190 = (text(waiter$182) + ("." + text((isTrue(round$185) ? round$185 : "")))), isTold$191 = (isTrue(round$185) ? (inbox$187 !== "-") : round$185);
let counts$193 = (isTrue($192 = (isTrue(isTold$191) ? mayAsk$82 : isTold$191)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$187) : $192);
key$178 = one(keyFor$69(key$178, how$189));
if ((!isTrue(round$185) || ((isTrue(counts$193) && !isTrue(get(counts$193, "err"))) && (get(counts$193, 2) === 0)))) {
forget$115(queue$180, waiter$182);
} else if ((isTrue(mayShare$80) && isTrue(one(ownerFor$66(key$178, token$190))))) {
return ;
} else if (((isTrue(isTold$191) && ((how$189 === "g") || (how$189 === "r"))) && (isTrue(isSeeded$137) || (proposal$188 === "")))) {
let told$194 = grant$123(key$178, queue$180, waiter$182, token$190, ttl$186, inbox$187, proposal$188);
if (((told$194 !== 0) && (how$189 === "g"))) {
return ;
}
if ((told$194 === 0)) {
finish$76(key$178, token$190);
}
} else {
reserve$118(key$178, token$190, call$1("PTTL", (text(queue$180) + (":" + text(string.sub(waiter$182, 1, 20))))), ttl$186);
if ((isTrue(isTold$191) && (how$189 === "w"))) {
redis.pcall("PUBLISH", inbox$187, ("wake " + text(token$190)));
}
return ;
}
skips$141 = (number(skips$141) - 1);
}
}
function releaseUnwaited$195(first$196, last$197, token$198) {
for (let index$199 = number(first$196), last$200 = number(last$197); index$199 <= last$200; index$199 += 1) {
if (((redis.pcall("GET", get(KEYS, index$199)) !== token$198) || isMore(call$1("EXISTS", queueOf$61(get(KEYS, index$199))), 0))) {
return undefined;
}
}
let given$201 = 0;
for (let index$202 = number(first$196), last$203 = number(last$197); index$202 <= last$203; index$202 += 1) {
given$201 = (number(given$201) + number(call$1("DEL", get(KEYS, index$202))));
}
return given$201;
}
function releaseAllUnwaited$204(first$205, last$206, from$207) {
let $218, $219;
let owners$208 = call$1("MGET", ...all(unpack(KEYS, first$205, last$206))), queues$209 = new Table([]);
for (let place$210 = 1, last$211 = ((number(last$206) - number(first$205)) + 1); place$210 <= last$211; place$210 += 1) {
if ((get(owners$208, place$210) !== get(ARGV, ((number(from$207) + place$210) - 1)))) {
return undefined;
}
set(queues$209, place$210, queueOf$61(get(KEYS, ((number(first$205) + place$210) - 1))));
}
if (isMore(call$1("EXISTS", ...all(unpack(queues$209))), 0)) {
return undefined;
}
let gone$212 = call$1("DEL", ...all(unpack(KEYS, first$205, last$206)));
if ((gone$212 === length(queues$209))) {
return gone$212;
}
let each$213 = new Table([]), seen$214 = new Table([]);
for (let place$215 = 1, last$216 = length(queues$209); place$215 <= last$216; place$215 += 1) {
let key$217 = get(KEYS, ((number(first$205) + place$215) - 1));
set(each$213, place$215, (isTrue($219 = (isTrue($218 = get(seen$214, key$217)) ? 0 : $218)) ? $219 : 1));
set(seen$214, key$217, true);
}
return each$213;
}
function failure$220(reason$221) {
let $222, $223;
return new Table([0, (isTrue($223 = (($222 = (type(reason$221) === "table")) ? get(reason$221, "err") : $222)) ? $223 : tostring(reason$221))]);
}
function enqueue$224(first$225, last$226, token$227, ttl$228, ticket$229, entryTtl$230, proposal$231, inbox$232, alone$233) {
let $234, $250, $252, $264, $267, $268, $269, $270, $272, $273;
let waiter$235 = ($234 = all(string.match(token$227, "^(.+)%.(%d+)$")))[0], round$236 = $234[1];
let queues$237 = new Table([]), isTaken$238 = new Table([]), blocked$239 = undefined, isHeld$240 = false;
function claimOnly$241(create$242) {
let next$243 = undefined;
for (let index$244 = number(first$225), last$245 = number(last$226); index$244 <= last$245; index$244 += 1) {
forget$115(get(queues$237, index$244), waiter$235);
let ticket$246 = get(call$1("ZRANGE", get(queues$237, index$244), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$246) && (!isTrue(next$243) || isLess(tonumber(ticket$246), tonumber(next$243))))) {
next$243 = ticket$246;
}
}
return new Several([claim$22(first$225, last$226, token$227, ttl$228, create$242), next$243]);
}
for (let index$247 = number(first$225), last$248 = number(last$226); index$247 <= last$248; index$247 += 1) {
let owner$249 = one(ownerFor$66(get(KEYS, index$247), token$227));
isHeld$240 = (isTrue(isHeld$240) ? isHeld$240 : (owner$249 === token$227));
set(queues$237, index$247, queueOf$61(get(KEYS, index$247)));
set(isTaken$238, index$247, (isTrue($250 = (isTrue(owner$249) ? !isTrue(isMine$7(owner$249, token$227)) : owner$249)) ? owner$249 : $250));
if (isTrue(get(isTaken$238, index$247))) {
blocked$239 = (isTrue(blocked$239) ? blocked$239 : index$247);
}
}
if (isTrue(isHeld$240)) {
return claimOnly$241(false);
}
let waited$251 = 0;
for (let index$253 = number(first$225), last$254 = number((isTrue($252 = (isTrue(blocked$239) ? (number(first$225) - 1) : blocked$239)) ? $252 : last$226)); index$253 <= last$254; index$253 += 1) {
waited$251 = (number(waited$251) + number(call$1("EXISTS", get(queues$237, index$253))));
}
if ((!isTrue(blocked$239) && (waited$251 === 0))) {
return claim$22(first$225, last$226, token$227, ttl$228, true);
}
demand$109(get(KEYS, first$225), toEnter$78);
let place$255 = (":" + text(string.sub(waiter$235, 1, 20)));
let entry$256 = (text(round$236) + (" " + (text(ttl$228) + (" " + (text(inbox$232) + (" " + (text(proposal$231) + " ")))))));
let isFirst$257 = new Table([]), waitsFor$258 = undefined;
for (let index$259 = number(first$225), last$260 = number(last$226); index$259 <= last$260; index$259 += 1) {
let queue$261 = get(queues$237, index$259);
call$1("ZADD", queue$261, ticket$229, waiter$235);
if (isLess(call$1("PTTL", queue$261), tonumber(entryTtl$230))) {
call$1("PEXPIRE", queue$261, (2 * number(entryTtl$230)));
}
if (((round$236 === "1") && (string.sub(ticket$229, (-1)) === "0"))) {
sweep$142(queue$261, 1, 80, waiter$235);
}
set(isFirst$257, index$259, (!isTrue(get(isTaken$238, index$259)) && (one(headOf$166(queue$261, waiter$235)) === waiter$235)));
if ((!isTrue(get(isTaken$238, index$259)) && !isTrue(get(isFirst$257, index$259)))) {
waitsFor$258 = (isTrue(waitsFor$258) ? waitsFor$258 : index$259);
}
}
let inTheWay$262 = (isTrue(blocked$239) ? blocked$239 : waitsFor$258), refusal$263 = undefined;
for (let index$265 = number(first$225), last$266 = number((isTrue($264 = (isTrue(inTheWay$262) ? last$226 : inTheWay$262)) ? $264 : (number(first$225) - 1))); index$265 <= last$266; index$265 += 1) {
let how$271 = (isTrue($270 = (isTrue($269 = (($267 = (first$225 === last$226)) ? alone$233 : $267)) ? $269 : (($268 = (index$265 === inTheWay$262)) ? "w" : $268))) ? $270 : "s");
call$1("SET", (text(get(queues$237, index$265)) + text(place$255)), (text(entry$256) + text(how$271)), "PX", entryTtl$230);
if (isTrue(get(isFirst$257, index$265))) {
reserve$118(get(KEYS, index$265), token$227, tonumber(entryTtl$230), ttl$228);
} else {
if (!isTrue(get(isTaken$238, index$265))) {
give$177(get(KEYS, index$265), token$227);
}
let owner$274 = (($273 = !isTrue(refusal$263)) ? (isTrue($272 = get(isTaken$238, index$265)) ? $272 : one(ownerFor$66(get(KEYS, index$265), token$227))) : $273);
if ((!isTrue(refusal$263) && !isTrue(isMine$7(owner$274, token$227)))) {
let latest$275 = get(call$1("ZRANGE", get(queues$237, index$265), (-1), (-1), "WITHSCORES"), 2);
let inWay$276 = (isTrue(owner$274) ? owner$274 : one(ownerFor$66(lockOf$67(get(KEYS, index$265)), token$227)));
refusal$263 = new Table([((index$265 - number(first$225)) + 1), masked$16(inWay$276), leftOf$70(get(KEYS, index$265)), latest$275]);
}
}
}
if (isTrue(refusal$263)) {
return refusal$263;
}
return claimOnly$241(true);
}
function leave$277(first$278, last$279, token$280) {
let $281, $284;
demand$109(get(KEYS, first$278), toGive$79);
let waiter$282 = ($281 = all(string.match(token$280, "^(.+)%.(%d+)$")))[0], round$283 = $281[1];
for (let index$285 = number(first$278), last$286 = number((isTrue($284 = (isTrue(waiter$282) ? last$279 : waiter$282)) ? $284 : 0)); index$285 <= last$286; index$285 += 1) {
let queue$287 = queueOf$61(get(KEYS, index$285));
let entry$288 = call$1("GET", (text(queue$287) + (":" + text(string.sub(waiter$282, 1, 20)))));
let entered$289 = (isTrue(entry$288) ? tonumber(...all(string.match(entry$288, "^%d+"))) : entry$288);
if ((isTrue(entered$289) && isAtMost(entered$289, tonumber(round$283)))) {
forget$115(queue$287, waiter$282);
}
}
let released$290 = 0;
for (let index$291 = number(first$278), last$292 = number(last$279); index$291 <= last$292; index$291 += 1) {
let dropped$293 = drop$49(get(KEYS, index$291), token$280);
released$290 = (number(released$290) + number(dropped$293));
if (((dropped$293 === 1) || isTrue(mayShare$80))) {
give$177(get(KEYS, index$291));
}
}
return released$290;
}
function mark$295(state$296, ends$297, length$298) {
let $301, $304, $305;
if (isTrue(length$298)) {
call$1("SET", "quorlock:quarantine", exactly$85(length$298), "PX", exactly$85(length$298));
}
let words$299 = new Table([get(guarded$294, "replId"), get(guarded$294, "since"), exactly$85(ends$297), get(guarded$294, "longest"), get(guarded$294, "database"), state$296]);
call$1("SET", "quorlock:guard", table.concat(words$299, " "));
function keepInMemory$300() {
call$1("SET", "quorlock:guard:memory", get(guarded$294, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$294, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$302 = ($301 = all(pcall(keepInMemory$300)))[0], why$303 = $301[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$302)) {
error(why$303, 0);
}
$304 = state$296; $305 = ends$297; set(guarded$294, "state", $304); set(guarded$294, "ends", $305);
}
function watch$306(terms$307) {
let $314, $323, $324, $331, $332, $334, $335, $336, $337, $338, $339, $340, $344, $345, $347, $348, $349;
function isMemoryOf$308(was$309, since$310, durable$311, info$312) {
let isSame$313 = (was$309 === get(guarded$294, "replId"));
if ((!isTrue(isSame$313) && !isTrue(one(string.find(info$312, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$311 === "1") && !isTrue(isSame$313))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$310) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$294 = undefined;
let maxTtl$315 = ($314 = all(string.match(terms$307, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$316 = $314[1], durable$317 = $314[2], right$318 = $314[3], now$319 = $314[4], database$320 = $314[5], after$321 = $314[6];
if (!isTrue(maxTtl$315)) {
return ;
}
now$319 = tonumber(now$319);
guarded$294 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$315).set("now", now$319);
let info$322 = call$1("INFO", "replication");
set(guarded$294, "replId", one(string.match(info$322, "master_replid:(%S+)")));
if (!isTrue(get(guarded$294, "replId"))) {
set(guarded$294, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$322, "role:master", 1, true)))) {
set(guarded$294, "why", "READONLY it is a replica");
return ;
}
let was$325 = ($323 = all(string.match((isTrue($324 = call$1("GET", "quorlock:guard")) ? $324 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$326 = $323[1], ends$327 = $323[2], longest$328 = $323[3], place$329 = $323[4], state$330 = $323[5];
let isKnown$333 = (isTrue($332 = (isTrue($331 = (isTrue(was$325) ? (place$329 === database$320) : was$325)) ? isAtLeast(tonumber(since$326), tonumber(after$321)) : $331)) ? isMemoryOf$308(was$325, since$326, durable$317, info$322) : $332);
if (isTrue(isKnown$333)) {
$334 = since$326; $335 = longest$328; $336 = place$329; set(guarded$294, "since", $334); set(guarded$294, "longest", $335); set(guarded$294, "database", $336);
$337 = state$330; $338 = tonumber(ends$327); $339 = true; set(guarded$294, "state", $337); set(guarded$294, "ends", $338); set(guarded$294, "isKnown", $339);
if ((was$325 !== get(guarded$294, "replId"))) {
pcall(mark$295, state$330, get(guarded$294, "ends"));
}
} else if ((right$318 === "0")) {
return ;
} else if ((right$318 === "3")) {
if (!isTrue(was$325)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$316)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$333) && (right$318 !== "4"))) {
if ((state$330 === "2")) {
let left$341 = call$1("PTTL", "quorlock:quarantine"), length$342 = tonumber((isTrue($340 = call$1("GET", "quorlock:quarantine")) ? $340 : ""));
if ((isTrue(length$342) && isMore(left$341, length$342))) {
call$1("PEXPIRE", "quorlock:quarantine", length$342);
left$341 = length$342;
}
let isFar$343 = isMore(get(guarded$294, "ends"), (number(now$319) + number(math.max(tonumber(longest$328), left$341))));
if (isTrue(isFar$343)) {
pcall(mark$295, "2", (number(now$319) + number((isTrue($345 = (($344 = (left$341 === (-2))) ? tonumber(longest$328) : $344)) ? $345 : left$341))));
}
if (((left$341 === (-2)) && isAtMost(get(guarded$294, "ends"), now$319))) {
pcall(mark$295, "1", 0);
}
}
} else {
let length$346 = math.max(tonumber((isTrue(longest$328) ? longest$328 : 0)), tonumber(maxTtl$315));
set(guarded$294, "since", exactly$85(math.max((number(tonumber((isTrue(since$326) ? since$326 : 0))) + 1), tonumber(epoch$316))));
$348 = database$320; $349 = (isTrue($347 = (isTrue(isKnown$333) ? longest$328 : isKnown$333)) ? $347 : maxTtl$315); set(guarded$294, "database", $348); set(guarded$294, "longest", $349);
if (((right$318 !== "2") || isTrue(was$325))) {
mark$295("2", (number(now$319) + number(length$346)), length$346);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$316))))) {
mark$295("0", 0);
} else {
set(guarded$294, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$294, "isKnown", true);
}
set(guarded$294, "why", undefined);
}
function bar$350(kind$351, ttl$352, proposal$353) {
if (isTrue(get(guarded$294, "why"))) {
return get(guarded$294, "why");
}
if (((get(guarded$294, "longest") !== get(guarded$294, "wanted")) || isMore(tonumber(ttl$352), tonumber(get(guarded$294, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$294, "longest")) + " ms here"));
}
if (((proposal$353 === "") && ((kind$351 === "e") || (kind$351 === "p")))) {
return undefined;
}
if ((get(guarded$294, "state") === "2")) {
let left$354 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$294, "ends")) - number(get(guarded$294, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$85(left$354)) + " ms more"));
}
if (((proposal$353 !== "") && (get(guarded$294, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$294, "since")));
}
}
function inQuarantine$355() {
let $356;
return (isTrue(guarded$294) ? (isTrue($356 = get(guarded$294, "why")) ? $356 : (get(guarded$294, "state") === "2")) : guarded$294);
}
function guardState$357() {
let $358, $359, $366, $367;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$360 = ($358 = all(string.match((isTrue($359 = call$1("GET", "quorlock:guard")) ? $359 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$361 = $358[1], longest$362 = $358[2], state$363 = $358[3];
let left$364 = call$1("PTTL", "quorlock:quarantine"), floor$365 = call$1("GET", "quorlock:floor");
let isKnown$368 = (isTrue($367 = (isTrue($366 = (isTrue(guarded$294) ? get(guarded$294, "isKnown") : guarded$294)) ? 1 : $366)) ? $367 : 0);
return new Table([tonumber((isTrue(longest$362) ? longest$362 : 0)), left$364, (isTrue(since$360) ? since$360 : "0"), tonumber((isTrue(state$363) ? state$363 : 2)), (isTrue(floor$365) ? floor$365 : "0"), isKnown$368]);
}
function restoreCounters$369(epoch$370, floor$371) {
if ((((!isTrue(guarded$294) || isTrue(get(guarded$294, "why"))) || (get(guarded$294, "state") !== "1")) || (get(guarded$294, "since") !== epoch$370))) {
return 0;
}
raise$96(new Table([]), math.max(counterOf$87(new Table([])), tonumber(floor$371)));
call$1("SET", "quorlock:floor:past", floor$371, "PX", pastTtl$84);
mark$295("0", 0);
return 1;
}
function claimed$375(kind$376, last$377, number$378, ticket$379, entryTtl$380, proposal$381) {
let token$382 = get(ARGV, arg$374);
if ((((kind$376 === "v") && (key$373 === last$377)) && isTrue(call$1("SET", get(KEYS, key$373), token$382, "NX", "PX", number$378)))) {
return tonumber(number$378);
}
if ((kind$376 === "q")) {
return enqueue$224(key$373, last$377, token$382, number$378, ticket$379, entryTtl$380, proposal$381, get(ARGV, (number(arg$374) + 1)), "g");
}
return claim$22(key$373, last$377, token$382, number$378, (kind$376 !== "e"));
}
function inBulk$383(kind$384, count$385, number$386, proposal$387) {
let $391, $392, $393, $398, $399, $400;
let done$388 = 0, each$389 = new Table([]), reply$390 = 1;
if ((((kind$384 === "v") && (proposal$387 === "")) && !isTrue(guarded$294))) {
$391 = voteAll$41(key$373, arg$374, count$385, number$386); $392 = tonumber(number$386); done$388 = $391; reply$390 = $392;
} else if ((kind$384 === "l")) {
let isDone$394 = ($393 = all(pcall(releaseAllUnwaited$204, key$373, ((number(key$373) + number(count$385)) - 1), arg$374)))[0], gone$395 = $393[1];
if ((isTrue(isDone$394) && isTrue(gone$395))) {
done$388 = count$385;
}
if ((isTrue(isDone$394) && (type(gone$395) === "table"))) {
each$389 = gone$395;
}
}
for (let place$396 = 1, last$397 = number(done$388); place$396 <= last$397; place$396 += 1) {
set(replies$372, (length(replies$372) + 1), (isTrue($398 = get(each$389, place$396)) ? $398 : reply$390));
}
$399 = (number(key$373) + number(done$388)); $400 = (number(arg$374) + number(done$388)); key$373 = $399; arg$374 = $400;
return done$388;
}
function run$401(kind$402, last$403, number$404, ticket$405, entryTtl$406, proposal$407) {
let $409, $412, $413, $414, $420;
if ((kind$402 === "g")) {
watch$306(get(ARGV, arg$374));
isSeeded$137 = (!isTrue(guarded$294) || (get(guarded$294, "state") !== "1"));
return ;
}
if ((kind$402 === "h")) {
return guardState$357();
}
if ((kind$402 === "f")) {
let seeded$408 = restoreCounters$369(number$404, ticket$405);
isSeeded$137 = (isTrue(isSeeded$137) ? isSeeded$137 : (seeded$408 === 1));
return seeded$408;
}
if ((kind$402 === "c")) {
return call$1("TIME");
}
if (((kind$402 === "r") || ((kind$402 === "l") && isTrue(inQuarantine$355())))) {
return release$54(key$373, last$403, get(ARGV, arg$374));
}
if ((kind$402 === "l")) {
return (isTrue($409 = releaseUnwaited$195(key$373, last$403, get(ARGV, arg$374))) ? $409 : leave$277(key$373, last$403, get(ARGV, arg$374)));
}
if ((kind$402 === "i")) {
return new Table([masked$16(call$1("GET", get(KEYS, key$373))), call$1("PTTL", get(KEYS, key$373)), call$1("ZCARD", queueOf$61(get(KEYS, key$373)))]);
}
if (((proposal$407 !== "") && isAtLeast(tonumber(proposal$407), (((2) ** 53) - ((2) ** 20))))) {
error("ERR the fencing token is too large", 0);
}
let why$410 = (isTrue(guarded$294) ? bar$350(kind$402, number$404, proposal$407) : guarded$294);
if (isTrue(why$410)) {
error(why$410, 0);
}
if ((kind$402 === "u")) {
let owner$411 = ownerOf$2(get(KEYS, last$403));
if (isTrue(owner$411)) {
return new Table([((number(last$403) - number(key$373)) + 1), masked$16(owner$411), call$1("PTTL", get(KEYS, last$403))]);
}
$412 = "v"; $413 = (number(last$403) - 1); kind$402 = $412; last$403 = $413;
}
let reply$415 = ($414 = all(claimed$375(kind$402, last$403, number$404, ticket$405, entryTtl$406, proposal$407)))[0], next$416 = $414[1];
if ((type(reply$415) !== "number")) {
return reply$415;
}
if ((isTrue(guarded$294) && isTrue(inQuarantine$355()))) {
return new Table([(-2), reply$415]);
}
if ((proposal$407 !== "")) {
let locks$417 = new Table([]);
for (let index$418 = number(key$373), last$419 = number(last$403); index$418 <= last$419; index$418 += 1) {
set(locks$417, ((index$418 - number(key$373)) + 1), lockOf$67(get(KEYS, index$418)));
}
return fenced$103(locks$417, reply$415, proposal$407, next$416);
}
return (isTrue($420 = (isTrue(next$416) ? new Table([(-3), reply$415, next$416]) : next$416)) ? $420 : reply$415);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $81, $431, $436, $439, $440;
call$1 = redis.call;








ownerFor$66 = ownerOf$2;

keyFor$69 = lockOf$67;



toEnter$78 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$79 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$80 = false;
mayAsk$82 = (isTrue($81 = redis.replicate_commands) ? $81 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$83 = 86400000, pastTtl$84 = 43200000;








isSeeded$137 = true;
sweeps$138 = 8, swept$139 = 128, unswept$140 = 4096;
skips$141 = 256;








guarded$294 = undefined;






replies$372 = new Table([]), key$373 = 1, arg$374 = 2;



operation$421 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$422, kind$423, keys$424, number$425, ticket$426, entryTtl$427, proposal$428] of matches(get(ARGV, 1), operation$421)) {
let keyCount$429 = tonumber(keys$424), argCount$430 = 0;
if ((kind$423 === "q")) {
argCount$430 = 2;
} else if (((((kind$423 !== "i") && (kind$423 !== "c")) && (kind$423 !== "h")) && (kind$423 !== "f"))) {
argCount$430 = 1;
}
let count$432 = (isTrue($431 = tonumber(times$422)) ? $431 : 1);
if ((isMore(count$432, 1) && (keys$424 === "1"))) {
count$432 = (number(count$432) - number(inBulk$383(kind$423, count$432, number$425, proposal$428)));
}
for (let _$433 = 1, last$434 = number(count$432); _$433 <= last$434; _$433 += 1) {
let last$435 = ((number(key$373) + number(keyCount$429)) - 1);
let done$437 = ($436 = all(pcall(run$401, kind$423, last$435, number$425, ticket$426, entryTtl$427, proposal$428)))[0], reply$438 = $436[1];
if (!isTrue(done$437)) {
reply$438 = failure$220(reply$438);
}
if ((kind$423 !== "g")) {
set(replies$372, (length(replies$372) + 1), reply$438);
} else if (!isTrue(done$437)) {
guarded$294 = new Table([]).set("why", get(reply$438, 2));
}
$439 = (number(last$435) + 1); $440 = (number(arg$374) + number(argCount$430)); key$373 = $439; arg$374 = $440;
}
}
return replies$372;
}};
})(),
};
