// oxlint-disable-next-line import/no-unassigned-import -- the imports behind it need it.
import "./without-node.ts";
import { pictureOf, record, type Subject, verdictOn, waitsIn } from "@quorlock/simulation/lab";
import type { Reply, Request } from "./runner.ts";

// The unmodified simulator, away from the thread that paints.

let redlock5: Promise<Subject> | undefined;

async function subjectNamed(name: Request["subject"]): Promise<{ readonly subject?: Subject }> {
  if (name === "quorlock") return {};
  redlock5 ??= import("./redlock-5.ts").then((module) => module.redlock5());
  return { subject: await redlock5 };
}

async function run({ plan, subject, maxEvents }: Request): Promise<Reply> {
  const begun = performance.now();
  const limit = maxEvents === undefined ? {} : { maxEvents };
  const recording = await record(plan, { ...limit, ...(await subjectNamed(subject)) });
  const took = performance.now() - begun;
  const picture = pictureOf(recording);
  const { outcome } = recording;
  const simulated = picture.activeUntil / 1000;
  return {
    run: {
      picture,
      verdict: verdictOn(outcome),
      waits: waitsIn(picture),
      hash: outcome.hash,
      took,
      simulated,
    },
  };
}

self.addEventListener("message", ({ data }: MessageEvent<Request>) => {
  run(data).then(
    (reply) => self.postMessage(reply, {}),
    (error: unknown) => self.postMessage({ error: String(error) } satisfies Reply, {}),
  );
});
