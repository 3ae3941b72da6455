import { expect, test } from "vitest";
import { Child, withMessages } from "./child.ts";

const run = (program: string, stdio: typeof withMessages = "pipe"): Child =>
  new Child(process.execPath, ["--eval", program], { stdio });

test("output, errors, code and messages are kept, those that came early too", async () => {
  const program = `process.send({ kind: "early" }); console.log("one\\ntwo"); console.error("!"); process.exitCode = 3;`;
  const child = run(program, withMessages);
  const ending = await child.ended;
  expect(ending).toMatchObject({ code: 3, signal: null, output: "one\ntwo\n", errors: "!\n" });
  expect(await child.message("early")).toEqual({ kind: "early" });
  expect(await child.line(1)).toBe("two");
});

test("a wait ends with the process, and the error includes what it printed", async () => {
  const child = run(`console.log("not that"); console.error("broken")`);
  await expect(child.line(1)).rejects.toThrow(/ended before its line 2: not that\nbroken/);
});

test("a wait ends after its limit, and the process when it is disposed of", async () => {
  await using child = run("setInterval(() => {}, 1000)", withMessages);
  await expect(child.message("never", 50)).rejects.toThrow('its message "never" within 50 ms');
  expect(await child.kill()).toMatchObject({ code: null, signal: "SIGKILL" });
});

test("a program that is not there has ended, and its error says so", async () => {
  const { code, errors } = await new Child("/no/such/program", []).ended;
  expect(code).not.toBe(0);
  expect(errors).toContain("ENOENT");
});
