import { connect } from "../fixture/connect.ts";
import { check, type Recipe } from "./recipe.ts";

/** `process.once("SIGTERM", () => stop(redlock))`: the jobs that hold locks may end before these are released, for 10 s. */
export async function stop(redlock: { quit(options: { drain: number }): Promise<void> }): Promise<void> {
  await redlock.quit({ drain: 10_000 });
}

export const shutdown: Recipe = {
  title: "shutdown: an instance that is told to stop ends its jobs, and the next one runs after them",
  async play({ urls }) {
    const [old, next] = [connect(urls), connect(urls)];
    const events: string[] = [];
    const working = old.using("job", 2000, async () => {
      events.push("the old instance begins");
      await new Promise((resolve) => setTimeout(resolve, 500));
      events.push("the old instance ends");
    });
    while (events.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const stopping = stop(old);
    const refused = await old.acquire("another job", 1000).then(
      () => "a lock",
      (error: unknown) => (error as Error).name,
    );
    await next.using(
      "job",
      2000,
      { waitTimeout: 10_000 },
      async () => void events.push("the next instance begins"),
    );
    await Promise.all([working, stopping]);
    await next.quit();
    const order = ["the old instance begins", "the old instance ends", "the next instance begins"];
    check(JSON.stringify(events) === JSON.stringify(order), events.join(", "));
    check(refused === "ClosedError", `a new lock of an instance that stops ended with ${refused}`);
    return `${events.join(", ")}; new locks of the old instance end with ${refused}`;
  },
};
