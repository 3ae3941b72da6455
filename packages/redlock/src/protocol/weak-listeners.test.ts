import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { LockNode } from "./node.ts";
import { onReadyWhileKept } from "./weak-listeners.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A node that references its listeners, as a connection references the client that it belongs to. */
class Node {
  readonly listeners = new Set<() => void>();
  owner: object | undefined;

  onReady(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

function listenTo(node: Node = new Node()): WeakRef<object> {
  const owner = {};
  node.owner = owner;
  onReadyWhileKept(owner, node as unknown as LockNode, () => {});
  return new WeakRef(owner);
}

/**
 * A dereferenced weak reference keeps its target until the turn is over. A turn finalizes one registry, and other tests may have
 * left thousands.
 */
async function until(isSo: () => boolean): Promise<boolean> {
  for (let round = 0; round < 20_000; round += 1) {
    await turn();
    if (round < 10 || round % 1000 === 0) collect();
    await turn();
    if (isSo()) return true;
  }
  return false;
}

test("an owner is collected together with a node that leads back to it", async () => {
  const owner = listenTo();
  expect(await until(() => owner.deref() === undefined)).toBe(true);
});

test("the listener of a collected owner is removed", async () => {
  const node = new Node();
  listenTo(node);
  expect(node.listeners.size).toBe(1);
  node.owner = undefined;
  expect(await until(() => node.listeners.size === 0)).toBe(true);
});
