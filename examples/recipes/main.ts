import { argumentsOf } from "@quorlock/simulation/command-line";
import { runExample } from "../fixture/fixture.ts";
import { mastersUp } from "../fixture/masters-up.ts";
import { cache } from "./cache.ts";
import { migrations } from "./migrations.ts";
import { payment } from "./payment.ts";
import { rateLimit } from "./rate-limit.ts";
import type { Recipe } from "./recipe.ts";
import { serverless } from "./serverless.ts";
import { shutdown } from "./shutdown.ts";

const recipes: Readonly<Record<string, Recipe>> = {
  cache,
  migrations,
  payment,
  "rate-limit": rateLimit,
  serverless,
  shutdown,
};

const { positionals: names } = argumentsOf({
  usage: "recipe [NAME...]",
  about: "plays recipes on real masters; without a name all",
  names: { what: "recipe", known: Object.keys(recipes) },
  exit: "1 a recipe failed",
  examples: ["recipe", "recipe cache payment"],
});

await runExample(async (fixture) => {
  const { narrator } = fixture;
  const { urls } = await mastersUp(fixture, 3);
  for (const name of names.length > 0 ? names : Object.keys(recipes)) {
    const { title, play } = recipes[name]!;
    narrator.heading(title);
    narrator.event(
      "result",
      "green",
      await play({ urls, say: (line) => narrator.event("setup", "dim", line) }),
    );
  }
  return true;
});
