import { type Masters, mastersOf, type Unavailable, type WayOptions } from "../masters.ts";

/**
 * Masters in this process: the simulator's model of Redis, served by TCP. No server is needed, and none is tested:
 * so this way is taken only where it was asked for.
 */
export async function mastersFromModel(count: number, options: WayOptions): Promise<Masters | Unavailable> {
  const { persistence, config } = options;
  const [name, password, ...rest] = config;
  const isPasswordAlone = name === "--requirepass" && password !== undefined && rest.length === 0;
  if (persistence === "rdb") return { unavailable: "an embedded master takes no snapshots" };
  if (config.length > 0 && !isPasswordAlone) {
    return { unavailable: `an embedded master cannot be configured with ${config.join(" ")}` };
  }
  const began = performance.now();
  // Loaded where it is wanted: most test runs never do.
  const { startEmbeddedMasters } = await import("@quorlock/simulation/embedded");
  const masters = await startEmbeddedMasters(count, {
    // The two AOF modes differ only if the whole machine crashes.
    persistence: persistence === "none" ? "none" : "aof-always",
    ...(isPasswordAlone ? { password } : {}),
  });
  options.say(
    `testbed: ${count} embedded masters, a model of Redis in this process, on ports ` +
      `${masters.list.map(({ port }) => port).join(", ")}, ${Math.round(performance.now() - began)} ms`,
  );
  return mastersOf("embedded", masters.list, () => masters.stop());
}
