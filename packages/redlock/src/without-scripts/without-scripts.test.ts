import { expect, test } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { withoutScripts } from "./without-scripts.ts";

test.each([{}, null, "redis://localhost"])("%o is no client", (client) => {
  expect(() => withoutScripts([client as never])).toThrow(InvalidArgumentError);
});
