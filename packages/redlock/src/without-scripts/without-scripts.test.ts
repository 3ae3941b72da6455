import { expect, test } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { withoutScripts } from "./without-scripts.ts";

test.each([undefined, null, {}, 5])("%o in place of the clients is no client", (clients) => {
  expect(() => withoutScripts(clients as never)).toThrow(InvalidArgumentError);
});

test.each([{}, null, "redis://localhost"])("%o is no client", (client) => {
  expect(() => withoutScripts([client as never])).toThrow(InvalidArgumentError);
});
