// @ts-nocheck
// Scripts as JavaScript, by their digests. Written by `pnpm scripts`.
import { scope } from "./library.ts";
import type { CompiledScript } from "../master/redis-library.ts";

const { Several, Table, isTrue, one, all, get, set, number, text, length, isLess, isAtMost, isMore, isAtLeast, modulo, type, tonumber, tostring, unpack, error, pcall, string, table, math, matches } = scope;

export const compiledScripts: Readonly<Record<string, CompiledScript>> = {
  "0df22def979351fb124ea22c928adb2e6677311e": (() => {
let redis, KEYS, ARGV, call$1, isDone$24, gone$25, ownerFor$56, keyFor$59, toEnter$68, toGive$69, mayShare$70, mayAsk$72, counterTtl$73, pastTtl$74, isSeeded$127, sweeps$128, swept$129, unswept$130, skips$131, replies$211;
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
function drop$49(key$50, from$51, to$52) {
let owner$53 = ownerOf$35(key$50);
for (let token$54 = number(from$51), last$55 = number(to$52); token$54 <= last$55; token$54 += 1) {
if (isTrue(isMine$40(owner$53, get(ARGV, token$54)))) {
return call$1("DEL", key$50);
}
}
return 0;
}
function lockOf$57(key$58) {
return key$58;
}
function leftOf$60(key$61) {
return call$1("PTTL", key$61);
}
function set$62(key$63, token$64, ms$65) {
call$1("SET", key$63, token$64, "PX", ms$65);
}
function finish$66(key$67) {
return call$1("DEL", key$67);
}
function exactly$75(number$76) {
return string.format("%.0f", number$76);
}
function counterOf$77(locks$78) {
let $80, $85;
let past$79 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$79)) {
past$79 = (isTrue($80 = call$1("GET", "quorlock:floor")) ? $80 : "0");
call$1("SET", "quorlock:floor:past", past$79, "PX", pastTtl$74);
}
let largest$81 = tonumber(past$79);
for (let _$82 = 1, table$84 = locks$78, lock$83; (lock$83 = get(table$84, _$82)) !== undefined; _$82 += 1) {
largest$81 = math.max(largest$81, tonumber((isTrue($85 = call$1("GET", ("quorlock:fence:" + text(lock$83)))) ? $85 : 0)));
}
return largest$81;
}
function raise$86(locks$87, counter$88) {
let $92;
for (let _$89 = 1, table$91 = locks$87, lock$90; (lock$90 = get(table$91, _$89)) !== undefined; _$89 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$90)), exactly$75(counter$88), "PX", counterTtl$73);
}
if (isAtLeast(counter$88, tonumber((isTrue($92 = call$1("GET", "quorlock:floor")) ? $92 : 0)))) {
call$1("SET", "quorlock:floor", exactly$75((number(counter$88) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$74)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$93(locks$94, granted$95, proposal$96, next$97) {
let counter$98 = counterOf$77(locks$94);
raise$86(locks$94, math.max(counter$98, tonumber(proposal$96)));
return new Table([(-1), granted$95, exactly$75(counter$98), next$97]);
}
function demand$99(key$100, commands$101) {
let $103;
let check$102 = redis.acl_check_cmd;
for (let [command$104] of matches((isTrue($103 = (isTrue(check$102) ? commands$101 : check$102)) ? $103 : ""), "%u+")) {
if (!isTrue(check$102(command$104, key$100))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$104)) + "' command"))));
}
}
}
function forget$105(queue$106, waiter$107) {
if ((call$1("ZREM", queue$106, waiter$107) === 1)) {
call$1("DEL", (text(queue$106) + (":" + text(string.sub(waiter$107, 1, 20)))));
}
}
function reserve$108(key$109, token$110, lives$111, ttl$112) {
set$62(key$109, token$110, math.max(1, math.min(lives$111, tonumber(ttl$112))));
}
function grant$113(key$114, queue$115, waiter$116, token$117, ttl$118, inbox$119, proposal$120) {
let $121, $123, $125;
let next$122 = (isTrue($121 = get(call$1("ZRANGE", queue$115, 1, 1, "WITHSCORES"), 2)) ? $121 : "-");
let counter$124 = (($123 = (proposal$120 !== "")) ? counterOf$77(new Table([lockOf$57(key$114)])) : $123);
set$62(key$114, token$117, ttl$118);
if (isTrue(counter$124)) {
raise$86(new Table([lockOf$57(key$114)]), math.max(counter$124, tonumber(proposal$120)));
}
let told$126 = redis.pcall("PUBLISH", inbox$119, (text(token$117) + (" " + (text((isTrue($125 = (isTrue(counter$124) ? exactly$75(counter$124) : counter$124)) ? $125 : "-")) + (" " + text(next$122))))));
if ((type(told$126) === "number")) {
forget$105(queue$115, waiter$116);
} else {
reserve$108(key$114, token$117, call$1("PTTL", (text(queue$115) + (":" + text(string.sub(waiter$116, 1, 20))))), ttl$118);
}
return told$126;
}
function sweep$132(queue$133, from$134, to$135, asking$136) {
let $137, $138, $154, $155;
let waiters$139 = (isTrue($138 = (($137 = isMore(unswept$130, 0)) ? call$1("ZRANGE", queue$133, from$134, to$135) : $137)) ? $138 : new Table([])), names$140 = new Table([]), dead$141 = new Table([]);
if ((length(waiters$139) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$130 = (number(unswept$130) - length(waiters$139));
for (let index$142 = 1, table$144 = waiters$139, waiter$143; (waiter$143 = get(table$144, index$142)) !== undefined; index$142 += 1) {
set(names$140, index$142, (text(queue$133) + (":" + text(string.sub(waiter$143, 1, 20)))));
}
let entries$145 = redis.pcall("MGET", ...all(unpack(names$140))), head$146 = undefined, entry$147 = undefined;
if (isTrue(get(entries$145, "err"))) {
for (let index$148 = 1, table$150 = names$140, name$149; (name$149 = get(table$150, index$148)) !== undefined; index$148 += 1) {
set(entries$145, index$148, call$1("GET", name$149));
}
}
for (let index$151 = 1, table$153 = waiters$139, waiter$152; (waiter$152 = get(table$153, index$151)) !== undefined; index$151 += 1) {
if ((!isTrue(get(entries$145, index$151)) && (waiter$152 !== asking$136))) {
set(dead$141, (length(dead$141) + 1), waiter$152);
} else if (!isTrue(head$146)) {
$154 = waiter$152; $155 = get(entries$145, index$151); head$146 = $154; entry$147 = $155;
}
}
if ((length(dead$141) > 0)) {
call$1("ZREM", queue$133, ...all(unpack(dead$141)));
}
return new Several([head$146, entry$147, length(waiters$139)]);
}
function headOf$156(queue$157, asking$158) {
let $163;
let first$159 = get(call$1("ZRANGE", queue$157, 0, 0), 1);
if ((!isTrue(first$159) || (first$159 === asking$158))) {
return first$159;
}
let entry$160 = call$1("GET", (text(queue$157) + (":" + text(string.sub(first$159, 1, 20)))));
if (isTrue(entry$160)) {
return new Several([first$159, entry$160]);
}
for (let _$161 = 1, last$162 = number(sweeps$128); _$161 <= last$162; _$161 += 1) {
let waiter$164 = ($163 = all(sweep$132(queue$157, 0, (number(swept$129) - 1), asking$158)))[0], found$165 = $163[1], count$166 = $163[2];
if ((isTrue(waiter$164) || isLess(count$166, swept$129))) {
return new Several([waiter$164, found$165]);
}
}
}
function give$167(key$168, ending$169) {
let $171, $174, $182;
if (isTrue(ending$169)) {
finish$66(key$168, ending$169);
}
let queue$170 = queueOf$2(key$168);
while (isMore(skips$131, 0)) {
let waiter$172 = ($171 = all(headOf$156(queue$170)))[0], entry$173 = $171[1];
if (!isTrue(waiter$172)) {
return ;
}
let round$175 = ($174 = all(string.match(entry$173, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$176 = $174[1], inbox$177 = $174[2], proposal$178 = $174[3], how$179 = $174[4];
let token$180 = (text(waiter$172) + ("." + text((isTrue(round$175) ? round$175 : "")))), isTold$181 = (isTrue(round$175) ? (inbox$177 !== "-") : round$175);
let counts$183 = (isTrue($182 = (isTrue(isTold$181) ? mayAsk$72 : isTold$181)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$177) : $182);
key$168 = one(keyFor$59(key$168, how$179));
if ((!isTrue(round$175) || ((isTrue(counts$183) && !isTrue(get(counts$183, "err"))) && (get(counts$183, 2) === 0)))) {
forget$105(queue$170, waiter$172);
} else if ((isTrue(mayShare$70) && isTrue(one(ownerFor$56(key$168, token$180))))) {
return ;
} else if (((isTrue(isTold$181) && ((how$179 === "g") || (how$179 === "r"))) && (isTrue(isSeeded$127) || (proposal$178 === "")))) {
let told$184 = grant$113(key$168, queue$170, waiter$172, token$180, ttl$176, inbox$177, proposal$178);
if (((told$184 !== 0) && (how$179 === "g"))) {
return ;
}
if ((told$184 === 0)) {
finish$66(key$168, token$180);
}
} else {
reserve$108(key$168, token$180, call$1("PTTL", (text(queue$170) + (":" + text(string.sub(waiter$172, 1, 20))))), ttl$176);
if ((isTrue(isTold$181) && (how$179 === "w"))) {
redis.pcall("PUBLISH", inbox$177, ("wake " + text(token$180)));
}
return ;
}
skips$131 = (number(skips$131) - 1);
}
}
function leave$185(first$186, last$187, from$188, to$189) {
let $195;
demand$99(get(KEYS, first$186), toGive$69);
for (let index$190 = number(first$186), last$191 = number(last$187); index$190 <= last$191; index$190 += 1) {
let queue$192 = queueOf$2(get(KEYS, index$190));
for (let token$193 = number(from$188), last$194 = number(to$189); token$193 <= last$194; token$193 += 1) {
let waiter$196 = ($195 = all(string.match(get(ARGV, token$193), "^(.+)%.(%d+)$")))[0], round$197 = $195[1];
let entry$198 = (isTrue(waiter$196) ? call$1("GET", (text(queue$192) + (":" + text(string.sub(waiter$196, 1, 20))))) : waiter$196);
let entered$199 = (isTrue(entry$198) ? tonumber(...all(string.match(entry$198, "^%d+"))) : entry$198);
if ((isTrue(entered$199) && isAtMost(entered$199, tonumber(round$197)))) {
forget$105(queue$192, waiter$196);
}
}
}
let released$200 = 0;
for (let index$201 = number(first$186), last$202 = number(last$187); index$201 <= last$202; index$201 += 1) {
let dropped$203 = drop$49(get(KEYS, index$201), from$188, to$189);
released$200 = (number(released$200) + number(dropped$203));
if (((dropped$203 === 1) || isTrue(mayShare$70))) {
give$167(get(KEYS, index$201));
}
}
return released$200;
}
function failure$204(reason$205) {
let $206, $207;
return new Table([0, (isTrue($207 = (($206 = (type(reason$205) === "table")) ? get(reason$205, "err") : $206)) ? $207 : tostring(reason$205))]);
}
function release$208(index$209) {
let $210;
return (isTrue($210 = releaseUnwaited$26(index$209, index$209, get(ARGV, index$209))) ? $210 : leave$185(index$209, index$209, index$209, index$209));
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $23, $71, $214, $217;
call$1 = redis.call;


isDone$24 = ($23 = all(pcall(releaseAllUnwaited$7, 1, length(KEYS), 1)))[0], gone$25 = $23[1];
if ((isTrue(isDone$24) && isTrue(gone$25))) {
return gone$25;
}




ownerFor$56 = ownerOf$35;

keyFor$59 = lockOf$57;



toEnter$68 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$69 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$70 = false;
mayAsk$72 = (isTrue($71 = redis.replicate_commands) ? $71 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$73 = 86400000, pastTtl$74 = 43200000;








isSeeded$127 = true;
sweeps$128 = 8, swept$129 = 128, unswept$130 = 4096;
skips$131 = 256;






replies$211 = new Table([]);
for (let index$212 = 1, last$213 = length(KEYS); index$212 <= last$213; index$212 += 1) {
let done$215 = ($214 = all(pcall(release$208, index$212)))[0], reply$216 = $214[1];
set(replies$211, index$212, (isTrue($217 = (isTrue(done$215) ? reply$216 : done$215)) ? $217 : failure$204(reply$216)));
}
return replies$211;
}};
})(),
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
  "58b3aa1bc02ee01bf00c5b00935a1c295a2e077c": (() => {
let redis, KEYS, ARGV, call$1, key$2, token$3, queue$4, isTagged$6, given$23, ownerFor$53, keyFor$56, toEnter$65, toGive$66, mayShare$67, mayAsk$69, counterTtl$70, pastTtl$71, isSeeded$124, sweeps$125, swept$126, unswept$127, skips$128, guarded$201, isKnown$264;
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
function drop$38(key$39, from$40, to$41) {
let owner$42 = ownerOf$24(key$39);
for (let token$43 = number(from$40), last$44 = number(to$41); token$43 <= last$44; token$43 += 1) {
if (isTrue(isMine$29(owner$42, get(ARGV, token$43)))) {
return call$1("DEL", key$39);
}
}
return 0;
}
function release$45(first$46, last$47, from$48, to$49) {
let released$50 = 0;
for (let index$51 = number(first$46), last$52 = number(last$47); index$51 <= last$52; index$51 += 1) {
released$50 = (number(released$50) + number(drop$38(get(KEYS, index$51), from$48, to$49)));
}
return released$50;
}
function lockOf$54(key$55) {
return key$55;
}
function leftOf$57(key$58) {
return call$1("PTTL", key$58);
}
function set$59(key$60, token$61, ms$62) {
call$1("SET", key$60, token$61, "PX", ms$62);
}
function finish$63(key$64) {
return call$1("DEL", key$64);
}
function exactly$72(number$73) {
return string.format("%.0f", number$73);
}
function counterOf$74(locks$75) {
let $77, $82;
let past$76 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$76)) {
past$76 = (isTrue($77 = call$1("GET", "quorlock:floor")) ? $77 : "0");
call$1("SET", "quorlock:floor:past", past$76, "PX", pastTtl$71);
}
let largest$78 = tonumber(past$76);
for (let _$79 = 1, table$81 = locks$75, lock$80; (lock$80 = get(table$81, _$79)) !== undefined; _$79 += 1) {
largest$78 = math.max(largest$78, tonumber((isTrue($82 = call$1("GET", ("quorlock:fence:" + text(lock$80)))) ? $82 : 0)));
}
return largest$78;
}
function raise$83(locks$84, counter$85) {
let $89;
for (let _$86 = 1, table$88 = locks$84, lock$87; (lock$87 = get(table$88, _$86)) !== undefined; _$86 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$87)), exactly$72(counter$85), "PX", counterTtl$70);
}
if (isAtLeast(counter$85, tonumber((isTrue($89 = call$1("GET", "quorlock:floor")) ? $89 : 0)))) {
call$1("SET", "quorlock:floor", exactly$72((number(counter$85) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$71)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$90(locks$91, granted$92, proposal$93, next$94) {
let counter$95 = counterOf$74(locks$91);
raise$83(locks$91, math.max(counter$95, tonumber(proposal$93)));
return new Table([(-1), granted$92, exactly$72(counter$95), next$94]);
}
function demand$96(key$97, commands$98) {
let $100;
let check$99 = redis.acl_check_cmd;
for (let [command$101] of matches((isTrue($100 = (isTrue(check$99) ? commands$98 : check$99)) ? $100 : ""), "%u+")) {
if (!isTrue(check$99(command$101, key$97))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$101)) + "' command"))));
}
}
}
function forget$102(queue$103, waiter$104) {
if ((call$1("ZREM", queue$103, waiter$104) === 1)) {
call$1("DEL", (text(queue$103) + (":" + text(string.sub(waiter$104, 1, 20)))));
}
}
function reserve$105(key$106, token$107, lives$108, ttl$109) {
set$59(key$106, token$107, math.max(1, math.min(lives$108, tonumber(ttl$109))));
}
function grant$110(key$111, queue$112, waiter$113, token$114, ttl$115, inbox$116, proposal$117) {
let $118, $120, $122;
let next$119 = (isTrue($118 = get(call$1("ZRANGE", queue$112, 1, 1, "WITHSCORES"), 2)) ? $118 : "-");
let counter$121 = (($120 = (proposal$117 !== "")) ? counterOf$74(new Table([lockOf$54(key$111)])) : $120);
set$59(key$111, token$114, ttl$115);
if (isTrue(counter$121)) {
raise$83(new Table([lockOf$54(key$111)]), math.max(counter$121, tonumber(proposal$117)));
}
let told$123 = redis.pcall("PUBLISH", inbox$116, (text(token$114) + (" " + (text((isTrue($122 = (isTrue(counter$121) ? exactly$72(counter$121) : counter$121)) ? $122 : "-")) + (" " + text(next$119))))));
if ((type(told$123) === "number")) {
forget$102(queue$112, waiter$113);
} else {
reserve$105(key$111, token$114, call$1("PTTL", (text(queue$112) + (":" + text(string.sub(waiter$113, 1, 20))))), ttl$115);
}
return told$123;
}
function sweep$129(queue$130, from$131, to$132, asking$133) {
let $134, $135, $151, $152;
let waiters$136 = (isTrue($135 = (($134 = isMore(unswept$127, 0)) ? call$1("ZRANGE", queue$130, from$131, to$132) : $134)) ? $135 : new Table([])), names$137 = new Table([]), dead$138 = new Table([]);
if ((length(waiters$136) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$127 = (number(unswept$127) - length(waiters$136));
for (let index$139 = 1, table$141 = waiters$136, waiter$140; (waiter$140 = get(table$141, index$139)) !== undefined; index$139 += 1) {
set(names$137, index$139, (text(queue$130) + (":" + text(string.sub(waiter$140, 1, 20)))));
}
let entries$142 = redis.pcall("MGET", ...all(unpack(names$137))), head$143 = undefined, entry$144 = undefined;
if (isTrue(get(entries$142, "err"))) {
for (let index$145 = 1, table$147 = names$137, name$146; (name$146 = get(table$147, index$145)) !== undefined; index$145 += 1) {
set(entries$142, index$145, call$1("GET", name$146));
}
}
for (let index$148 = 1, table$150 = waiters$136, waiter$149; (waiter$149 = get(table$150, index$148)) !== undefined; index$148 += 1) {
if ((!isTrue(get(entries$142, index$148)) && (waiter$149 !== asking$133))) {
set(dead$138, (length(dead$138) + 1), waiter$149);
} else if (!isTrue(head$143)) {
$151 = waiter$149; $152 = get(entries$142, index$148); head$143 = $151; entry$144 = $152;
}
}
if ((length(dead$138) > 0)) {
call$1("ZREM", queue$130, ...all(unpack(dead$138)));
}
return new Several([head$143, entry$144, length(waiters$136)]);
}
function headOf$153(queue$154, asking$155) {
let $160;
let first$156 = get(call$1("ZRANGE", queue$154, 0, 0), 1);
if ((!isTrue(first$156) || (first$156 === asking$155))) {
return first$156;
}
let entry$157 = call$1("GET", (text(queue$154) + (":" + text(string.sub(first$156, 1, 20)))));
if (isTrue(entry$157)) {
return new Several([first$156, entry$157]);
}
for (let _$158 = 1, last$159 = number(sweeps$125); _$158 <= last$159; _$158 += 1) {
let waiter$161 = ($160 = all(sweep$129(queue$154, 0, (number(swept$126) - 1), asking$155)))[0], found$162 = $160[1], count$163 = $160[2];
if ((isTrue(waiter$161) || isLess(count$163, swept$126))) {
return new Several([waiter$161, found$162]);
}
}
}
function give$164(key$165, ending$166) {
let $168, $171, $179;
if (isTrue(ending$166)) {
finish$63(key$165, ending$166);
}
let queue$167 = queueOf$8(key$165);
while (isMore(skips$128, 0)) {
let waiter$169 = ($168 = all(headOf$153(queue$167)))[0], entry$170 = $168[1];
if (!isTrue(waiter$169)) {
return ;
}
let round$172 = ($171 = all(string.match(entry$170, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$173 = $171[1], inbox$174 = $171[2], proposal$175 = $171[3], how$176 = $171[4];
let token$177 = (text(waiter$169) + ("." + text((isTrue(round$172) ? round$172 : "")))), isTold$178 = (isTrue(round$172) ? (inbox$174 !== "-") : round$172);
let counts$180 = (isTrue($179 = (isTrue(isTold$178) ? mayAsk$69 : isTold$178)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$174) : $179);
key$165 = one(keyFor$56(key$165, how$176));
if ((!isTrue(round$172) || ((isTrue(counts$180) && !isTrue(get(counts$180, "err"))) && (get(counts$180, 2) === 0)))) {
forget$102(queue$167, waiter$169);
} else if ((isTrue(mayShare$67) && isTrue(one(ownerFor$53(key$165, token$177))))) {
return ;
} else if (((isTrue(isTold$178) && ((how$176 === "g") || (how$176 === "r"))) && (isTrue(isSeeded$124) || (proposal$175 === "")))) {
let told$181 = grant$110(key$165, queue$167, waiter$169, token$177, ttl$173, inbox$174, proposal$175);
if (((told$181 !== 0) && (how$176 === "g"))) {
return ;
}
if ((told$181 === 0)) {
finish$63(key$165, token$177);
}
} else {
reserve$105(key$165, token$177, call$1("PTTL", (text(queue$167) + (":" + text(string.sub(waiter$169, 1, 20))))), ttl$173);
if ((isTrue(isTold$178) && (how$176 === "w"))) {
redis.pcall("PUBLISH", inbox$174, ("wake " + text(token$177)));
}
return ;
}
skips$128 = (number(skips$128) - 1);
}
}
function leave$182(first$183, last$184, from$185, to$186) {
let $192;
demand$96(get(KEYS, first$183), toGive$66);
for (let index$187 = number(first$183), last$188 = number(last$184); index$187 <= last$188; index$187 += 1) {
let queue$189 = queueOf$8(get(KEYS, index$187));
for (let token$190 = number(from$185), last$191 = number(to$186); token$190 <= last$191; token$190 += 1) {
let waiter$193 = ($192 = all(string.match(get(ARGV, token$190), "^(.+)%.(%d+)$")))[0], round$194 = $192[1];
let entry$195 = (isTrue(waiter$193) ? call$1("GET", (text(queue$189) + (":" + text(string.sub(waiter$193, 1, 20))))) : waiter$193);
let entered$196 = (isTrue(entry$195) ? tonumber(...all(string.match(entry$195, "^%d+"))) : entry$195);
if ((isTrue(entered$196) && isAtMost(entered$196, tonumber(round$194)))) {
forget$102(queue$189, waiter$193);
}
}
}
let released$197 = 0;
for (let index$198 = number(first$183), last$199 = number(last$184); index$198 <= last$199; index$198 += 1) {
let dropped$200 = drop$38(get(KEYS, index$198), from$185, to$186);
released$197 = (number(released$197) + number(dropped$200));
if (((dropped$200 === 1) || isTrue(mayShare$67))) {
give$164(get(KEYS, index$198));
}
}
return released$197;
}
function mark$202(state$203, ends$204, length$205) {
let $208, $211, $212;
if (isTrue(length$205)) {
call$1("SET", "quorlock:quarantine", exactly$72(length$205), "PX", exactly$72(length$205));
}
let words$206 = new Table([get(guarded$201, "replId"), get(guarded$201, "since"), exactly$72(ends$204), get(guarded$201, "longest"), get(guarded$201, "database"), state$203]);
call$1("SET", "quorlock:guard", table.concat(words$206, " "));
function keepInMemory$207() {
call$1("SET", "quorlock:guard:memory", get(guarded$201, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$201, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$209 = ($208 = all(pcall(keepInMemory$207)))[0], why$210 = $208[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$209)) {
error(why$210, 0);
}
$211 = state$203; $212 = ends$204; set(guarded$201, "state", $211); set(guarded$201, "ends", $212);
}
function watch$213(terms$214) {
let $221, $230, $231, $238, $239, $241, $242, $243, $244, $245, $246, $247, $251, $252, $254, $255, $256;
function isMemoryOf$215(was$216, since$217, durable$218, info$219) {
let isSame$220 = (was$216 === get(guarded$201, "replId"));
if ((!isTrue(isSame$220) && !isTrue(one(string.find(info$219, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$218 === "1") && !isTrue(isSame$220))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$217) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$201 = undefined;
let maxTtl$222 = ($221 = all(string.match(terms$214, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$223 = $221[1], durable$224 = $221[2], right$225 = $221[3], now$226 = $221[4], database$227 = $221[5], after$228 = $221[6];
if (!isTrue(maxTtl$222)) {
return ;
}
now$226 = tonumber(now$226);
guarded$201 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$222).set("now", now$226);
let info$229 = call$1("INFO", "replication");
set(guarded$201, "replId", one(string.match(info$229, "master_replid:(%S+)")));
if (!isTrue(get(guarded$201, "replId"))) {
set(guarded$201, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$229, "role:master", 1, true)))) {
set(guarded$201, "why", "READONLY it is a replica");
return ;
}
let was$232 = ($230 = all(string.match((isTrue($231 = call$1("GET", "quorlock:guard")) ? $231 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$233 = $230[1], ends$234 = $230[2], longest$235 = $230[3], place$236 = $230[4], state$237 = $230[5];
let isKnown$240 = (isTrue($239 = (isTrue($238 = (isTrue(was$232) ? (place$236 === database$227) : was$232)) ? isAtLeast(tonumber(since$233), tonumber(after$228)) : $238)) ? isMemoryOf$215(was$232, since$233, durable$224, info$229) : $239);
if (isTrue(isKnown$240)) {
$241 = since$233; $242 = longest$235; $243 = place$236; set(guarded$201, "since", $241); set(guarded$201, "longest", $242); set(guarded$201, "database", $243);
$244 = state$237; $245 = tonumber(ends$234); $246 = true; set(guarded$201, "state", $244); set(guarded$201, "ends", $245); set(guarded$201, "isKnown", $246);
if ((was$232 !== get(guarded$201, "replId"))) {
pcall(mark$202, state$237, get(guarded$201, "ends"));
}
} else if ((right$225 === "0")) {
return ;
} else if ((right$225 === "3")) {
if (!isTrue(was$232)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$223)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$240) && (right$225 !== "4"))) {
if ((state$237 === "2")) {
let left$248 = call$1("PTTL", "quorlock:quarantine"), length$249 = tonumber((isTrue($247 = call$1("GET", "quorlock:quarantine")) ? $247 : ""));
if ((isTrue(length$249) && isMore(left$248, length$249))) {
call$1("PEXPIRE", "quorlock:quarantine", length$249);
left$248 = length$249;
}
let isFar$250 = isMore(get(guarded$201, "ends"), (number(now$226) + number(math.max(tonumber(longest$235), left$248))));
if (isTrue(isFar$250)) {
pcall(mark$202, "2", (number(now$226) + number((isTrue($252 = (($251 = (left$248 === (-2))) ? tonumber(longest$235) : $251)) ? $252 : left$248))));
}
if (((left$248 === (-2)) && isAtMost(get(guarded$201, "ends"), now$226))) {
pcall(mark$202, "1", 0);
}
}
} else {
let length$253 = math.max(tonumber((isTrue(longest$235) ? longest$235 : 0)), tonumber(maxTtl$222));
set(guarded$201, "since", exactly$72(math.max((number(tonumber((isTrue(since$233) ? since$233 : 0))) + 1), tonumber(epoch$223))));
$255 = database$227; $256 = (isTrue($254 = (isTrue(isKnown$240) ? longest$235 : isKnown$240)) ? $254 : maxTtl$222); set(guarded$201, "database", $255); set(guarded$201, "longest", $256);
if (((right$225 !== "2") || isTrue(was$232))) {
mark$202("2", (number(now$226) + number(length$253)), length$253);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$223))))) {
mark$202("0", 0);
} else {
set(guarded$201, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$201, "isKnown", true);
}
set(guarded$201, "why", undefined);
}
function bar$257(kind$258, ttl$259, proposal$260) {
if (isTrue(get(guarded$201, "why"))) {
return get(guarded$201, "why");
}
if (((get(guarded$201, "longest") !== get(guarded$201, "wanted")) || isMore(tonumber(ttl$259), tonumber(get(guarded$201, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$201, "longest")) + " ms here"));
}
if (((proposal$260 === "") && ((kind$258 === "e") || (kind$258 === "p")))) {
return undefined;
}
if ((get(guarded$201, "state") === "2")) {
let left$261 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$201, "ends")) - number(get(guarded$201, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$72(left$261)) + " ms more"));
}
if (((proposal$260 !== "") && (get(guarded$201, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$201, "since")));
}
}
function inQuarantine$262() {
let $263;
return (isTrue(guarded$201) ? (isTrue($263 = get(guarded$201, "why")) ? $263 : (get(guarded$201, "state") === "2")) : guarded$201);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $5, $7, $22, $68;
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




ownerFor$53 = ownerOf$24;

keyFor$56 = lockOf$54;



toEnter$65 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$66 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$67 = false;
mayAsk$69 = (isTrue($68 = redis.replicate_commands) ? $68 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$70 = 86400000, pastTtl$71 = 43200000;








isSeeded$124 = true;
sweeps$125 = 8, swept$126 = 128, unswept$127 = 4096;
skips$128 = 256;




guarded$201 = undefined;




isKnown$264 = one(pcall(watch$213, get(ARGV, 1)));
if ((!isTrue(isKnown$264) || isTrue(inQuarantine$262()))) {
return release$45(1, length(KEYS), 2, length(ARGV));
}
isSeeded$124 = (!isTrue(guarded$201) || (get(guarded$201, "state") !== "1"));
return leave$182(1, length(KEYS), 2, length(ARGV));
}};
})(),
  "5d397377ae2eb6f009713d5572eed908ca8c9123": (() => {
let redis, KEYS, ARGV, call$1, ownerFor$69, keyFor$72, toEnter$81, toGive$82, mayShare$83, mayAsk$85, counterTtl$86, pastTtl$87, isSeeded$140, sweeps$141, swept$142, unswept$143, skips$144, guarded$299, replies$377, key$378, arg$379, operation$427;
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
function drop$49(key$50, from$51, to$52) {
let owner$53 = ownerOf$2(key$50);
for (let token$54 = number(from$51), last$55 = number(to$52); token$54 <= last$55; token$54 += 1) {
if (isTrue(isMine$7(owner$53, get(ARGV, token$54)))) {
return call$1("DEL", key$50);
}
}
return 0;
}
function release$56(first$57, last$58, from$59, to$60) {
let released$61 = 0;
for (let index$62 = number(first$57), last$63 = number(last$58); index$62 <= last$63; index$62 += 1) {
released$61 = (number(released$61) + number(drop$49(get(KEYS, index$62), from$59, to$60)));
}
return released$61;
}
function queueOf$64(key$65) {
let $66, $68;
let isTagged$67 = (isTrue($66 = one(string.find(key$65, "{", 1, true))) ? one(string.find(key$65, "^[^{]*{[^}]+}")) : $66);
return (isTrue($68 = (isTrue(isTagged$67) ? ("quorlock:queue:tagged:" + text(key$65)) : isTagged$67)) ? $68 : ("quorlock:queue:{" + (text(key$65) + "}")));
}
function lockOf$70(key$71) {
return key$71;
}
function leftOf$73(key$74) {
return call$1("PTTL", key$74);
}
function set$75(key$76, token$77, ms$78) {
call$1("SET", key$76, token$77, "PX", ms$78);
}
function finish$79(key$80) {
return call$1("DEL", key$80);
}
function exactly$88(number$89) {
return string.format("%.0f", number$89);
}
function counterOf$90(locks$91) {
let $93, $98;
let past$92 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$92)) {
past$92 = (isTrue($93 = call$1("GET", "quorlock:floor")) ? $93 : "0");
call$1("SET", "quorlock:floor:past", past$92, "PX", pastTtl$87);
}
let largest$94 = tonumber(past$92);
for (let _$95 = 1, table$97 = locks$91, lock$96; (lock$96 = get(table$97, _$95)) !== undefined; _$95 += 1) {
largest$94 = math.max(largest$94, tonumber((isTrue($98 = call$1("GET", ("quorlock:fence:" + text(lock$96)))) ? $98 : 0)));
}
return largest$94;
}
function raise$99(locks$100, counter$101) {
let $105;
for (let _$102 = 1, table$104 = locks$100, lock$103; (lock$103 = get(table$104, _$102)) !== undefined; _$102 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$103)), exactly$88(counter$101), "PX", counterTtl$86);
}
if (isAtLeast(counter$101, tonumber((isTrue($105 = call$1("GET", "quorlock:floor")) ? $105 : 0)))) {
call$1("SET", "quorlock:floor", exactly$88((number(counter$101) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$87)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$106(locks$107, granted$108, proposal$109, next$110) {
let counter$111 = counterOf$90(locks$107);
raise$99(locks$107, math.max(counter$111, tonumber(proposal$109)));
return new Table([(-1), granted$108, exactly$88(counter$111), next$110]);
}
function demand$112(key$113, commands$114) {
let $116;
let check$115 = redis.acl_check_cmd;
for (let [command$117] of matches((isTrue($116 = (isTrue(check$115) ? commands$114 : check$115)) ? $116 : ""), "%u+")) {
if (!isTrue(check$115(command$117, key$113))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$117)) + "' command"))));
}
}
}
function forget$118(queue$119, waiter$120) {
if ((call$1("ZREM", queue$119, waiter$120) === 1)) {
call$1("DEL", (text(queue$119) + (":" + text(string.sub(waiter$120, 1, 20)))));
}
}
function reserve$121(key$122, token$123, lives$124, ttl$125) {
set$75(key$122, token$123, math.max(1, math.min(lives$124, tonumber(ttl$125))));
}
function grant$126(key$127, queue$128, waiter$129, token$130, ttl$131, inbox$132, proposal$133) {
let $134, $136, $138;
let next$135 = (isTrue($134 = get(call$1("ZRANGE", queue$128, 1, 1, "WITHSCORES"), 2)) ? $134 : "-");
let counter$137 = (($136 = (proposal$133 !== "")) ? counterOf$90(new Table([lockOf$70(key$127)])) : $136);
set$75(key$127, token$130, ttl$131);
if (isTrue(counter$137)) {
raise$99(new Table([lockOf$70(key$127)]), math.max(counter$137, tonumber(proposal$133)));
}
let told$139 = redis.pcall("PUBLISH", inbox$132, (text(token$130) + (" " + (text((isTrue($138 = (isTrue(counter$137) ? exactly$88(counter$137) : counter$137)) ? $138 : "-")) + (" " + text(next$135))))));
if ((type(told$139) === "number")) {
forget$118(queue$128, waiter$129);
} else {
reserve$121(key$127, token$130, call$1("PTTL", (text(queue$128) + (":" + text(string.sub(waiter$129, 1, 20))))), ttl$131);
}
return told$139;
}
function sweep$145(queue$146, from$147, to$148, asking$149) {
let $150, $151, $167, $168;
let waiters$152 = (isTrue($151 = (($150 = isMore(unswept$143, 0)) ? call$1("ZRANGE", queue$146, from$147, to$148) : $150)) ? $151 : new Table([])), names$153 = new Table([]), dead$154 = new Table([]);
if ((length(waiters$152) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$143 = (number(unswept$143) - length(waiters$152));
for (let index$155 = 1, table$157 = waiters$152, waiter$156; (waiter$156 = get(table$157, index$155)) !== undefined; index$155 += 1) {
set(names$153, index$155, (text(queue$146) + (":" + text(string.sub(waiter$156, 1, 20)))));
}
let entries$158 = redis.pcall("MGET", ...all(unpack(names$153))), head$159 = undefined, entry$160 = undefined;
if (isTrue(get(entries$158, "err"))) {
for (let index$161 = 1, table$163 = names$153, name$162; (name$162 = get(table$163, index$161)) !== undefined; index$161 += 1) {
set(entries$158, index$161, call$1("GET", name$162));
}
}
for (let index$164 = 1, table$166 = waiters$152, waiter$165; (waiter$165 = get(table$166, index$164)) !== undefined; index$164 += 1) {
if ((!isTrue(get(entries$158, index$164)) && (waiter$165 !== asking$149))) {
set(dead$154, (length(dead$154) + 1), waiter$165);
} else if (!isTrue(head$159)) {
$167 = waiter$165; $168 = get(entries$158, index$164); head$159 = $167; entry$160 = $168;
}
}
if ((length(dead$154) > 0)) {
call$1("ZREM", queue$146, ...all(unpack(dead$154)));
}
return new Several([head$159, entry$160, length(waiters$152)]);
}
function headOf$169(queue$170, asking$171) {
let $176;
let first$172 = get(call$1("ZRANGE", queue$170, 0, 0), 1);
if ((!isTrue(first$172) || (first$172 === asking$171))) {
return first$172;
}
let entry$173 = call$1("GET", (text(queue$170) + (":" + text(string.sub(first$172, 1, 20)))));
if (isTrue(entry$173)) {
return new Several([first$172, entry$173]);
}
for (let _$174 = 1, last$175 = number(sweeps$141); _$174 <= last$175; _$174 += 1) {
let waiter$177 = ($176 = all(sweep$145(queue$170, 0, (number(swept$142) - 1), asking$171)))[0], found$178 = $176[1], count$179 = $176[2];
if ((isTrue(waiter$177) || isLess(count$179, swept$142))) {
return new Several([waiter$177, found$178]);
}
}
}
function give$180(key$181, ending$182) {
let $184, $187, $195;
if (isTrue(ending$182)) {
finish$79(key$181, ending$182);
}
let queue$183 = queueOf$64(key$181);
while (isMore(skips$144, 0)) {
let waiter$185 = ($184 = all(headOf$169(queue$183)))[0], entry$186 = $184[1];
if (!isTrue(waiter$185)) {
return ;
}
let round$188 = ($187 = all(string.match(entry$186, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$189 = $187[1], inbox$190 = $187[2], proposal$191 = $187[3], how$192 = $187[4];
let token$193 = (text(waiter$185) + ("." + text((isTrue(round$188) ? round$188 : "")))), isTold$194 = (isTrue(round$188) ? (inbox$190 !== "-") : round$188);
let counts$196 = (isTrue($195 = (isTrue(isTold$194) ? mayAsk$85 : isTold$194)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$190) : $195);
key$181 = one(keyFor$72(key$181, how$192));
if ((!isTrue(round$188) || ((isTrue(counts$196) && !isTrue(get(counts$196, "err"))) && (get(counts$196, 2) === 0)))) {
forget$118(queue$183, waiter$185);
} else if ((isTrue(mayShare$83) && isTrue(one(ownerFor$69(key$181, token$193))))) {
return ;
} else if (((isTrue(isTold$194) && ((how$192 === "g") || (how$192 === "r"))) && (isTrue(isSeeded$140) || (proposal$191 === "")))) {
let told$197 = grant$126(key$181, queue$183, waiter$185, token$193, ttl$189, inbox$190, proposal$191);
if (((told$197 !== 0) && (how$192 === "g"))) {
return ;
}
if ((told$197 === 0)) {
finish$79(key$181, token$193);
}
} else {
reserve$121(key$181, token$193, call$1("PTTL", (text(queue$183) + (":" + text(string.sub(waiter$185, 1, 20))))), ttl$189);
if ((isTrue(isTold$194) && (how$192 === "w"))) {
redis.pcall("PUBLISH", inbox$190, ("wake " + text(token$193)));
}
return ;
}
skips$144 = (number(skips$144) - 1);
}
}
function releaseUnwaited$198(first$199, last$200, token$201) {
for (let index$202 = number(first$199), last$203 = number(last$200); index$202 <= last$203; index$202 += 1) {
if (((redis.pcall("GET", get(KEYS, index$202)) !== token$201) || isMore(call$1("EXISTS", queueOf$64(get(KEYS, index$202))), 0))) {
return undefined;
}
}
let given$204 = 0;
for (let index$205 = number(first$199), last$206 = number(last$200); index$205 <= last$206; index$205 += 1) {
given$204 = (number(given$204) + number(call$1("DEL", get(KEYS, index$205))));
}
return given$204;
}
function releaseAllUnwaited$207(first$208, last$209, from$210) {
let $221, $222;
let owners$211 = call$1("MGET", ...all(unpack(KEYS, first$208, last$209))), queues$212 = new Table([]);
for (let place$213 = 1, last$214 = ((number(last$209) - number(first$208)) + 1); place$213 <= last$214; place$213 += 1) {
if ((get(owners$211, place$213) !== get(ARGV, ((number(from$210) + place$213) - 1)))) {
return undefined;
}
set(queues$212, place$213, queueOf$64(get(KEYS, ((number(first$208) + place$213) - 1))));
}
if (isMore(call$1("EXISTS", ...all(unpack(queues$212))), 0)) {
return undefined;
}
let gone$215 = call$1("DEL", ...all(unpack(KEYS, first$208, last$209)));
if ((gone$215 === length(queues$212))) {
return gone$215;
}
let each$216 = new Table([]), seen$217 = new Table([]);
for (let place$218 = 1, last$219 = length(queues$212); place$218 <= last$219; place$218 += 1) {
let key$220 = get(KEYS, ((number(first$208) + place$218) - 1));
set(each$216, place$218, (isTrue($222 = (isTrue($221 = get(seen$217, key$220)) ? 0 : $221)) ? $222 : 1));
set(seen$217, key$220, true);
}
return each$216;
}
function failure$223(reason$224) {
let $225, $226;
return new Table([0, (isTrue($226 = (($225 = (type(reason$224) === "table")) ? get(reason$224, "err") : $225)) ? $226 : tostring(reason$224))]);
}
function enqueue$227(first$228, last$229, token$230, ttl$231, ticket$232, entryTtl$233, proposal$234, inbox$235, alone$236) {
let $237, $253, $255, $267, $270, $271, $272, $273, $275, $276;
let waiter$238 = ($237 = all(string.match(token$230, "^(.+)%.(%d+)$")))[0], round$239 = $237[1];
let queues$240 = new Table([]), isTaken$241 = new Table([]), blocked$242 = undefined, isHeld$243 = false;
function claimOnly$244(create$245) {
let next$246 = undefined;
for (let index$247 = number(first$228), last$248 = number(last$229); index$247 <= last$248; index$247 += 1) {
forget$118(get(queues$240, index$247), waiter$238);
let ticket$249 = get(call$1("ZRANGE", get(queues$240, index$247), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$249) && (!isTrue(next$246) || isLess(tonumber(ticket$249), tonumber(next$246))))) {
next$246 = ticket$249;
}
}
return new Several([claim$22(first$228, last$229, token$230, ttl$231, create$245), next$246]);
}
for (let index$250 = number(first$228), last$251 = number(last$229); index$250 <= last$251; index$250 += 1) {
let owner$252 = one(ownerFor$69(get(KEYS, index$250), token$230));
isHeld$243 = (isTrue(isHeld$243) ? isHeld$243 : (owner$252 === token$230));
set(queues$240, index$250, queueOf$64(get(KEYS, index$250)));
set(isTaken$241, index$250, (isTrue($253 = (isTrue(owner$252) ? !isTrue(isMine$7(owner$252, token$230)) : owner$252)) ? owner$252 : $253));
if (isTrue(get(isTaken$241, index$250))) {
blocked$242 = (isTrue(blocked$242) ? blocked$242 : index$250);
}
}
if (isTrue(isHeld$243)) {
return claimOnly$244(false);
}
let waited$254 = 0;
for (let index$256 = number(first$228), last$257 = number((isTrue($255 = (isTrue(blocked$242) ? (number(first$228) - 1) : blocked$242)) ? $255 : last$229)); index$256 <= last$257; index$256 += 1) {
waited$254 = (number(waited$254) + number(call$1("EXISTS", get(queues$240, index$256))));
}
if ((!isTrue(blocked$242) && (waited$254 === 0))) {
return claim$22(first$228, last$229, token$230, ttl$231, true);
}
demand$112(get(KEYS, first$228), toEnter$81);
let place$258 = (":" + text(string.sub(waiter$238, 1, 20)));
let entry$259 = (text(round$239) + (" " + (text(ttl$231) + (" " + (text(inbox$235) + (" " + (text(proposal$234) + " ")))))));
let isFirst$260 = new Table([]), waitsFor$261 = undefined;
for (let index$262 = number(first$228), last$263 = number(last$229); index$262 <= last$263; index$262 += 1) {
let queue$264 = get(queues$240, index$262);
call$1("ZADD", queue$264, ticket$232, waiter$238);
if (isLess(call$1("PTTL", queue$264), tonumber(entryTtl$233))) {
call$1("PEXPIRE", queue$264, (2 * number(entryTtl$233)));
}
if (((round$239 === "1") && (string.sub(ticket$232, (-1)) === "0"))) {
sweep$145(queue$264, 1, 80, waiter$238);
}
set(isFirst$260, index$262, (!isTrue(get(isTaken$241, index$262)) && (one(headOf$169(queue$264, waiter$238)) === waiter$238)));
if ((!isTrue(get(isTaken$241, index$262)) && !isTrue(get(isFirst$260, index$262)))) {
waitsFor$261 = (isTrue(waitsFor$261) ? waitsFor$261 : index$262);
}
}
let inTheWay$265 = (isTrue(blocked$242) ? blocked$242 : waitsFor$261), refusal$266 = undefined;
for (let index$268 = number(first$228), last$269 = number((isTrue($267 = (isTrue(inTheWay$265) ? last$229 : inTheWay$265)) ? $267 : (number(first$228) - 1))); index$268 <= last$269; index$268 += 1) {
let how$274 = (isTrue($273 = (isTrue($272 = (($270 = (first$228 === last$229)) ? alone$236 : $270)) ? $272 : (($271 = (index$268 === inTheWay$265)) ? "w" : $271))) ? $273 : "s");
call$1("SET", (text(get(queues$240, index$268)) + text(place$258)), (text(entry$259) + text(how$274)), "PX", entryTtl$233);
if (isTrue(get(isFirst$260, index$268))) {
reserve$121(get(KEYS, index$268), token$230, tonumber(entryTtl$233), ttl$231);
} else {
if (!isTrue(get(isTaken$241, index$268))) {
give$180(get(KEYS, index$268), token$230);
}
let owner$277 = (($276 = !isTrue(refusal$266)) ? (isTrue($275 = get(isTaken$241, index$268)) ? $275 : one(ownerFor$69(get(KEYS, index$268), token$230))) : $276);
if ((!isTrue(refusal$266) && !isTrue(isMine$7(owner$277, token$230)))) {
let latest$278 = get(call$1("ZRANGE", get(queues$240, index$268), (-1), (-1), "WITHSCORES"), 2);
let inWay$279 = (isTrue(owner$277) ? owner$277 : one(ownerFor$69(lockOf$70(get(KEYS, index$268)), token$230)));
refusal$266 = new Table([((index$268 - number(first$228)) + 1), masked$16(inWay$279), leftOf$73(get(KEYS, index$268)), latest$278]);
}
}
}
if (isTrue(refusal$266)) {
return refusal$266;
}
return claimOnly$244(true);
}
function leave$280(first$281, last$282, from$283, to$284) {
let $290;
demand$112(get(KEYS, first$281), toGive$82);
for (let index$285 = number(first$281), last$286 = number(last$282); index$285 <= last$286; index$285 += 1) {
let queue$287 = queueOf$64(get(KEYS, index$285));
for (let token$288 = number(from$283), last$289 = number(to$284); token$288 <= last$289; token$288 += 1) {
let waiter$291 = ($290 = all(string.match(get(ARGV, token$288), "^(.+)%.(%d+)$")))[0], round$292 = $290[1];
let entry$293 = (isTrue(waiter$291) ? call$1("GET", (text(queue$287) + (":" + text(string.sub(waiter$291, 1, 20))))) : waiter$291);
let entered$294 = (isTrue(entry$293) ? tonumber(...all(string.match(entry$293, "^%d+"))) : entry$293);
if ((isTrue(entered$294) && isAtMost(entered$294, tonumber(round$292)))) {
forget$118(queue$287, waiter$291);
}
}
}
let released$295 = 0;
for (let index$296 = number(first$281), last$297 = number(last$282); index$296 <= last$297; index$296 += 1) {
let dropped$298 = drop$49(get(KEYS, index$296), from$283, to$284);
released$295 = (number(released$295) + number(dropped$298));
if (((dropped$298 === 1) || isTrue(mayShare$83))) {
give$180(get(KEYS, index$296));
}
}
return released$295;
}
function mark$300(state$301, ends$302, length$303) {
let $306, $309, $310;
if (isTrue(length$303)) {
call$1("SET", "quorlock:quarantine", exactly$88(length$303), "PX", exactly$88(length$303));
}
let words$304 = new Table([get(guarded$299, "replId"), get(guarded$299, "since"), exactly$88(ends$302), get(guarded$299, "longest"), get(guarded$299, "database"), state$301]);
call$1("SET", "quorlock:guard", table.concat(words$304, " "));
function keepInMemory$305() {
call$1("SET", "quorlock:guard:memory", get(guarded$299, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$299, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$307 = ($306 = all(pcall(keepInMemory$305)))[0], why$308 = $306[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$307)) {
error(why$308, 0);
}
$309 = state$301; $310 = ends$302; set(guarded$299, "state", $309); set(guarded$299, "ends", $310);
}
function watch$311(terms$312) {
let $319, $328, $329, $336, $337, $339, $340, $341, $342, $343, $344, $345, $349, $350, $352, $353, $354;
function isMemoryOf$313(was$314, since$315, durable$316, info$317) {
let isSame$318 = (was$314 === get(guarded$299, "replId"));
if ((!isTrue(isSame$318) && !isTrue(one(string.find(info$317, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$316 === "1") && !isTrue(isSame$318))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$315) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$299 = undefined;
let maxTtl$320 = ($319 = all(string.match(terms$312, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$321 = $319[1], durable$322 = $319[2], right$323 = $319[3], now$324 = $319[4], database$325 = $319[5], after$326 = $319[6];
if (!isTrue(maxTtl$320)) {
return ;
}
now$324 = tonumber(now$324);
guarded$299 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$320).set("now", now$324);
let info$327 = call$1("INFO", "replication");
set(guarded$299, "replId", one(string.match(info$327, "master_replid:(%S+)")));
if (!isTrue(get(guarded$299, "replId"))) {
set(guarded$299, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$327, "role:master", 1, true)))) {
set(guarded$299, "why", "READONLY it is a replica");
return ;
}
let was$330 = ($328 = all(string.match((isTrue($329 = call$1("GET", "quorlock:guard")) ? $329 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$331 = $328[1], ends$332 = $328[2], longest$333 = $328[3], place$334 = $328[4], state$335 = $328[5];
let isKnown$338 = (isTrue($337 = (isTrue($336 = (isTrue(was$330) ? (place$334 === database$325) : was$330)) ? isAtLeast(tonumber(since$331), tonumber(after$326)) : $336)) ? isMemoryOf$313(was$330, since$331, durable$322, info$327) : $337);
if (isTrue(isKnown$338)) {
$339 = since$331; $340 = longest$333; $341 = place$334; set(guarded$299, "since", $339); set(guarded$299, "longest", $340); set(guarded$299, "database", $341);
$342 = state$335; $343 = tonumber(ends$332); $344 = true; set(guarded$299, "state", $342); set(guarded$299, "ends", $343); set(guarded$299, "isKnown", $344);
if ((was$330 !== get(guarded$299, "replId"))) {
pcall(mark$300, state$335, get(guarded$299, "ends"));
}
} else if ((right$323 === "0")) {
return ;
} else if ((right$323 === "3")) {
if (!isTrue(was$330)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$321)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$338) && (right$323 !== "4"))) {
if ((state$335 === "2")) {
let left$346 = call$1("PTTL", "quorlock:quarantine"), length$347 = tonumber((isTrue($345 = call$1("GET", "quorlock:quarantine")) ? $345 : ""));
if ((isTrue(length$347) && isMore(left$346, length$347))) {
call$1("PEXPIRE", "quorlock:quarantine", length$347);
left$346 = length$347;
}
let isFar$348 = isMore(get(guarded$299, "ends"), (number(now$324) + number(math.max(tonumber(longest$333), left$346))));
if (isTrue(isFar$348)) {
pcall(mark$300, "2", (number(now$324) + number((isTrue($350 = (($349 = (left$346 === (-2))) ? tonumber(longest$333) : $349)) ? $350 : left$346))));
}
if (((left$346 === (-2)) && isAtMost(get(guarded$299, "ends"), now$324))) {
pcall(mark$300, "1", 0);
}
}
} else {
let length$351 = math.max(tonumber((isTrue(longest$333) ? longest$333 : 0)), tonumber(maxTtl$320));
set(guarded$299, "since", exactly$88(math.max((number(tonumber((isTrue(since$331) ? since$331 : 0))) + 1), tonumber(epoch$321))));
$353 = database$325; $354 = (isTrue($352 = (isTrue(isKnown$338) ? longest$333 : isKnown$338)) ? $352 : maxTtl$320); set(guarded$299, "database", $353); set(guarded$299, "longest", $354);
if (((right$323 !== "2") || isTrue(was$330))) {
mark$300("2", (number(now$324) + number(length$351)), length$351);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$321))))) {
mark$300("0", 0);
} else {
set(guarded$299, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$299, "isKnown", true);
}
set(guarded$299, "why", undefined);
}
function bar$355(kind$356, ttl$357, proposal$358) {
if (isTrue(get(guarded$299, "why"))) {
return get(guarded$299, "why");
}
if (((get(guarded$299, "longest") !== get(guarded$299, "wanted")) || isMore(tonumber(ttl$357), tonumber(get(guarded$299, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$299, "longest")) + " ms here"));
}
if (((proposal$358 === "") && ((kind$356 === "e") || (kind$356 === "p")))) {
return undefined;
}
if ((get(guarded$299, "state") === "2")) {
let left$359 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$299, "ends")) - number(get(guarded$299, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$88(left$359)) + " ms more"));
}
if (((proposal$358 !== "") && (get(guarded$299, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$299, "since")));
}
}
function inQuarantine$360() {
let $361;
return (isTrue(guarded$299) ? (isTrue($361 = get(guarded$299, "why")) ? $361 : (get(guarded$299, "state") === "2")) : guarded$299);
}
function guardState$362() {
let $363, $364, $371, $372;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$365 = ($363 = all(string.match((isTrue($364 = call$1("GET", "quorlock:guard")) ? $364 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$366 = $363[1], longest$367 = $363[2], state$368 = $363[3];
let left$369 = call$1("PTTL", "quorlock:quarantine"), floor$370 = call$1("GET", "quorlock:floor");
let isKnown$373 = (isTrue($372 = (isTrue($371 = (isTrue(guarded$299) ? get(guarded$299, "isKnown") : guarded$299)) ? 1 : $371)) ? $372 : 0);
return new Table([tonumber((isTrue(longest$367) ? longest$367 : 0)), left$369, (isTrue(since$365) ? since$365 : "0"), tonumber((isTrue(state$368) ? state$368 : 2)), (isTrue(floor$370) ? floor$370 : "0"), isKnown$373]);
}
function restoreCounters$374(epoch$375, floor$376) {
if ((((!isTrue(guarded$299) || isTrue(get(guarded$299, "why"))) || (get(guarded$299, "state") !== "1")) || (get(guarded$299, "since") !== epoch$375))) {
return 0;
}
raise$99(new Table([]), math.max(counterOf$90(new Table([])), tonumber(floor$376)));
call$1("SET", "quorlock:floor:past", floor$376, "PX", pastTtl$87);
mark$300("0", 0);
return 1;
}
function claimed$380(kind$381, last$382, number$383, ticket$384, entryTtl$385, proposal$386) {
let token$387 = get(ARGV, arg$379);
if ((((kind$381 === "v") && (key$378 === last$382)) && isTrue(call$1("SET", get(KEYS, key$378), token$387, "NX", "PX", number$383)))) {
return tonumber(number$383);
}
if ((kind$381 === "q")) {
return enqueue$227(key$378, last$382, token$387, number$383, ticket$384, entryTtl$385, proposal$386, get(ARGV, (number(arg$379) + 1)), "g");
}
return claim$22(key$378, last$382, token$387, number$383, (kind$381 !== "e"));
}
function inBulk$388(kind$389, count$390, number$391, proposal$392) {
let $396, $397, $398, $403, $404, $405;
let done$393 = 0, each$394 = new Table([]), reply$395 = 1;
if ((((kind$389 === "v") && (proposal$392 === "")) && !isTrue(guarded$299))) {
$396 = voteAll$41(key$378, arg$379, count$390, number$391); $397 = tonumber(number$391); done$393 = $396; reply$395 = $397;
} else if (((kind$389 === "l") && (number$391 === "1"))) {
let isDone$399 = ($398 = all(pcall(releaseAllUnwaited$207, key$378, ((number(key$378) + number(count$390)) - 1), arg$379)))[0], gone$400 = $398[1];
if ((isTrue(isDone$399) && isTrue(gone$400))) {
done$393 = count$390;
}
if ((isTrue(isDone$399) && (type(gone$400) === "table"))) {
each$394 = gone$400;
}
}
for (let place$401 = 1, last$402 = number(done$393); place$401 <= last$402; place$401 += 1) {
set(replies$377, (length(replies$377) + 1), (isTrue($403 = get(each$394, place$401)) ? $403 : reply$395));
}
$404 = (number(key$378) + number(done$393)); $405 = (number(arg$379) + number(done$393)); key$378 = $404; arg$379 = $405;
return done$393;
}
function run$406(kind$407, last$408, number$409, ticket$410, entryTtl$411, proposal$412) {
let $415, $418, $419, $420, $426;
if ((kind$407 === "g")) {
watch$311(get(ARGV, arg$379));
isSeeded$140 = (!isTrue(guarded$299) || (get(guarded$299, "state") !== "1"));
return ;
}
if ((kind$407 === "h")) {
return guardState$362();
}
if ((kind$407 === "f")) {
let seeded$413 = restoreCounters$374(number$409, ticket$410);
isSeeded$140 = (isTrue(isSeeded$140) ? isSeeded$140 : (seeded$413 === 1));
return seeded$413;
}
if ((kind$407 === "c")) {
return call$1("TIME");
}
if (((kind$407 === "r") || ((kind$407 === "l") && isTrue(inQuarantine$360())))) {
return release$56(key$378, last$408, arg$379, ((number(arg$379) + number(tonumber(number$409))) - 1));
}
if ((kind$407 === "l")) {
let lastToken$414 = ((number(arg$379) + number(tonumber(number$409))) - 1);
return (isTrue($415 = releaseUnwaited$198(key$378, last$408, get(ARGV, lastToken$414))) ? $415 : leave$280(key$378, last$408, arg$379, lastToken$414));
}
if ((kind$407 === "i")) {
return new Table([masked$16(call$1("GET", get(KEYS, key$378))), call$1("PTTL", get(KEYS, key$378)), call$1("ZCARD", queueOf$64(get(KEYS, key$378)))]);
}
if (((proposal$412 !== "") && isAtLeast(tonumber(proposal$412), (((2) ** 53) - ((2) ** 20))))) {
error("ERR the fencing token is too large", 0);
}
let why$416 = (isTrue(guarded$299) ? bar$355(kind$407, number$409, proposal$412) : guarded$299);
if (isTrue(why$416)) {
error(why$416, 0);
}
if ((kind$407 === "u")) {
let owner$417 = ownerOf$2(get(KEYS, last$408));
if (isTrue(owner$417)) {
return new Table([((number(last$408) - number(key$378)) + 1), masked$16(owner$417), call$1("PTTL", get(KEYS, last$408))]);
}
$418 = "v"; $419 = (number(last$408) - 1); kind$407 = $418; last$408 = $419;
}
let reply$421 = ($420 = all(claimed$380(kind$407, last$408, number$409, ticket$410, entryTtl$411, proposal$412)))[0], next$422 = $420[1];
if ((type(reply$421) !== "number")) {
return reply$421;
}
if ((isTrue(guarded$299) && isTrue(inQuarantine$360()))) {
return new Table([(-2), reply$421]);
}
if ((proposal$412 !== "")) {
let locks$423 = new Table([]);
for (let index$424 = number(key$378), last$425 = number(last$408); index$424 <= last$425; index$424 += 1) {
set(locks$423, ((index$424 - number(key$378)) + 1), lockOf$70(get(KEYS, index$424)));
}
return fenced$106(locks$423, reply$421, proposal$412, next$422);
}
return (isTrue($426 = (isTrue(next$422) ? new Table([(-3), reply$421, next$422]) : next$422)) ? $426 : reply$421);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $84, $437, $442, $445, $446;
call$1 = redis.call;








ownerFor$69 = ownerOf$2;

keyFor$72 = lockOf$70;



toEnter$81 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$82 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$83 = false;
mayAsk$85 = (isTrue($84 = redis.replicate_commands) ? $84 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$86 = 86400000, pastTtl$87 = 43200000;








isSeeded$140 = true;
sweeps$141 = 8, swept$142 = 128, unswept$143 = 4096;
skips$144 = 256;








guarded$299 = undefined;






replies$377 = new Table([]), key$378 = 1, arg$379 = 2;



operation$427 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$428, kind$429, keys$430, number$431, ticket$432, entryTtl$433, proposal$434] of matches(get(ARGV, 1), operation$427)) {
let keyCount$435 = tonumber(keys$430), argCount$436 = 0;
if (((kind$429 === "r") || (kind$429 === "l"))) {
argCount$436 = tonumber(number$431);
} else if ((kind$429 === "q")) {
argCount$436 = 2;
} else if (((((((kind$429 === "v") || (kind$429 === "u")) || (kind$429 === "p")) || (kind$429 === "e")) || (kind$429 === "g")) || (kind$429 === "m"))) {
argCount$436 = 1;
}
let count$438 = (isTrue($437 = tonumber(times$428)) ? $437 : 1);
if ((isMore(count$438, 1) && (keys$430 === "1"))) {
count$438 = (number(count$438) - number(inBulk$388(kind$429, count$438, number$431, proposal$434)));
}
for (let _$439 = 1, last$440 = number(count$438); _$439 <= last$440; _$439 += 1) {
let last$441 = ((number(key$378) + number(keyCount$435)) - 1);
let done$443 = ($442 = all(pcall(run$406, kind$429, last$441, number$431, ticket$432, entryTtl$433, proposal$434)))[0], reply$444 = $442[1];
if (!isTrue(done$443)) {
reply$444 = failure$223(reply$444);
}
if ((kind$429 !== "g")) {
set(replies$377, (length(replies$377) + 1), reply$444);
} else if (!isTrue(done$443)) {
guarded$299 = new Table([]).set("why", get(reply$444, 2));
}
$445 = (number(last$441) + 1); $446 = (number(arg$379) + number(argCount$436)); key$378 = $445; arg$379 = $446;
}
}
return replies$377;
}};
})(),
  "659a68fcc7516c89beb05e283c2cb794d15fdc76": (() => {
let redis, KEYS, ARGV, call$1, time$22, now$23, joined$24, claimExclusive$140, needed$157, toEnter$158, toGive$159, mayShare$160, mayAsk$162, counterTtl$163, pastTtl$164, isSeeded$217, sweeps$218, swept$219, unswept$220, skips$221, guarded$351, replies$429, key$430, arg$431, runAny$491, operation$499;
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
let $111;
let writer$108 = lockOf$27(key$106), isDropped$109 = false;
if ((isTrue(isShared$25(key$106)) && isTrue(isMine$7(one(readerOf$47(key$106, token$107)), token$107)))) {
let name$110 = one(nameIn$42(token$107));
isDropped$109 = (call$1("ZREM", key$106, name$110) === 1);
call$1("ZREM", roundsOf$36(key$106), name$110);
}
if (isTrue(isMine$7(ownerOf$2(writer$108), token$107))) {
isDropped$109 = (($111 = (call$1("DEL", writer$108) === 1)) ? $111 : isDropped$109);
}
return isDropped$109;
}
function drop$112(key$113, from$114, to$115) {
let $119, $120;
let isDropped$116 = false;
for (let token$117 = number(from$114), last$118 = number(to$115); token$117 <= last$118; token$117 += 1) {
isDropped$116 = (isTrue($119 = finish$105(key$113, get(ARGV, token$117))) ? $119 : isDropped$116);
}
return (isTrue($120 = (isTrue(isDropped$116) ? 1 : isDropped$116)) ? $120 : 0);
}
function claim$121(first$122, last$123, token$124, ttl$125, create$126) {
let $138;
let least$127 = tonumber(ttl$125);
let owners$128 = new Table([]);
for (let index$129 = number(first$122), last$130 = number(last$123); index$129 <= last$130; index$129 += 1) {
let owner$131 = ownerOf$2(get(KEYS, index$129));
set(owners$128, index$129, owner$131);
if ((!isTrue(isMine$7(owner$131, token$124)) && (isTrue(owner$131) || !isTrue(create$126)))) {
return new Table([((index$129 - number(first$122)) + 1), masked$16(owner$131), call$1("PTTL", get(KEYS, index$129))]);
}
}
let shortest$132 = undefined;
for (let index$133 = number(first$122), last$134 = number(last$123); index$133 <= last$134; index$133 += 1) {
let left$135 = call$1("PTTL", get(KEYS, index$133));
let isOther$136 = ((get(owners$128, index$133) !== token$124) || (left$135 === (-2)));
let isShort$137 = ((left$135 !== (-1)) && isLess(left$135, least$127));
let lives$139 = (isTrue($138 = (isTrue(isShort$137) ? ttl$125 : isShort$137)) ? $138 : left$135);
if (((isTrue(isShort$137) && (left$135 !== (-2))) || (isTrue(isOther$136) && isAtLeast(left$135, 0)))) {
call$1("PEXPIRE", get(KEYS, index$133), lives$139);
}
if ((isTrue(isOther$136) && (left$135 === (-1)))) {
call$1("SET", get(KEYS, index$133), token$124);
} else if (isTrue(isOther$136)) {
call$1("SET", get(KEYS, index$133), token$124, "PX", lives$139);
}
if (isTrue(isShort$137)) {
left$135 = least$127;
}
if (((left$135 !== (-1)) && (!isTrue(shortest$132) || isLess(left$135, shortest$132)))) {
shortest$132 = left$135;
}
}
return (isTrue(shortest$132) ? shortest$132 : (-1));
}
function claim$141(first$142, last$143, token$144, ttl$145, create$146) {
let key$147 = get(KEYS, first$142);
let owner$148 = ownerFor$62(key$147, token$144);
if ((!isTrue(isMine$7(owner$148, token$144)) && (isTrue(owner$148) || !isTrue(create$146)))) {
return new Table([1, masked$16(owner$148), leftOf$70(key$147)]);
}
if (isTrue(isShared$25(key$147))) {
return join$98(key$147, token$144, tonumber(ttl$145));
}
return claimExclusive$140(first$142, last$143, token$144, ttl$145, create$146);
}
function release$149(first$150, last$151, from$152, to$153) {
let released$154 = 0;
for (let index$155 = number(first$150), last$156 = number(last$151); index$155 <= last$156; index$155 += 1) {
released$154 = (number(released$154) + number(drop$112(get(KEYS, index$155), from$152, to$153)));
}
return released$154;
}
function exactly$165(number$166) {
return string.format("%.0f", number$166);
}
function counterOf$167(locks$168) {
let $170, $175;
let past$169 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$169)) {
past$169 = (isTrue($170 = call$1("GET", "quorlock:floor")) ? $170 : "0");
call$1("SET", "quorlock:floor:past", past$169, "PX", pastTtl$164);
}
let largest$171 = tonumber(past$169);
for (let _$172 = 1, table$174 = locks$168, lock$173; (lock$173 = get(table$174, _$172)) !== undefined; _$172 += 1) {
largest$171 = math.max(largest$171, tonumber((isTrue($175 = call$1("GET", ("quorlock:fence:" + text(lock$173)))) ? $175 : 0)));
}
return largest$171;
}
function raise$176(locks$177, counter$178) {
let $182;
for (let _$179 = 1, table$181 = locks$177, lock$180; (lock$180 = get(table$181, _$179)) !== undefined; _$179 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$180)), exactly$165(counter$178), "PX", counterTtl$163);
}
if (isAtLeast(counter$178, tonumber((isTrue($182 = call$1("GET", "quorlock:floor")) ? $182 : 0)))) {
call$1("SET", "quorlock:floor", exactly$165((number(counter$178) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$164)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$183(locks$184, granted$185, proposal$186, next$187) {
let counter$188 = counterOf$167(locks$184);
raise$176(locks$184, math.max(counter$188, tonumber(proposal$186)));
return new Table([(-1), granted$185, exactly$165(counter$188), next$187]);
}
function demand$189(key$190, commands$191) {
let $193;
let check$192 = redis.acl_check_cmd;
for (let [command$194] of matches((isTrue($193 = (isTrue(check$192) ? commands$191 : check$192)) ? $193 : ""), "%u+")) {
if (!isTrue(check$192(command$194, key$190))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$194)) + "' command"))));
}
}
}
function forget$195(queue$196, waiter$197) {
if ((call$1("ZREM", queue$196, waiter$197) === 1)) {
call$1("DEL", (text(queue$196) + (":" + text(string.sub(waiter$197, 1, 20)))));
}
}
function reserve$198(key$199, token$200, lives$201, ttl$202) {
set$94(key$199, token$200, math.max(1, math.min(lives$201, tonumber(ttl$202))));
}
function grant$203(key$204, queue$205, waiter$206, token$207, ttl$208, inbox$209, proposal$210) {
let $211, $213, $215;
let next$212 = (isTrue($211 = get(call$1("ZRANGE", queue$205, 1, 1, "WITHSCORES"), 2)) ? $211 : "-");
let counter$214 = (($213 = (proposal$210 !== "")) ? counterOf$167(new Table([lockOf$27(key$204)])) : $213);
set$94(key$204, token$207, ttl$208);
if (isTrue(counter$214)) {
raise$176(new Table([lockOf$27(key$204)]), math.max(counter$214, tonumber(proposal$210)));
}
let told$216 = redis.pcall("PUBLISH", inbox$209, (text(token$207) + (" " + (text((isTrue($215 = (isTrue(counter$214) ? exactly$165(counter$214) : counter$214)) ? $215 : "-")) + (" " + text(next$212))))));
if ((type(told$216) === "number")) {
forget$195(queue$205, waiter$206);
} else {
reserve$198(key$204, token$207, call$1("PTTL", (text(queue$205) + (":" + text(string.sub(waiter$206, 1, 20))))), ttl$208);
}
return told$216;
}
function sweep$222(queue$223, from$224, to$225, asking$226) {
let $227, $228, $244, $245;
let waiters$229 = (isTrue($228 = (($227 = isMore(unswept$220, 0)) ? call$1("ZRANGE", queue$223, from$224, to$225) : $227)) ? $228 : new Table([])), names$230 = new Table([]), dead$231 = new Table([]);
if ((length(waiters$229) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$220 = (number(unswept$220) - length(waiters$229));
for (let index$232 = 1, table$234 = waiters$229, waiter$233; (waiter$233 = get(table$234, index$232)) !== undefined; index$232 += 1) {
set(names$230, index$232, (text(queue$223) + (":" + text(string.sub(waiter$233, 1, 20)))));
}
let entries$235 = redis.pcall("MGET", ...all(unpack(names$230))), head$236 = undefined, entry$237 = undefined;
if (isTrue(get(entries$235, "err"))) {
for (let index$238 = 1, table$240 = names$230, name$239; (name$239 = get(table$240, index$238)) !== undefined; index$238 += 1) {
set(entries$235, index$238, call$1("GET", name$239));
}
}
for (let index$241 = 1, table$243 = waiters$229, waiter$242; (waiter$242 = get(table$243, index$241)) !== undefined; index$241 += 1) {
if ((!isTrue(get(entries$235, index$241)) && (waiter$242 !== asking$226))) {
set(dead$231, (length(dead$231) + 1), waiter$242);
} else if (!isTrue(head$236)) {
$244 = waiter$242; $245 = get(entries$235, index$241); head$236 = $244; entry$237 = $245;
}
}
if ((length(dead$231) > 0)) {
call$1("ZREM", queue$223, ...all(unpack(dead$231)));
}
return new Several([head$236, entry$237, length(waiters$229)]);
}
function headOf$246(queue$247, asking$248) {
let $253;
let first$249 = get(call$1("ZRANGE", queue$247, 0, 0), 1);
if ((!isTrue(first$249) || (first$249 === asking$248))) {
return first$249;
}
let entry$250 = call$1("GET", (text(queue$247) + (":" + text(string.sub(first$249, 1, 20)))));
if (isTrue(entry$250)) {
return new Several([first$249, entry$250]);
}
for (let _$251 = 1, last$252 = number(sweeps$218); _$251 <= last$252; _$251 += 1) {
let waiter$254 = ($253 = all(sweep$222(queue$247, 0, (number(swept$219) - 1), asking$248)))[0], found$255 = $253[1], count$256 = $253[2];
if ((isTrue(waiter$254) || isLess(count$256, swept$219))) {
return new Several([waiter$254, found$255]);
}
}
}
function give$257(key$258, ending$259) {
let $261, $264, $272;
if (isTrue(ending$259)) {
finish$105(key$258, ending$259);
}
let queue$260 = queueOf$40(key$258);
while (isMore(skips$221, 0)) {
let waiter$262 = ($261 = all(headOf$246(queue$260)))[0], entry$263 = $261[1];
if (!isTrue(waiter$262)) {
return ;
}
let round$265 = ($264 = all(string.match(entry$263, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$266 = $264[1], inbox$267 = $264[2], proposal$268 = $264[3], how$269 = $264[4];
let token$270 = (text(waiter$262) + ("." + text((isTrue(round$265) ? round$265 : "")))), isTold$271 = (isTrue(round$265) ? (inbox$267 !== "-") : round$265);
let counts$273 = (isTrue($272 = (isTrue(isTold$271) ? mayAsk$162 : isTold$271)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$267) : $272);
key$258 = keyFor$31(key$258, how$269);
if ((!isTrue(round$265) || ((isTrue(counts$273) && !isTrue(get(counts$273, "err"))) && (get(counts$273, 2) === 0)))) {
forget$195(queue$260, waiter$262);
} else if ((isTrue(mayShare$160) && isTrue(ownerFor$62(key$258, token$270)))) {
return ;
} else if (((isTrue(isTold$271) && ((how$269 === "g") || (how$269 === "r"))) && (isTrue(isSeeded$217) || (proposal$268 === "")))) {
let told$274 = grant$203(key$258, queue$260, waiter$262, token$270, ttl$266, inbox$267, proposal$268);
if (((told$274 !== 0) && (how$269 === "g"))) {
return ;
}
if ((told$274 === 0)) {
finish$105(key$258, token$270);
}
} else {
reserve$198(key$258, token$270, call$1("PTTL", (text(queue$260) + (":" + text(string.sub(waiter$262, 1, 20))))), ttl$266);
if ((isTrue(isTold$271) && (how$269 === "w"))) {
redis.pcall("PUBLISH", inbox$267, ("wake " + text(token$270)));
}
return ;
}
skips$221 = (number(skips$221) - 1);
}
}
function failure$275(reason$276) {
let $277, $278;
return new Table([0, (isTrue($278 = (($277 = (type(reason$276) === "table")) ? get(reason$276, "err") : $277)) ? $278 : tostring(reason$276))]);
}
function enqueue$279(first$280, last$281, token$282, ttl$283, ticket$284, entryTtl$285, proposal$286, inbox$287, alone$288) {
let $289, $305, $307, $319, $322, $323, $324, $325, $327, $328;
let waiter$290 = ($289 = all(string.match(token$282, "^(.+)%.(%d+)$")))[0], round$291 = $289[1];
let queues$292 = new Table([]), isTaken$293 = new Table([]), blocked$294 = undefined, isHeld$295 = false;
function claimOnly$296(create$297) {
let next$298 = undefined;
for (let index$299 = number(first$280), last$300 = number(last$281); index$299 <= last$300; index$299 += 1) {
forget$195(get(queues$292, index$299), waiter$290);
let ticket$301 = get(call$1("ZRANGE", get(queues$292, index$299), 0, 0, "WITHSCORES"), 2);
if ((isTrue(ticket$301) && (!isTrue(next$298) || isLess(tonumber(ticket$301), tonumber(next$298))))) {
next$298 = ticket$301;
}
}
return new Several([one(claim$141(first$280, last$281, token$282, ttl$283, create$297)), next$298]);
}
for (let index$302 = number(first$280), last$303 = number(last$281); index$302 <= last$303; index$302 += 1) {
let owner$304 = ownerFor$62(get(KEYS, index$302), token$282);
isHeld$295 = (isTrue(isHeld$295) ? isHeld$295 : (owner$304 === token$282));
set(queues$292, index$302, queueOf$40(get(KEYS, index$302)));
set(isTaken$293, index$302, (isTrue($305 = (isTrue(owner$304) ? !isTrue(isMine$7(owner$304, token$282)) : owner$304)) ? owner$304 : $305));
if (isTrue(get(isTaken$293, index$302))) {
blocked$294 = (isTrue(blocked$294) ? blocked$294 : index$302);
}
}
if (isTrue(isHeld$295)) {
return claimOnly$296(false);
}
let waited$306 = 0;
for (let index$308 = number(first$280), last$309 = number((isTrue($307 = (isTrue(blocked$294) ? (number(first$280) - 1) : blocked$294)) ? $307 : last$281)); index$308 <= last$309; index$308 += 1) {
waited$306 = (number(waited$306) + number(call$1("EXISTS", get(queues$292, index$308))));
}
if ((!isTrue(blocked$294) && (waited$306 === 0))) {
return claim$141(first$280, last$281, token$282, ttl$283, true);
}
demand$189(get(KEYS, first$280), toEnter$158);
let place$310 = (":" + text(string.sub(waiter$290, 1, 20)));
let entry$311 = (text(round$291) + (" " + (text(ttl$283) + (" " + (text(inbox$287) + (" " + (text(proposal$286) + " ")))))));
let isFirst$312 = new Table([]), waitsFor$313 = undefined;
for (let index$314 = number(first$280), last$315 = number(last$281); index$314 <= last$315; index$314 += 1) {
let queue$316 = get(queues$292, index$314);
call$1("ZADD", queue$316, ticket$284, waiter$290);
if (isLess(call$1("PTTL", queue$316), tonumber(entryTtl$285))) {
call$1("PEXPIRE", queue$316, (2 * number(entryTtl$285)));
}
if (((round$291 === "1") && (string.sub(ticket$284, (-1)) === "0"))) {
sweep$222(queue$316, 1, 80, waiter$290);
}
set(isFirst$312, index$314, (!isTrue(get(isTaken$293, index$314)) && (one(headOf$246(queue$316, waiter$290)) === waiter$290)));
if ((!isTrue(get(isTaken$293, index$314)) && !isTrue(get(isFirst$312, index$314)))) {
waitsFor$313 = (isTrue(waitsFor$313) ? waitsFor$313 : index$314);
}
}
let inTheWay$317 = (isTrue(blocked$294) ? blocked$294 : waitsFor$313), refusal$318 = undefined;
for (let index$320 = number(first$280), last$321 = number((isTrue($319 = (isTrue(inTheWay$317) ? last$281 : inTheWay$317)) ? $319 : (number(first$280) - 1))); index$320 <= last$321; index$320 += 1) {
let how$326 = (isTrue($325 = (isTrue($324 = (($322 = (first$280 === last$281)) ? alone$288 : $322)) ? $324 : (($323 = (index$320 === inTheWay$317)) ? "w" : $323))) ? $325 : "s");
call$1("SET", (text(get(queues$292, index$320)) + text(place$310)), (text(entry$311) + text(how$326)), "PX", entryTtl$285);
if (isTrue(get(isFirst$312, index$320))) {
reserve$198(get(KEYS, index$320), token$282, tonumber(entryTtl$285), ttl$283);
} else {
if (!isTrue(get(isTaken$293, index$320))) {
give$257(get(KEYS, index$320), token$282);
}
let owner$329 = (($328 = !isTrue(refusal$318)) ? (isTrue($327 = get(isTaken$293, index$320)) ? $327 : ownerFor$62(get(KEYS, index$320), token$282)) : $328);
if ((!isTrue(refusal$318) && !isTrue(isMine$7(owner$329, token$282)))) {
let latest$330 = get(call$1("ZRANGE", get(queues$292, index$320), (-1), (-1), "WITHSCORES"), 2);
let inWay$331 = (isTrue(owner$329) ? owner$329 : ownerFor$62(lockOf$27(get(KEYS, index$320)), token$282));
refusal$318 = new Table([((index$320 - number(first$280)) + 1), masked$16(inWay$331), leftOf$70(get(KEYS, index$320)), latest$330]);
}
}
}
if (isTrue(refusal$318)) {
return refusal$318;
}
return claimOnly$296(true);
}
function leave$332(first$333, last$334, from$335, to$336) {
let $342;
demand$189(get(KEYS, first$333), toGive$159);
for (let index$337 = number(first$333), last$338 = number(last$334); index$337 <= last$338; index$337 += 1) {
let queue$339 = queueOf$40(get(KEYS, index$337));
for (let token$340 = number(from$335), last$341 = number(to$336); token$340 <= last$341; token$340 += 1) {
let waiter$343 = ($342 = all(string.match(get(ARGV, token$340), "^(.+)%.(%d+)$")))[0], round$344 = $342[1];
let entry$345 = (isTrue(waiter$343) ? call$1("GET", (text(queue$339) + (":" + text(string.sub(waiter$343, 1, 20))))) : waiter$343);
let entered$346 = (isTrue(entry$345) ? tonumber(...all(string.match(entry$345, "^%d+"))) : entry$345);
if ((isTrue(entered$346) && isAtMost(entered$346, tonumber(round$344)))) {
forget$195(queue$339, waiter$343);
}
}
}
let released$347 = 0;
for (let index$348 = number(first$333), last$349 = number(last$334); index$348 <= last$349; index$348 += 1) {
let dropped$350 = drop$112(get(KEYS, index$348), from$335, to$336);
released$347 = (number(released$347) + number(dropped$350));
if (((dropped$350 === 1) || isTrue(mayShare$160))) {
give$257(get(KEYS, index$348));
}
}
return released$347;
}
function mark$352(state$353, ends$354, length$355) {
let $358, $361, $362;
if (isTrue(length$355)) {
call$1("SET", "quorlock:quarantine", exactly$165(length$355), "PX", exactly$165(length$355));
}
let words$356 = new Table([get(guarded$351, "replId"), get(guarded$351, "since"), exactly$165(ends$354), get(guarded$351, "longest"), get(guarded$351, "database"), state$353]);
call$1("SET", "quorlock:guard", table.concat(words$356, " "));
function keepInMemory$357() {
call$1("SET", "quorlock:guard:memory", get(guarded$351, "since"));
call$1("SETRANGE", "quorlock:guard:memory", 0, get(guarded$351, "since"));
}
redis.set_repl(redis.REPL_NONE);
let isKept$359 = ($358 = all(pcall(keepInMemory$357)))[0], why$360 = $358[1];
redis.set_repl(redis.REPL_ALL);
if (!isTrue(isKept$359)) {
error(why$360, 0);
}
$361 = state$353; $362 = ends$354; set(guarded$351, "state", $361); set(guarded$351, "ends", $362);
}
function watch$363(terms$364) {
let $371, $380, $381, $388, $389, $391, $392, $393, $394, $395, $396, $397, $401, $402, $404, $405, $406;
function isMemoryOf$365(was$366, since$367, durable$368, info$369) {
let isSame$370 = (was$366 === get(guarded$351, "replId"));
if ((!isTrue(isSame$370) && !isTrue(one(string.find(info$369, "master_replid2:0+\r"))))) {
return false;
}
if (((durable$368 === "1") && !isTrue(isSame$370))) {
return true;
}
return ((call$1("GET", "quorlock:guard:memory") === since$367) && (call$1("OBJECT", "ENCODING", "quorlock:guard:memory") === "raw"));
}
guarded$351 = undefined;
let maxTtl$372 = ($371 = all(string.match(terms$364, "^(%d+),(%d+),(%d),(%d),(%d+),(%d+),(%d+)$")))[0], epoch$373 = $371[1], durable$374 = $371[2], right$375 = $371[3], now$376 = $371[4], database$377 = $371[5], after$378 = $371[6];
if (!isTrue(maxTtl$372)) {
return ;
}
now$376 = tonumber(now$376);
guarded$351 = new Table([]).set("why", "UNGUARDED maxTtl has not been compared with the other masters").set("wanted", maxTtl$372).set("now", now$376);
let info$379 = call$1("INFO", "replication");
set(guarded$351, "replId", one(string.match(info$379, "master_replid:(%S+)")));
if (!isTrue(get(guarded$351, "replId"))) {
set(guarded$351, "why", "UNGUARDED its INFO has no master_replid");
return ;
}
if (!isTrue(one(string.find(info$379, "role:master", 1, true)))) {
set(guarded$351, "why", "READONLY it is a replica");
return ;
}
let was$382 = ($380 = all(string.match((isTrue($381 = call$1("GET", "quorlock:guard")) ? $381 : ""), "^(%S+) (%d+) (%d+) (%d+) (%d+) (%d)$")))[0], since$383 = $380[1], ends$384 = $380[2], longest$385 = $380[3], place$386 = $380[4], state$387 = $380[5];
let isKnown$390 = (isTrue($389 = (isTrue($388 = (isTrue(was$382) ? (place$386 === database$377) : was$382)) ? isAtLeast(tonumber(since$383), tonumber(after$378)) : $388)) ? isMemoryOf$365(was$382, since$383, durable$374, info$379) : $389);
if (isTrue(isKnown$390)) {
$391 = since$383; $392 = longest$385; $393 = place$386; set(guarded$351, "since", $391); set(guarded$351, "longest", $392); set(guarded$351, "database", $393);
$394 = state$387; $395 = tonumber(ends$384); $396 = true; set(guarded$351, "state", $394); set(guarded$351, "ends", $395); set(guarded$351, "isKnown", $396);
if ((was$382 !== get(guarded$351, "replId"))) {
pcall(mark$352, state$387, get(guarded$351, "ends"));
}
} else if ((right$375 === "0")) {
return ;
} else if ((right$375 === "3")) {
if (!isTrue(was$382)) {
call$1("SET", ("quorlock:guard:new:" + text(epoch$373)), "", "PX", 60000);
}
return ;
}
if ((isTrue(isKnown$390) && (right$375 !== "4"))) {
if ((state$387 === "2")) {
let left$398 = call$1("PTTL", "quorlock:quarantine"), length$399 = tonumber((isTrue($397 = call$1("GET", "quorlock:quarantine")) ? $397 : ""));
if ((isTrue(length$399) && isMore(left$398, length$399))) {
call$1("PEXPIRE", "quorlock:quarantine", length$399);
left$398 = length$399;
}
let isFar$400 = isMore(get(guarded$351, "ends"), (number(now$376) + number(math.max(tonumber(longest$385), left$398))));
if (isTrue(isFar$400)) {
pcall(mark$352, "2", (number(now$376) + number((isTrue($402 = (($401 = (left$398 === (-2))) ? tonumber(longest$385) : $401)) ? $402 : left$398))));
}
if (((left$398 === (-2)) && isAtMost(get(guarded$351, "ends"), now$376))) {
pcall(mark$352, "1", 0);
}
}
} else {
let length$403 = math.max(tonumber((isTrue(longest$385) ? longest$385 : 0)), tonumber(maxTtl$372));
set(guarded$351, "since", exactly$165(math.max((number(tonumber((isTrue(since$383) ? since$383 : 0))) + 1), tonumber(epoch$373))));
$405 = database$377; $406 = (isTrue($404 = (isTrue(isKnown$390) ? longest$385 : isKnown$390)) ? $404 : maxTtl$372); set(guarded$351, "database", $405); set(guarded$351, "longest", $406);
if (((right$375 !== "2") || isTrue(was$382))) {
mark$352("2", (number(now$376) + number(length$403)), length$403);
} else if (isTrue(call$1("GET", ("quorlock:guard:new:" + text(epoch$373))))) {
mark$352("0", 0);
} else {
set(guarded$351, "why", "UNGUARDED it was emptied since it was asked whether it is new");
return ;
}
set(guarded$351, "isKnown", true);
}
set(guarded$351, "why", undefined);
}
function bar$407(kind$408, ttl$409, proposal$410) {
if (isTrue(get(guarded$351, "why"))) {
return get(guarded$351, "why");
}
if (((get(guarded$351, "longest") !== get(guarded$351, "wanted")) || isMore(tonumber(ttl$409), tonumber(get(guarded$351, "longest"))))) {
return ("MAXTTL the longest ttl is " + (text(get(guarded$351, "longest")) + " ms here"));
}
if (((proposal$410 === "") && ((kind$408 === "e") || (kind$408 === "p")))) {
return undefined;
}
if ((get(guarded$351, "state") === "2")) {
let left$411 = math.max(call$1("PTTL", "quorlock:quarantine"), (number(get(guarded$351, "ends")) - number(get(guarded$351, "now"))));
return ("QUARANTINE it may have forgotten votes, for " + (text(exactly$165(left$411)) + " ms more"));
}
if (((proposal$410 !== "") && (get(guarded$351, "state") === "1"))) {
return ("UNSEEDED " + text(get(guarded$351, "since")));
}
}
function inQuarantine$412() {
let $413;
return (isTrue(guarded$351) ? (isTrue($413 = get(guarded$351, "why")) ? $413 : (get(guarded$351, "state") === "2")) : guarded$351);
}
function guardState$414() {
let $415, $416, $423, $424;
call$1("INFO", "replication");
call$1("OBJECT", "ENCODING", "quorlock:guard:memory");
let since$417 = ($415 = all(string.match((isTrue($416 = call$1("GET", "quorlock:guard")) ? $416 : ""), "^%S+ (%d+) (%d+) (%d+) %d+ (%d)$")))[0], ends$418 = $415[1], longest$419 = $415[2], state$420 = $415[3];
let left$421 = call$1("PTTL", "quorlock:quarantine"), floor$422 = call$1("GET", "quorlock:floor");
let isKnown$425 = (isTrue($424 = (isTrue($423 = (isTrue(guarded$351) ? get(guarded$351, "isKnown") : guarded$351)) ? 1 : $423)) ? $424 : 0);
return new Table([tonumber((isTrue(longest$419) ? longest$419 : 0)), left$421, (isTrue(since$417) ? since$417 : "0"), tonumber((isTrue(state$420) ? state$420 : 2)), (isTrue(floor$422) ? floor$422 : "0"), isKnown$425]);
}
function restoreCounters$426(epoch$427, floor$428) {
if ((((!isTrue(guarded$351) || isTrue(get(guarded$351, "why"))) || (get(guarded$351, "state") !== "1")) || (get(guarded$351, "since") !== epoch$427))) {
return 0;
}
raise$176(new Table([]), math.max(counterOf$167(new Table([])), tonumber(floor$428)));
call$1("SET", "quorlock:floor:past", floor$428, "PX", pastTtl$164);
mark$352("0", 0);
return 1;
}
function retry$432(key$433, name$434, ms$435) {
let $437;
let marks$436 = marksOf$38(key$433);
if ((ms$435 === 0)) {
return call$1("ZREM", marks$436, name$434);
}
let isNew$438 = isLess(tonumber((isTrue($437 = call$1("ZSCORE", marks$436, name$434)) ? $437 : (-1))), now$23);
if ((isTrue(isNew$438) && (isTrue(ownerOf$2(lockOf$27(key$433))) || !isTrue(one(lastReader$57(key$433)))))) {
return 0;
}
call$1("ZADD", marks$436, (number(now$23) + number(ms$435)), name$434);
if (isLess(call$1("PTTL", marks$436), ms$435)) {
call$1("PEXPIRE", marks$436, ms$435);
}
let oldest$439 = call$1("ZRANGE", marks$436, 0, 0, "WITHSCORES");
if (isLess(tonumber(get(oldest$439, 2)), now$23)) {
call$1("ZREM", marks$436, get(oldest$439, 1));
}
return 1;
}
function refusalByWaiters$440(key$441, token$442) {
let $445, $449;
if ((!isTrue(isShared$25(key$441)) || isTrue(ownerFor$62(key$441, token$442)))) {
return undefined;
}
let mark$443 = call$1("ZRANGE", marksOf$38(key$441), (-1), (-1), "WITHSCORES");
if ((isTrue(get(mark$443, 1)) && isAtLeast(tonumber(get(mark$443, 2)), now$23))) {
return new Table([1, "writers", (number(get(mark$443, 2)) - number(now$23))]);
}
let queue$444 = queueOf$40(key$441);
let waiter$446 = ($445 = all(headOf$246(queue$444)))[0], entry$447 = $445[1];
if (!isTrue(waiter$446)) {
return undefined;
}
let left$448 = call$1("PTTL", (text(queue$444) + (":" + text(string.sub(waiter$446, 1, 20)))));
return new Table([1, masked$16((text(waiter$446) + ("." + text((isTrue($449 = one(string.match(entry$447, "^%d+"))) ? $449 : ""))))), left$448]);
}
function claimed$450(kind$451, last$452, number$453, ticket$454, entryTtl$455, proposal$456) {
let $460, $461, $463, $464, $465, $466, $467;
let token$457 = get(ARGV, arg$431), reply$458 = undefined, next$459 = undefined;
joined$24 = undefined;
if ((kind$451 === "q")) {
let alone$462 = (isTrue($461 = (isTrue($460 = isShared$25(get(KEYS, key$430))) ? "r" : $460)) ? $461 : "g");
$464 = ($463 = all(enqueue$279(key$430, last$452, token$457, number$453, ticket$454, entryTtl$455, proposal$456, get(ARGV, (number(arg$431) + 1)), alone$462)))[0]; $465 = $463[1]; reply$458 = $464; next$459 = $465;
if (((alone$462 === "r") && (type(reply$458) === "number"))) {
joined$24 = get(KEYS, key$430);
}
} else {
reply$458 = (isTrue($467 = (($466 = (kind$451 === "v")) ? refusalByWaiters$440(get(KEYS, key$430), token$457) : $466)) ? $467 : one(claim$141(key$430, last$452, token$457, number$453, (kind$451 !== "e"))));
}
if ((isTrue(joined$24) && !isTrue(inQuarantine$412()))) {
give$257(joined$24);
}
return new Several([reply$458, next$459]);
}
function releaseUnwaited$468() {

}
function inBulk$469() {
return 0;
}
function run$470(kind$471, last$472, number$473, ticket$474, entryTtl$475, proposal$476) {
let $479, $482, $483, $484, $490;
if ((kind$471 === "g")) {
watch$363(get(ARGV, arg$431));
isSeeded$217 = (!isTrue(guarded$351) || (get(guarded$351, "state") !== "1"));
return ;
}
if ((kind$471 === "h")) {
return guardState$414();
}
if ((kind$471 === "f")) {
let seeded$477 = restoreCounters$426(number$473, ticket$474);
isSeeded$217 = (isTrue(isSeeded$217) ? isSeeded$217 : (seeded$477 === 1));
return seeded$477;
}
if ((kind$471 === "c")) {
return call$1("TIME");
}
if (((kind$471 === "r") || ((kind$471 === "l") && isTrue(inQuarantine$412())))) {
return release$149(key$430, last$472, arg$431, ((number(arg$431) + number(tonumber(number$473))) - 1));
}
if ((kind$471 === "l")) {
let lastToken$478 = ((number(arg$431) + number(tonumber(number$473))) - 1);
return (isTrue($479 = releaseUnwaited$468(key$430, last$472, get(ARGV, lastToken$478))) ? $479 : leave$332(key$430, last$472, arg$431, lastToken$478));
}
if ((kind$471 === "i")) {
return new Table([masked$16(call$1("GET", get(KEYS, key$430))), call$1("PTTL", get(KEYS, key$430)), call$1("ZCARD", queueOf$40(get(KEYS, key$430)))]);
}
if (((proposal$476 !== "") && isAtLeast(tonumber(proposal$476), (((2) ** 53) - ((2) ** 20))))) {
error("ERR the fencing token is too large", 0);
}
let why$480 = (isTrue(guarded$351) ? bar$407(kind$471, number$473, proposal$476) : guarded$351);
if (isTrue(why$480)) {
error(why$480, 0);
}
if ((kind$471 === "u")) {
let owner$481 = ownerOf$2(get(KEYS, last$472));
if (isTrue(owner$481)) {
return new Table([((number(last$472) - number(key$430)) + 1), masked$16(owner$481), call$1("PTTL", get(KEYS, last$472))]);
}
$482 = "v"; $483 = (number(last$472) - 1); kind$471 = $482; last$472 = $483;
}
let reply$485 = ($484 = all(claimed$450(kind$471, last$472, number$473, ticket$474, entryTtl$475, proposal$476)))[0], next$486 = $484[1];
if ((type(reply$485) !== "number")) {
return reply$485;
}
if ((isTrue(guarded$351) && isTrue(inQuarantine$412()))) {
return new Table([(-2), reply$485]);
}
if ((proposal$476 !== "")) {
let locks$487 = new Table([]);
for (let index$488 = number(key$430), last$489 = number(last$472); index$488 <= last$489; index$488 += 1) {
set(locks$487, ((index$488 - number(key$430)) + 1), lockOf$27(get(KEYS, index$488)));
}
return fenced$183(locks$487, reply$485, proposal$476, next$486);
}
return (isTrue($490 = (isTrue(next$486) ? new Table([(-3), reply$485, next$486]) : next$486)) ? $490 : reply$485);
}
function run$492(kind$493, last$494, number$495, ticket$496, entryTtl$497, proposal$498) {
if ((kind$493 === "i")) {
return new Table([masked$16(ownerFor$62(lockOf$27(get(KEYS, key$430)), "")), leftOf$70(get(KEYS, key$430)), call$1("ZCARD", queueOf$40(get(KEYS, key$430)))]);
}
if (isAtLeast(last$494, key$430)) {
demand$189(get(KEYS, key$430), needed$157);
}
if ((kind$493 === "m")) {
return retry$432(get(KEYS, key$430), get(ARGV, arg$431), tonumber(number$495));
}
return runAny$491(kind$493, last$494, number$495, ticket$496, entryTtl$497, proposal$498);
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $161, $509, $514, $517, $518;
call$1 = redis.call;



if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
time$22 = call$1("TIME");
now$23 = ((number(get(time$22, 1)) * 1000) + number(math.floor((number(get(time$22, 2)) / 1000))));
joined$24 = undefined;


















claimExclusive$140 = claim$121;


needed$157 = "DEL EXISTS GET PEXPIRE PTTL SET ZADD ZRANGE ZREM ZSCORE", toEnter$158 = undefined, toGive$159 = undefined;
mayShare$160 = true;
mayAsk$162 = (isTrue($161 = redis.replicate_commands) ? $161 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$163 = 86400000, pastTtl$164 = 43200000;








isSeeded$217 = true;
sweeps$218 = 8, swept$219 = 128, unswept$220 = 4096;
skips$221 = 256;






guarded$351 = undefined;






replies$429 = new Table([]), key$430 = 1, arg$431 = 2;






runAny$491 = run$470;

operation$499 = "(%d*)(%a)(%d+),(%d+),?(%d*),?(%d*),?(%d*);";
for (let [times$500, kind$501, keys$502, number$503, ticket$504, entryTtl$505, proposal$506] of matches(get(ARGV, 1), operation$499)) {
let keyCount$507 = tonumber(keys$502), argCount$508 = 0;
if (((kind$501 === "r") || (kind$501 === "l"))) {
argCount$508 = tonumber(number$503);
} else if ((kind$501 === "q")) {
argCount$508 = 2;
} else if (((((((kind$501 === "v") || (kind$501 === "u")) || (kind$501 === "p")) || (kind$501 === "e")) || (kind$501 === "g")) || (kind$501 === "m"))) {
argCount$508 = 1;
}
let count$510 = (isTrue($509 = tonumber(times$500)) ? $509 : 1);
if ((isMore(count$510, 1) && (keys$502 === "1"))) {
count$510 = (number(count$510) - number(inBulk$469(kind$501, count$510, number$503, proposal$506)));
}
for (let _$511 = 1, last$512 = number(count$510); _$511 <= last$512; _$511 += 1) {
let last$513 = ((number(key$430) + number(keyCount$507)) - 1);
let done$515 = ($514 = all(pcall(run$492, kind$501, last$513, number$503, ticket$504, entryTtl$505, proposal$506)))[0], reply$516 = $514[1];
if (!isTrue(done$515)) {
reply$516 = failure$275(reply$516);
}
if ((kind$501 !== "g")) {
set(replies$429, (length(replies$429) + 1), reply$516);
} else if (!isTrue(done$515)) {
guarded$351 = new Table([]).set("why", get(reply$516, 2));
}
$517 = (number(last$513) + 1); $518 = (number(arg$431) + number(argCount$508)); key$430 = $517; arg$431 = $518;
}
}
return replies$429;
}};
})(),
  "96cb332ef519d5b94aacef7bcfff07204cb6af31": (() => {
let redis, KEYS, ARGV, call$1, released$23;
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
function drop$16(key$17, from$18, to$19) {
let owner$20 = ownerOf$2(key$17);
for (let token$21 = number(from$18), last$22 = number(to$19); token$21 <= last$22; token$21 += 1) {
if (isTrue(isMine$7(owner$20, get(ARGV, token$21)))) {
return call$1("DEL", key$17);
}
}
return 0;
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
call$1 = redis.call;



released$23 = 0;
for (let index$24 = 1, last$25 = length(KEYS); index$24 <= last$25; index$24 += 1) {
released$23 = (number(released$23) + number(drop$16(get(KEYS, index$24), 1, length(ARGV))));
}
return released$23;
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
  "e2b805473cd763d9f4d77ee4461f47b69be84a35": (() => {
let redis, KEYS, ARGV, call$1, key$2, token$3, queue$4, isTagged$6, own$9, first$11, _$12, _$13, next$14, place$15, entries$16, entry$19, round$21, ttl$22, inbox$23, proposal$24, mayAsk$26, counts$27, given$28, check$59, isAllowed$63, given$79, ownerFor$101, keyFor$104, toEnter$113, toGive$114, mayShare$115, mayAsk$117, counterTtl$118, pastTtl$119, isSeeded$172, sweeps$173, swept$174, unswept$175, skips$176;
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
function drop$94(key$95, from$96, to$97) {
let owner$98 = ownerOf$80(key$95);
for (let token$99 = number(from$96), last$100 = number(to$97); token$99 <= last$100; token$99 += 1) {
if (isTrue(isMine$85(owner$98, get(ARGV, token$99)))) {
return call$1("DEL", key$95);
}
}
return 0;
}
function lockOf$102(key$103) {
return key$103;
}
function leftOf$105(key$106) {
return call$1("PTTL", key$106);
}
function set$107(key$108, token$109, ms$110) {
call$1("SET", key$108, token$109, "PX", ms$110);
}
function finish$111(key$112) {
return call$1("DEL", key$112);
}
function exactly$120(number$121) {
return string.format("%.0f", number$121);
}
function counterOf$122(locks$123) {
let $125, $130;
let past$124 = call$1("GET", "quorlock:floor:past");
if (!isTrue(past$124)) {
past$124 = (isTrue($125 = call$1("GET", "quorlock:floor")) ? $125 : "0");
call$1("SET", "quorlock:floor:past", past$124, "PX", pastTtl$119);
}
let largest$126 = tonumber(past$124);
for (let _$127 = 1, table$129 = locks$123, lock$128; (lock$128 = get(table$129, _$127)) !== undefined; _$127 += 1) {
largest$126 = math.max(largest$126, tonumber((isTrue($130 = call$1("GET", ("quorlock:fence:" + text(lock$128)))) ? $130 : 0)));
}
return largest$126;
}
function raise$131(locks$132, counter$133) {
let $137;
for (let _$134 = 1, table$136 = locks$132, lock$135; (lock$135 = get(table$136, _$134)) !== undefined; _$134 += 1) {
call$1("SET", ("quorlock:fence:" + text(lock$135)), exactly$120(counter$133), "PX", counterTtl$118);
}
if (isAtLeast(counter$133, tonumber((isTrue($137 = call$1("GET", "quorlock:floor")) ? $137 : 0)))) {
call$1("SET", "quorlock:floor", exactly$120((number(counter$133) + 1000000)));
}
if (isMore(call$1("PTTL", "quorlock:floor:past"), pastTtl$119)) {
call$1("DEL", "quorlock:floor:past");
}
}
function fenced$138(locks$139, granted$140, proposal$141, next$142) {
let counter$143 = counterOf$122(locks$139);
raise$131(locks$139, math.max(counter$143, tonumber(proposal$141)));
return new Table([(-1), granted$140, exactly$120(counter$143), next$142]);
}
function demand$144(key$145, commands$146) {
let $148;
let check$147 = redis.acl_check_cmd;
for (let [command$149] of matches((isTrue($148 = (isTrue(check$147) ? commands$146 : check$147)) ? $148 : ""), "%u+")) {
if (!isTrue(check$147(command$149, key$145))) {
error(new Table([]).set("err", ("NOPERM this user has no permissions to run the '" + (text(string.lower(command$149)) + "' command"))));
}
}
}
function forget$150(queue$151, waiter$152) {
if ((call$1("ZREM", queue$151, waiter$152) === 1)) {
call$1("DEL", (text(queue$151) + (":" + text(string.sub(waiter$152, 1, 20)))));
}
}
function reserve$153(key$154, token$155, lives$156, ttl$157) {
set$107(key$154, token$155, math.max(1, math.min(lives$156, tonumber(ttl$157))));
}
function grant$158(key$159, queue$160, waiter$161, token$162, ttl$163, inbox$164, proposal$165) {
let $166, $168, $170;
let next$167 = (isTrue($166 = get(call$1("ZRANGE", queue$160, 1, 1, "WITHSCORES"), 2)) ? $166 : "-");
let counter$169 = (($168 = (proposal$165 !== "")) ? counterOf$122(new Table([lockOf$102(key$159)])) : $168);
set$107(key$159, token$162, ttl$163);
if (isTrue(counter$169)) {
raise$131(new Table([lockOf$102(key$159)]), math.max(counter$169, tonumber(proposal$165)));
}
let told$171 = redis.pcall("PUBLISH", inbox$164, (text(token$162) + (" " + (text((isTrue($170 = (isTrue(counter$169) ? exactly$120(counter$169) : counter$169)) ? $170 : "-")) + (" " + text(next$167))))));
if ((type(told$171) === "number")) {
forget$150(queue$160, waiter$161);
} else {
reserve$153(key$159, token$162, call$1("PTTL", (text(queue$160) + (":" + text(string.sub(waiter$161, 1, 20))))), ttl$163);
}
return told$171;
}
function sweep$177(queue$178, from$179, to$180, asking$181) {
let $182, $183, $199, $200;
let waiters$184 = (isTrue($183 = (($182 = isMore(unswept$175, 0)) ? call$1("ZRANGE", queue$178, from$179, to$180) : $182)) ? $183 : new Table([])), names$185 = new Table([]), dead$186 = new Table([]);
if ((length(waiters$184) === 0)) {
return new Several([undefined, undefined, 0]);
}
unswept$175 = (number(unswept$175) - length(waiters$184));
for (let index$187 = 1, table$189 = waiters$184, waiter$188; (waiter$188 = get(table$189, index$187)) !== undefined; index$187 += 1) {
set(names$185, index$187, (text(queue$178) + (":" + text(string.sub(waiter$188, 1, 20)))));
}
let entries$190 = redis.pcall("MGET", ...all(unpack(names$185))), head$191 = undefined, entry$192 = undefined;
if (isTrue(get(entries$190, "err"))) {
for (let index$193 = 1, table$195 = names$185, name$194; (name$194 = get(table$195, index$193)) !== undefined; index$193 += 1) {
set(entries$190, index$193, call$1("GET", name$194));
}
}
for (let index$196 = 1, table$198 = waiters$184, waiter$197; (waiter$197 = get(table$198, index$196)) !== undefined; index$196 += 1) {
if ((!isTrue(get(entries$190, index$196)) && (waiter$197 !== asking$181))) {
set(dead$186, (length(dead$186) + 1), waiter$197);
} else if (!isTrue(head$191)) {
$199 = waiter$197; $200 = get(entries$190, index$196); head$191 = $199; entry$192 = $200;
}
}
if ((length(dead$186) > 0)) {
call$1("ZREM", queue$178, ...all(unpack(dead$186)));
}
return new Several([head$191, entry$192, length(waiters$184)]);
}
function headOf$201(queue$202, asking$203) {
let $208;
let first$204 = get(call$1("ZRANGE", queue$202, 0, 0), 1);
if ((!isTrue(first$204) || (first$204 === asking$203))) {
return first$204;
}
let entry$205 = call$1("GET", (text(queue$202) + (":" + text(string.sub(first$204, 1, 20)))));
if (isTrue(entry$205)) {
return new Several([first$204, entry$205]);
}
for (let _$206 = 1, last$207 = number(sweeps$173); _$206 <= last$207; _$206 += 1) {
let waiter$209 = ($208 = all(sweep$177(queue$202, 0, (number(swept$174) - 1), asking$203)))[0], found$210 = $208[1], count$211 = $208[2];
if ((isTrue(waiter$209) || isLess(count$211, swept$174))) {
return new Several([waiter$209, found$210]);
}
}
}
function give$212(key$213, ending$214) {
let $216, $219, $227;
if (isTrue(ending$214)) {
finish$111(key$213, ending$214);
}
let queue$215 = queueOf$64(key$213);
while (isMore(skips$176, 0)) {
let waiter$217 = ($216 = all(headOf$201(queue$215)))[0], entry$218 = $216[1];
if (!isTrue(waiter$217)) {
return ;
}
let round$220 = ($219 = all(string.match(entry$218, "^(%d+) (%d+) (%S+) (%d*) ([gwsr])$")))[0], ttl$221 = $219[1], inbox$222 = $219[2], proposal$223 = $219[3], how$224 = $219[4];
let token$225 = (text(waiter$217) + ("." + text((isTrue(round$220) ? round$220 : "")))), isTold$226 = (isTrue(round$220) ? (inbox$222 !== "-") : round$220);
let counts$228 = (isTrue($227 = (isTrue(isTold$226) ? mayAsk$117 : isTold$226)) ? redis.pcall("PUBSUB", "NUMSUB", inbox$222) : $227);
key$213 = one(keyFor$104(key$213, how$224));
if ((!isTrue(round$220) || ((isTrue(counts$228) && !isTrue(get(counts$228, "err"))) && (get(counts$228, 2) === 0)))) {
forget$150(queue$215, waiter$217);
} else if ((isTrue(mayShare$115) && isTrue(one(ownerFor$101(key$213, token$225))))) {
return ;
} else if (((isTrue(isTold$226) && ((how$224 === "g") || (how$224 === "r"))) && (isTrue(isSeeded$172) || (proposal$223 === "")))) {
let told$229 = grant$158(key$213, queue$215, waiter$217, token$225, ttl$221, inbox$222, proposal$223);
if (((told$229 !== 0) && (how$224 === "g"))) {
return ;
}
if ((told$229 === 0)) {
finish$111(key$213, token$225);
}
} else {
reserve$153(key$213, token$225, call$1("PTTL", (text(queue$215) + (":" + text(string.sub(waiter$217, 1, 20))))), ttl$221);
if ((isTrue(isTold$226) && (how$224 === "w"))) {
redis.pcall("PUBLISH", inbox$222, ("wake " + text(token$225)));
}
return ;
}
skips$176 = (number(skips$176) - 1);
}
}
function leave$230(first$231, last$232, from$233, to$234) {
let $240;
demand$144(get(KEYS, first$231), toGive$114);
for (let index$235 = number(first$231), last$236 = number(last$232); index$235 <= last$236; index$235 += 1) {
let queue$237 = queueOf$64(get(KEYS, index$235));
for (let token$238 = number(from$233), last$239 = number(to$234); token$238 <= last$239; token$238 += 1) {
let waiter$241 = ($240 = all(string.match(get(ARGV, token$238), "^(.+)%.(%d+)$")))[0], round$242 = $240[1];
let entry$243 = (isTrue(waiter$241) ? call$1("GET", (text(queue$237) + (":" + text(string.sub(waiter$241, 1, 20))))) : waiter$241);
let entered$244 = (isTrue(entry$243) ? tonumber(...all(string.match(entry$243, "^%d+"))) : entry$243);
if ((isTrue(entered$244) && isAtMost(entered$244, tonumber(round$242)))) {
forget$150(queue$237, waiter$241);
}
}
}
let released$245 = 0;
for (let index$246 = number(first$231), last$247 = number(last$232); index$246 <= last$247; index$246 += 1) {
let dropped$248 = drop$94(get(KEYS, index$246), from$233, to$234);
released$245 = (number(released$245) + number(dropped$248));
if (((dropped$248 === 1) || isTrue(mayShare$115))) {
give$212(get(KEYS, index$246));
}
}
return released$245;
}
return (redis$, keys$, args$) => {
redis = redis$, KEYS = keys$, ARGV = args$;
{
let $5, $7, $8, $10, $17, $18, $20, $25, $60, $61, $62, $78, $116;
call$1 = redis.call;
key$2 = get(KEYS, 1), token$3 = get(ARGV, length(ARGV)), queue$4 = undefined;
if ((!isTrue(get(KEYS, 2)) && (redis.pcall("GET", key$2) === token$3))) {
isTagged$6 = (isTrue($5 = one(string.find(key$2, "{", 1, true))) ? one(string.find(key$2, "^[^{]*{[^}]+}")) : $5);
queue$4 = (isTrue($7 = (isTrue(isTagged$6) ? ("quorlock:queue:tagged:" + text(key$2)) : isTagged$6)) ? $7 : ("quorlock:queue:{" + (text(key$2) + "}")));
if ((call$1("EXISTS", queue$4) === 0)) {
return call$1("DEL", key$2);
}
}
if ((isTrue(queue$4) && !isTrue(get(ARGV, 2)))) {
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



ownerFor$101 = ownerOf$80;

keyFor$104 = lockOf$102;



toEnter$113 = "DEL GET PEXPIRE PTTL SET ZADD ZRANGE ZREM", toGive$114 = "DEL GET PTTL SET ZRANGE ZREM";
mayShare$115 = false;
mayAsk$117 = (isTrue($116 = redis.replicate_commands) ? $116 : redis.REDIS_VERSION_NUM);
if (isTrue(redis.replicate_commands)) {
redis.replicate_commands();
}
counterTtl$118 = 86400000, pastTtl$119 = 43200000;








isSeeded$172 = true;
sweeps$173 = 8, swept$174 = 128, unswept$175 = 4096;
skips$176 = 256;




return leave$230(1, length(KEYS), 1, length(ARGV));
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
};
