import { startMasters } from "@quorlock/testbed";
import { type Case, verdict } from "../case.ts";
import { type Address, Fixture } from "../fixture.ts";
import { inWords, outcomeOf } from "../outcome.ts";

/** Addresses that are not as many servers. */
export const sharedServer: readonly Case[] = [
  {
    row: 33,
    situation:
      "two of three addresses are one server, and the other server has another client's key: no lock",
    bound: "an attempt without retries is refused: one server of two is no majority, whatever its address",
    mostlyWaits: true,
    async run({ library }) {
      await using masters = await startMasters(2, { say: () => {} });
      const [one, other] = masters.list as unknown as readonly [Address, Address];
      const again = { ...one, host: "localhost", url: one.url.replace(one.host, "localhost") };
      await using fixture = await Fixture.start(library, [one, again, other]);
      const subject = await fixture.openCold(undefined, { retryCount: 0 });
      await fixture.tell([2], "SET", fixture.resource, "another client", "PX", "10000");
      const outcome = await outcomeOf(() => subject.acquire(fixture.resource, 5000), 2000);
      if (outcome.kind === "resolved") await subject.release(outcome.value);
      return verdict(inWords(outcome), { "no lock by one server of two": outcome.kind === "rejected" });
    },
  },
];
