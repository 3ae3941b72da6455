import { expect, test, vi } from "vitest";

test("a runtime without node:diagnostics_channel loads the channels, which stay silent", async () => {
  const original = globalThis.process.getBuiltinModule.bind(globalThis.process);
  vi.resetModules();
  const spy = vi
    .spyOn(globalThis.process, "getBuiltinModule")
    .mockImplementation((name: string) => (name === "node:diagnostics_channel" ? undefined : original(name)));
  try {
    const { acquiring, lost } = await import("./channels.ts");
    expect(spy).toHaveBeenCalledWith("node:diagnostics_channel");
    expect([acquiring.hasSubscribers, lost.hasSubscribers]).toEqual([false, false]);
    expect(acquiring.start.runStores({ resources: [], ttl: 1, waits: 0 }, () => 7)).toBe(7);
    lost.publish({ resources: [], reason: "QUIT", isFault: false });
  } finally {
    spy.mockRestore();
    vi.resetModules();
  }
});
