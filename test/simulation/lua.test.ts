import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
// The package has no name for the inside of a master: this test is for just that.
import { evaluated } from "../../packages/simulation/src/lua/evaluate.ts";
import { Keyspace } from "../../packages/simulation/src/master/keyspace.ts";
import { know } from "../../packages/simulation/src/master/known-scripts.ts";
import { RedisModel } from "../../packages/simulation/src/master/redis-model.ts";
import { oneMaster } from "./one-master.ts";

// Pieces of Lua by Redis's own interpreter and as the compiler has them: equal replies. An error is compared without the place
// in the script that Redis tells with it.

const redis = oneMaster();

const snippets: Readonly<Record<string, readonly string[]>> = {
  arithmetic: [
    "return {7 / 2, -7 % 3, 7 % -3, -7.5 % 2, 2 ^ 10, -2 ^ 2, 2 ^ 53 - 2 ^ 20}",
    'return {"10" + 5, " 0x10 " * 1, "1e3" - 0, -"3"}',
    'return tostring(0.1 + 0.2) .. " " .. 1e15 .. " " .. 2 ^ 53 .. " " .. 1 / 3 .. " " .. 1e-7 .. " " .. 123456789012345678',
    "return {tostring(1 / 0), tostring(-1 / 0), tostring(100), tostring(-1.5), tostring(1e14), tostring(1e100)}",
    "return {-(-3), 2 - -3, - -3}",
    "return {math.max(1, 9, 3), math.min(4, 2), math.floor(-1.5), math.ceil(-1.5), math.max('7', 2)}",
    'return {string.format("%.0f", 2 ^ 53 - 1), string.format("%.0f", 1.5), string.format("%.0f", 2.5), string.format("%.0f", 1e22)}',
    'return {tonumber("12"), tonumber(" 0x1F "), tonumber("1e2"), tonumber(".5") * 2, tonumber("5.") * 1, tonumber("-7")}',
    'return {tostring(tonumber("")), tostring(tonumber("1x")), tostring(tonumber("0b1")), tostring(tonumber({}))}',
  ],
  "comparisons and conditions": [
    'return {1 < 2, "a" < "b", "10" < "9", 1 == "1", nil == false, "" and 1, 0 and 2}',
    "return {(nil or false) == false, (false or nil) == nil, nil and 1, not nil, not 0}",
    "local a, b = 1 > 2 and 'yes' or 'no', false or 1 >= 1\nreturn {a, tostring(b), 3 ~= 3 or 'x', 2 <= 2 and 5}",
    'return 1 < "2"',
    "return nil < 1",
    "return {} < {}",
    'if 0 then return "true" else return "false" end',
    "local n = 0\nwhile true do n = n + 1 if n > 4 then break end end\nreturn n",
  ],
  strings: [
    'return {string.sub("hello", 2), string.sub("hello", -3, -2), string.sub("hello", 0, 9), string.sub("hello", 4, 2), string.sub("hello", -99, 1)}',
    'return {#"hello", string.rep("ab", 3), string.rep("x", 0), string.rep("x", -1), string.lower("AbC"), "a" .. 1 .. 2.5}',
    'return {string.find("a.b", ".", 1, true), string.find("a.b", "%.", 1), string.find("abcabc", "c", 4, true)}',
    'return {string.find("abc", "c", -1), string.find("abc", "c", -2, true), string.find("abc", "b", 0), string.find("abc", "", 9)}',
    'return {string.find("key=value", "(%w+)=(%w+)")}',
    'return {string.find("hello", "l+", 4), string.find("hello", "xyz"), string.find("", ""), 1}',
    'return {string.match("abc.12", "^(.+)%.(%d+)$"), "-", string.match("abc", "%d")}',
    'return {string.match("  a  b ", "%S+"), string.match("x-y", "%a-%-"), string.match("[k]", "%[(.-)%]"), string.match("a]b", "[]]")}',
    'return {string.match("2+3", "%d+-"), string.match("5-6", "%d+-%d"), string.match("a^b$", "a^b$"), string.match("f(x)", "%((%w)%)")}',
    'return {string.match("AB12_x", "%u+%d+"), string.match("AB12_x", "[%w_]+"), string.match("tab\\there", "[^%s]+"), string.match("ff0g", "%x+")}',
    'return {string.gsub("key:readers", ":%a+$", ":write"), (string.gsub("aaa", "a", "b"))}',
    'local all = {}\nfor k, v in string.gmatch("a=1;b=2;", "(%w)=(%d);") do all[#all + 1] = k .. v end\nreturn all',
    'local all = {}\nfor word in string.gmatch("GET SET x DEL", "%u+") do all[#all + 1] = word end\nreturn all',
    'return table.concat({1, "b", 2.5}, ",") .. table.concat({}) .. table.concat({"x", "y"})',
    'return {} .. "x"',
    "return #nil",
    'return "a\\0b" .. "\\65\\r\\n"',
  ],
  tables: [
    "local t = {1, 2, nil, 4}\nreturn {t[4], t[3] == nil and 1, #{1, 2, 3}}",
    "local t = {}\nt[1] = 'a' t[3] = 'c' t[2] = 'b' t[4] = 'd'\nreturn {#t, t[3], t[4]}",
    "local t = {1, 2, 3}\nt[3] = nil t[2] = nil\nreturn #t",
    "local t = {a = 1, ['b c'] = 2, [3] = 3, 10}\nreturn {t.a, t['b c'], t[3], t[1], t.none == nil and 1}",
    "local t = {}\nt.x = 1 t.x = nil\nreturn {t.x == nil and 1, t[1.5] == nil and 2, t[-1] == nil and 3, t[0] == nil and 4}",
    "local n = 0\nfor i, v in ipairs({5, 6, nil, 7}) do n = n + i * v end\nreturn n",
    "return {unpack({1, 2, 3}, 2), unpack({1, 2, 3})}",
    "local a, b, c = unpack({1, 2})\nreturn {a, b, c == nil and 3}",
    "local a, b = 1, 2\na, b = b, a\nreturn {a, b}",
    "local t = nil\nreturn t.x",
    "local t = {}\nt[nil] = 1",
    "return {unpack(KEYS), #KEYS, unpack(ARGV)}",
  ],
  "functions and scopes": [
    "local function f() return 1, 2, 3 end\nreturn {f(), (f()), f()}",
    "local function none() end\nlocal a = none()\nreturn {a == nil and 1, none() == nil and 2}",
    "local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end\nreturn f(15)",
    "local x = 1\ndo local x = x + 1 if x == 2 then local x = 9 end end\nlocal x = x + 10\nreturn x",
    "local all = {}\nfor i = 1, 3 do all[i] = function() return i end end\nreturn {all[1](), all[2](), all[3]()}",
    "local t = {}\nfor i = 5, 1, -2 do t[#t + 1] = i end\nfor i = 2, 1 do t[#t + 1] = 99 end\nreturn t",
    "local count = 0\nlocal function up() count = count + 1 return count end\nup() up()\nreturn count",
    "local default, new, class = 1, 2, 3\nreturn {default, new, class}",
    "local function f() for i = 1, 2 do end end\nlocal function g(i) i = i + 1 return i end\nf()\nreturn g(1)",
    "local function f() local function h() return 1 end return h() end\nlocal function g(h) return {h()} end\nreturn {f(), g(function() return 5, 6 end)}",
    "local function f() local h = 1 return function(h) return h + 1 end, h end\nlocal g, h = f()\nreturn {g(5), h}",
    "local t = {}\nfor i = 1, 3 do local x if i == 2 then x = i end t[i] = x or 0 end\nreturn t",
  ],
  "errors and pcall": [
    'local ok, why = pcall(error, "plain", 0)\nreturn {tostring(ok), why}',
    "local ok, why = pcall(error, {err = 'ERR mine'})\nreturn {tostring(ok), why.err}",
    "local ok, a, b = pcall(function(x) return x, 2 end, 1)\nreturn {tostring(ok), a, b}",
    'local ok, why = pcall(redis.call, "GET", "list")\nreturn {tostring(ok), type(why), why.err}',
    'local reply = redis.pcall("GET", "list")\nreturn {type(reply), reply.err}',
    'return redis.call("GET", "list")',
    'local ok, why = pcall(redis.call, "GET", {})\nreturn {tostring(ok), type(why)}',
    'return redis.pcall("NONSENSE")',
    'return redis.error_reply("ERR own words")',
    'error("ERR raised", 0)',
    "error({err = 'ERR in a table'})",
    "local ok, why = pcall(unpack, {}, 1, 9000)\nreturn {tostring(ok), type(why)}",
    "local ok = pcall(function() return 1 + {} end)\nreturn tostring(ok)",
  ],
  "replies and commands": [
    "return {1.9, -1.9, true, false, 'x', {1, {2}}, nil, 'unseen'}",
    "return",
    "return false",
    "return true",
    "return 3.99",
    "return {ok = 'FINE'}",
    'return {redis.call("SET", "k", 1.5).ok, redis.call("GET", "k"), redis.call("SET", "k", 2 ^ 53), redis.call("GET", "k")}',
    'redis.call("SET", "k", 0.1)\nreturn redis.call("GET", "k")',
    'redis.call("SET", "ok", "OK")\nreturn {type(redis.call("GET", "ok")), type(redis.call("SET", "k", "v"))}',
    'local none = redis.call("GET", "none")\nreturn {tostring(none), tostring(redis.call("MGET", "none")[1])}',
    'redis.call("ZADD", "z", 3, "m")\nreturn redis.call("ZRANGE", "z", 0, -1, "WITHSCORES")',
    "return {tostring(redis.acl_check_cmd('GET', 'k')), type(redis.REDIS_VERSION_NUM), tostring(redis.replicate_commands())}",
    'return redis.call("EXISTS", "list") + redis.call("PTTL", "list")',
  ],
};

const keys = ["one", "two"];
const args = ["1", "x y"];

/** Of an error, what comes before the place in the script. */
function comparable(reply: unknown): string {
  if (!(reply instanceof Error)) return JSON.stringify(reply);
  return `error ${reply.message.replace(/ script: .*/s, "").replace(/^(ERR )?user_script:.*/s, "of Lua itself")}`;
}

function modelReply(source: string): string {
  const model = new RedisModel(new Keyspace(), "x");
  model.execute("RPUSH", ["list", "x"], 0);
  know("a piece", { source, sha1: createHash("sha1").update(source).digest("hex") }, evaluated(source));
  try {
    return comparable(model.execute("EVAL", [source, keys.length, ...keys, ...args], 0));
  } catch (error) {
    return comparable(error);
  }
}

async function realReply(source: string): Promise<string> {
  await redis().pipeline().flushall().rpush("list", "x").exec();
  return comparable(
    await redis()
      .call("EVAL", source, keys.length, ...keys, ...args)
      .catch((error: unknown) => error),
  );
}

describe.each(Object.entries(snippets))("compiled Lua replies as Redis does: %s", (_, sources) => {
  test.each(sources)("%s", async (source) => {
    expect(modelReply(source)).toBe(await realReply(source));
  });
});
