import { expect, test, vi } from "vitest";
import type { Connection } from "./connection.ts";
import { GrantSubscription } from "./grant-subscription.ts";

test("a subscription that is forbidden is reported once, and its channel is named only while it works", async () => {
  let changed!: (isListening: boolean, error?: unknown) => void;
  const subscribe: Connection["subscribe"] = (_channel, _onMessage, onChange) => {
    changed = onChange;
  };
  const reported: unknown[] = [];
  const connection = { subscribe, isErrorReply: () => true } as unknown as Connection;
  const subscription = new GrantSubscription(connection, (error) => reported.push(error));
  const known = subscription.listen("inbox", vi.fn(), vi.fn());
  const addresses = [subscription.address];
  for (const _ of [1, 2]) changed(false, new Error("NOPERM no channel"));
  await known;
  for (const isListening of [true, false]) {
    changed(isListening);
    addresses.push(subscription.address);
  }
  expect(addresses).toEqual(["-", "inbox", "-"]);
  expect(reported).toHaveLength(1);
});
