import { expect, test } from "vitest";
import { terminalPicture } from "./fixture/terminal-picture.ts";

test("each span is text in its column, with the class of its colour", () => {
  const picture = terminalPicture("A & B", ["", "\u001b[2m1 s\u001b[0m  a <b>"]);
  expect(picture).toContain('<title id="heading">A &amp; B</title>');
  expect(picture).toContain(
    '<tspan class="dim" x="20.0" textLength="23.4">1 s</tspan><tspan x="43.4" textLength="54.6">  a &lt;b></tspan>',
  );
  expect(picture).not.toContain("\u001b");
});

test("the picture is as wide as its longest line, with a minimum width", () => {
  expect(terminalPicture("", ["short"])).toContain('viewBox="0 0 800 58"');
  expect(terminalPicture("", ["x".repeat(200)])).toContain('viewBox="0 0 1600 58"');
});
