import {
  type Answer,
  type Fault,
  type LockNode,
  type No,
  type Question,
  questionOf,
} from "@quorlock/redlock/internal";
import { ask, claimed, shown } from "./ask.ts";
import { connectionCases } from "./connection-cases.ts";
import { type Context, claimOf, expectKey, long, slack, type TestClaim } from "./contract-case.ts";
import type { Driver, DriverMaker } from "./driver.ts";
import { fencingCases } from "./fencing-cases.ts";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  type Framework,
  it,
  useFramework,
} from "./framework.ts";
import { queueCases } from "./queue-cases.ts";
import { turn, until } from "./until.ts";

// PROTOCOL 2.17.

/**
 * The contract of every `LockNode`. A driver connects the nodes, inspects their master, and disturbs the network
 * between them.
 */
export function lockNodeContract(name: string, makeDriver: DriverMaker, framework?: Framework): void {
  useFramework(framework);
  describe(`LockNode: ${name}`, () => {
    let driver: Driver;
    const opened: Array<{ disconnect(): void }> = [];
    const context: Context = {
      get master() {
        return driver.master;
      },
      get path() {
        return driver.path;
      },
      node: undefined as unknown as LockNode,
      connect() {
        const node = driver.connect();
        opened.push(node);
        return node;
      },
      connectOnly() {
        const connection = driver.connectOnly();
        opened.push(connection);
        return connection;
      },
    };

    beforeAll(async () => {
      driver = await makeDriver();
    });

    beforeEach(async () => {
      context.node = context.connect();
      await untilReachable(context.node);
    });

    afterEach(async () => {
      await driver.path.heal();
      for (const each of opened.splice(0)) each.disconnect();
      await until("the connections are closed", () => driver.path.connections === 0);
    });

    afterAll(async () => driver?.[Symbol.asyncDispose]());

    describe("vote", () => voteCases(context));
    describe("vote for several resources", () => severalCases(context));
    describe("extend", () => extendCases(context));
    describe("release", () => releaseCases(context));
    describe("inspect", () => inspectCases(context));
    describe("a key that is no lock", () => wrongTypeCases(context));
    describe("names and tokens", () => nameCases(context));
    describe("order", () => orderCases(context));
    describe("scripts that the master forgot", () => forgottenScriptCases(context));
    describe("queue", () => queueCases(context, makeDriver.queue));
    describe("fencing", () => fencingCases(context, makeDriver));
    describe("first connection", () => firstConnectionCases(context));
    describe("lost connection", () => lostConnectionCases(context));
    describe("answers", () => answerCases(context));
    describe("end", () => endCases(context));
    if (makeDriver.makesConnections) describe("connection", () => connectionCases(context));
  });
}

function voteCases(context: Context): void {
  it("sets a free key to the token, for the ttl", async () => {
    const claim = claimOf(1);
    const answer = await ask(context.node).vote(claim);
    expect(answer).toEqual({ is: "yes", remaining: long });
    await expectKey(context, claim.resources[0]!, claim.token, long);
  });

  it("sets a key that expires", async () => {
    const claim = claimOf(1, 60);
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "yes" });
    expect(await context.master.pttl(claim.resources[0]!)).toBeLessThanOrEqual(60);
    await until("the key is gone", async () => (await context.master.get(claim.resources[0]!)) === null);
    expect(await ask(context.node).vote(claimOf(claim.resources))).toMatchObject({ is: "yes" });
  });

  it("does not change a foreign key, and returns its owner and remaining time", async () => {
    const claim = claimOf(1);
    const [resource] = claim.resources;
    await context.master.set(resource!, "another-client", 30_000);
    const answer = await ask(context.node).vote(claim);
    expect(answer).toEqual({
      is: "no",
      resource,
      owner: shown("another-client"),
      remaining: expect.any(Number),
    });
    expectBetween(answer, 30_000 - slack, 30_000);
    await expectKey(context, resource!, "another-client", 30_000);
  });

  it("returns Infinity for a foreign key without expiry", async () => {
    const claim = claimOf(1);
    const [resource] = claim.resources;
    await context.master.set(resource!, "another-client");
    const answer = await ask(context.node).vote(claim);
    expect(answer).toEqual({
      is: "no",
      resource,
      owner: shown("another-client"),
      remaining: Number.POSITIVE_INFINITY,
    });
    expect(await context.master.pttl(resource!)).toBe(-1);
  });

  it("counts its own token as a yes, and renews it (PROTOCOL 2.7, 2.12)", async () => {
    const claim = claimOf(1, 20_000);
    await ask(context.node).vote(claim);
    const again = await ask(context.node).vote({ ...claim, ttl: long });
    expect(again).toMatchObject({ is: "yes" });
    expectBetween(again, long - 1, long);
    await expectKey(context, claim.resources[0]!, claim.token, long);
  });

  it("never shortens its own key (PROTOCOL 2.11)", async () => {
    const claim = claimOf(1);
    await ask(context.node).vote(claim);
    const again = await ask(context.node).vote({ ...claim, ttl: 1000 });
    expect(again).toMatchObject({ is: "yes" });
    expectBetween(again, 1000, long);
    await expectKey(context, claim.resources[0]!, claim.token, long);
  });
}

function severalCases(context: Context): void {
  it("sets all of them", async () => {
    const claim = claimOf(5);
    expect(await ask(context.node).vote(claim)).toEqual({ is: "yes", remaining: long });
    for (const resource of claim.resources) await expectKey(context, resource, claim.token, long);
  });

  it("sets none of them when one is foreign, and returns which", async () => {
    const claim = claimOf(4);
    const [first, second, third, fourth] = claim.resources as [string, string, string, string];
    await context.master.set(third, "another-client", 30_000);
    const answer = await ask(context.node).vote(claim);
    expect(answer).toEqual({
      is: "no",
      resource: third,
      owner: shown("another-client"),
      remaining: expect.any(Number),
    });
    expectBetween(answer, 30_000 - slack, 30_000);
    for (const resource of [first, second, fourth]) expect(await context.master.get(resource)).toBeNull();
    await expectKey(context, third, "another-client", 30_000);
  });

  it("sets the missing ones if others hold its token already, and shortens none", async () => {
    const claim = claimOf(3);
    const [shorter, free, longer] = claim.resources as [string, string, string];
    await context.master.set(shorter, claim.token, 20_000);
    await context.master.set(longer, claim.token, 3 * long);
    const answer = await ask(context.node).vote(claim);
    expect(answer).toMatchObject({ is: "yes" });
    expectBetween(answer, long - 1, long);
    await expectKey(context, shorter, claim.token, long);
    await expectKey(context, free, claim.token, long);
    await expectKey(context, longer, claim.token, 3 * long);
  });

  it("renews no key when another client has one of them", async () => {
    const claim = claimOf(2);
    const [mine, foreign] = claim.resources as [string, string];
    await context.master.set(mine, claim.token, 20_000);
    await context.master.set(foreign, "another-client", 30_000);
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "no", resource: foreign });
    await expectKey(context, mine, claim.token, 20_000);
  });
}

function extendCases(context: Context): void {
  for (const repair of [false, true]) {
    const how = repair ? "with repair" : "without repair";

    it(`renews its keys, ${how}`, async () => {
      const claim = claimOf(2, 20_000);
      await ask(context.node).vote(claim);
      const answer = await ask(context.node).extend({ ...claim, ttl: long }, repair);
      expect(answer).toMatchObject({ is: "yes" });
      expectBetween(answer, long - 1, long);
      for (const resource of claim.resources) await expectKey(context, resource, claim.token, long);
    });

    it(`never shortens, and returns the remaining time, ${how} (PROTOCOL 2.11)`, async () => {
      const claim = claimOf(1);
      await ask(context.node).vote(claim);
      const answer = await ask(context.node).extend({ ...claim, ttl: 1 }, repair);
      expect(answer).toMatchObject({ is: "yes" });
      // A resumed lock learns from it how long its keys live.
      expectBetween(answer, long - slack, long);
      await expectKey(context, claim.resources[0]!, claim.token, long);
    });

    it(`does not change a foreign key, and returns its owner, ${how}`, async () => {
      const claim = claimOf(2);
      const [mine, foreign] = claim.resources as [string, string];
      await context.master.set(mine, claim.token, 20_000);
      await context.master.set(foreign, "another-client", 30_000);
      const answer = await ask(context.node).extend(claim, repair);
      expect(answer).toMatchObject({ is: "no", resource: foreign, owner: shown("another-client") });
      expectBetween(answer, 30_000 - slack, 30_000);
      await expectKey(context, mine, claim.token, 20_000);
      await expectKey(context, foreign, "another-client", 30_000);
    });

    it(`leaves its own key without expiry as it is, ${how}`, async () => {
      const claim = claimOf(1);
      await context.master.set(claim.resources[0]!, claim.token);
      const answer = await ask(context.node).extend(claim, repair);
      expect(answer).toEqual({ is: "yes", remaining: Number.POSITIVE_INFINITY });
      expect(await context.master.pttl(claim.resources[0]!)).toBe(-1);
    });
  }

  it("refuses where the key is gone, and sets nothing, without repair", async () => {
    const claim = claimOf(2);
    const [mine, free] = claim.resources as [string, string];
    await context.master.set(mine, claim.token, 20_000);
    const answer = await ask(context.node).extend(claim, false);
    expect(answer).toEqual({ is: "no", resource: free, owner: undefined, remaining: 0 });
    expect(await context.master.get(free)).toBeNull();
    await expectKey(context, mine, claim.token, 20_000);
  });

  it("sets the keys that are gone, with repair", async () => {
    const claim = claimOf(2);
    const [mine, free] = claim.resources as [string, string];
    await context.master.set(mine, claim.token, 20_000);
    expect(await ask(context.node).extend(claim, true)).toEqual({ is: "yes", remaining: long });
    for (const resource of [mine, free]) await expectKey(context, resource, claim.token, long);
  });

  it("takes the longest ttl there is", async () => {
    const claim = claimOf(1, Number.MAX_SAFE_INTEGER);
    expect(await ask(context.node).vote(claim)).toEqual({ is: "yes", remaining: Number.MAX_SAFE_INTEGER });
    const answer = await ask(context.node).extend(claim, true);
    // The parser of ioredis 6 reads whole numbers this large one too high or too low.
    expectBetween(answer, Number.MAX_SAFE_INTEGER - slack, Number.MAX_SAFE_INTEGER + 1);
  });
}

function releaseCases(context: Context): void {
  it("deletes the key with its token", async () => {
    const claim = claimOf(3);
    await ask(context.node).vote(claim);
    expect(await ask(context.node).release(claim.resources, claim.token)).toEqual({ is: "done" });
    for (const resource of claim.resources) expect(await context.master.get(resource)).toBeNull();
  });

  it("is a no the second time, and changes nothing", async () => {
    const claim = claimOf(1);
    await ask(context.node).vote(claim);
    await ask(context.node).release(claim.resources, claim.token);
    expect(await ask(context.node).release(claim.resources, claim.token)).toEqual({ is: "missed" });
  });

  it("does not delete a foreign key", async () => {
    const [resource] = claimOf(1).resources as [string];
    await context.master.set(resource, "another-client", 30_000);
    expect(await ask(context.node).release([resource], "mine")).toEqual({ is: "missed" });
    await expectKey(context, resource, "another-client", 30_000);
  });

  it("deletes its own keys among foreign ones, and is a no", async () => {
    const claim = claimOf(2);
    const [mine, foreign] = claim.resources as [string, string];
    await context.master.set(mine, claim.token, long);
    await context.master.set(foreign, "another-client", long);
    expect(await ask(context.node).release(claim.resources, claim.token)).toEqual({ is: "missed" });
    expect(await context.master.get(mine)).toBeNull();
    expect(await context.master.get(foreign)).toBe("another-client");
  });
}

function inspectCases(context: Context): void {
  it("returns the owner and remaining time of a key, of a free one and of one without expiry", async () => {
    const [held, free, endless] = claimOf(3).resources as [string, string, string];
    await context.master.set(held, "another-client", 30_000);
    await context.master.set(endless, "another client");
    const holding = await ask(context.node).inspect(held);
    expect(holding).toMatchObject({ owner: shown("another-client") });
    expectBetween(holding, 30_000 - slack, 30_000);
    expect(await ask(context.node).inspect(free)).toEqual({
      is: "state",
      owner: undefined,
      remaining: 0,
      queueLength: 0,
    });
    expect(await ask(context.node).inspect(endless)).toEqual({
      is: "state",
      owner: shown("another client"),
      remaining: Number.POSITIVE_INFINITY,
      queueLength: 0,
    });
    await expectKey(context, held, "another-client", 30_000);
  });
}

function wrongTypeCases(context: Context): void {
  const claims: Record<string, (node: LockNode, claim: TestClaim) => Promise<unknown>> = {
    "a vote": (node, claim) => ask(node).vote({ ...claim, resources: claim.resources.slice(1) }),
    "a vote for several": (node, claim) => ask(node).vote(claim),
    "an extension": (node, claim) => ask(node).extend(claim, false),
    "a repair": (node, claim) => ask(node).extend(claim, true),
  };
  for (const [what, call] of Object.entries(claims)) {
    it(`refuses ${what}: another program's key, such as the hash of a Redisson lock`, async () => {
      const claim = claimOf(2);
      await context.master.set(claim.resources[0]!, claim.token, long);
      await context.master.setList(claim.resources[1]!);
      const answer = (await call(context.node, claim)) as No;
      // By its type, if the user may ask for it.
      expect(["(list)", "(no string)"].includes(answer.owner!)).toBe(true);
      expect(answer).toEqual({
        is: "no",
        resource: claim.resources[1],
        owner: answer.owner,
        remaining: Number.POSITIVE_INFINITY,
      });
    });
  }

  it("stays when the other keys of a lock are released", async () => {
    const claim = claimOf(2);
    await context.master.set(claim.resources[0]!, claim.token, long);
    await context.master.setList(claim.resources[1]!);
    expect(await ask(context.node).release(claim.resources, claim.token)).toEqual({ is: "missed" });
    expect(await context.master.get(claim.resources[0]!)).toBeNull();
    expect(await context.master.pttl(claim.resources[1]!)).toBe(-1);
  });

  it("makes inspect a fault with the master's error, and no rejection", async () => {
    const [resource] = claimOf(1).resources;
    await context.master.setList(resource!);
    const answer = await ask(context.node).inspect(resource!);
    expect(answer).toMatchObject({ is: "fault", sent: true, error: { reason: "WRONGTYPE" } });
    expect((answer as Fault).error.node).toBe(context.node.name);
  });

  it("leaves the other resources of a vote unset", async () => {
    const claim = claimOf(2);
    await context.master.setList(claim.resources[1]!);
    await ask(context.node).vote(claim);
    expect(await context.master.get(claim.resources[0]!)).toBeNull();
  });
}

function nameCases(context: Context): void {
  const names = {
    "spaces and line ends": "a b\r\n\tc",
    quotes: `"'\`\\`,
    "other scripts": "счёт 發票 🧾",
    numbers: "007",
    "a prototype": "__proto__",
    "a long name": "x".repeat(5000),
    wildcards: "*?[a-z]",
  };
  for (const [what, name] of Object.entries(names)) {
    it(`takes ${what}`, async () => {
      const resource = `${claimOf(1).resources[0]}${name}`;
      const claim = claimOf([resource, `${resource}2`]);
      const one = claimOf([`${resource}3`]);
      for (const each of [claim, one]) {
        expect(await ask(context.node).vote(each)).toMatchObject({ is: "yes" });
        for (const key of each.resources) expect(await context.master.get(key)).toBe(each.token);
        expect(await ask(context.node).vote(claimOf(each.resources))).toMatchObject({
          is: "no",
          resource: each.resources[0],
          owner: shown(each.token),
        });
        expect(await ask(context.node).release(each.resources, each.token)).toEqual({ is: "done" });
      }
    });
  }

  it("compares tokens as text, also those that look like numbers", async () => {
    const claim = claimOf(1, long, "0007e1");
    await ask(context.node).vote(claim);
    expect(await ask(context.node).release(claim.resources, "70")).toEqual({ is: "missed" });
    const answer = await ask(context.node).vote(claimOf(claim.resources));
    expect(answer).toMatchObject({ is: "no", owner: shown("0007e1") });
    expect(await ask(context.node).release(claim.resources, "0007e1")).toEqual({ is: "done" });
  });
}

function orderCases(context: Context): void {
  // A script that is sent for the first time needs a second command, behind the others: that is a case below.
  beforeEach(() => knowScripts(context));

  for (const count of [1, 3]) {
    it(`a release right behind a vote for ${count} leaves nothing`, async () => {
      const claim = claimOf(count);
      const vote = ask(context.node).vote(claim);
      const release = ask(context.node).release(claim.resources, claim.token);
      expect(await vote).toMatchObject({ is: "yes" });
      expect(await release).toEqual({ is: "done" });
      for (const resource of claim.resources) expect(await context.master.get(resource)).toBeNull();
    });

    it(`a release right behind a repair of ${count} leaves nothing`, async () => {
      const claim = claimOf(count);
      const repair = ask(context.node).extend(claim, true);
      const release = ask(context.node).release(claim.resources, claim.token);
      expect(await repair).toMatchObject({ is: "yes" });
      expect(await release).toEqual({ is: "done" });
      for (const resource of claim.resources) expect(await context.master.get(resource)).toBeNull();
    });
  }

  it("a vote behind a release gets the released key", async () => {
    const mine = claimOf(2);
    const next = claimOf(mine.resources);
    await ask(context.node).vote(mine);
    const release = ask(context.node).release(mine.resources, mine.token);
    const vote = ask(context.node).vote(next);
    expect(await release).toEqual({ is: "done" });
    expect(await vote).toMatchObject({ is: "yes" });
    for (const resource of next.resources) expect(await context.master.get(resource)).toBe(next.token);
  });

  it("answers each of several calls that are unanswered at once with its own answer, also after a reconnect", async () => {
    const { resources } = claimOf(6);
    for (const [index, resource] of resources.entries())
      await context.master.set(resource, `${index} owns it`, long);
    const inspectAll = async (): Promise<ReadonlyArray<Promise<Answer>>> => {
      const answers: Array<Promise<Answer>> = [];
      for (const resource of resources) {
        answers.push(ask(context.node).inspect(resource));
        // A turn for each, or they are sent as one command.
        await turn();
      }
      return answers;
    };
    for (const isLost of [false, true, false]) {
      context.path.holdReplies();
      const answers = await inspectAll();
      await context.path.heldReplies();
      if (isLost) context.path.reset();
      context.path.deliverReplies();
      const owners = (await Promise.all(answers)).map((answer) =>
        answer.is === "state" ? answer.owner : "none",
      );
      expect(owners).toEqual(resources.map((_, index) => (isLost ? "none" : shown(`${index} owns it`))));
      if (isLost) await untilReachable(context.node);
    }
  });

  it("answers each of a hundred calls at once with its own answer", async () => {
    const claims = Array.from({ length: 100 }, (_, index) => claimOf((index % 3) + 1));
    const votes = await Promise.all(claims.map((claim) => ask(context.node).vote(claim)));
    expect(votes.every(({ is }) => is === "yes")).toBe(true);
    const rivals = await Promise.all(
      claims.map(({ resources }) => ask(context.node).vote(claimOf(resources))),
    );
    expect(rivals.map((answer) => answer.is === "no" && answer.owner)).toEqual(
      claims.map(({ token }) => shown(token)),
    );
    const releases = claims.map((claim) => ask(context.node).release(claim.resources, claim.token));
    expect((await Promise.all(releases)).every(({ is }) => is === "done")).toBe(true);
  });
}

function forgottenScriptCases(context: Context): void {
  it("are sent again, by a vote, an extension and a release", async () => {
    const claim = claimOf(2, 20_000);
    await context.master.forgetScripts();
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "yes" });
    await context.master.forgetScripts();
    expect(await ask(context.node).extend({ ...claim, ttl: long }, true)).toMatchObject({ is: "yes" });
    await context.master.forgetScripts();
    expect(await ask(context.node).release(claim.resources, claim.token)).toEqual({ is: "done" });
  });

  it("still return the owner that refused a vote", async () => {
    const claim = claimOf(1);
    await context.master.set(claim.resources[0]!, "another-client", 30_000);
    await context.master.forgetScripts();
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "no", owner: shown("another-client") });
  });

  for (const [what, call] of Object.entries({
    vote: (node: LockNode, claim: TestClaim) => ask(node).vote(claim),
    repair: (node: LockNode, claim: TestClaim) => ask(node).extend(claim, true),
  })) {
    for (const forgotten of ["all", "all but that of the release"]) {
      it(`leave nothing of a ${what} that was abandoned before the NOSCRIPT reply: ${forgotten}`, async () => {
        const claim = claimOf(2);
        await context.master.forgetScripts();
        if (forgotten !== "all") await ask(context.node).release(claim.resources, claim.token);
        const answer = call(context.node, claim);
        claim.abandoned = true;
        const release = ask(context.node).release(claim.resources, claim.token);
        await answer;
        await release;
        for (const resource of claim.resources) expect(await context.master.get(resource)).toBeNull();
      });
    }
  }
}

function firstConnectionCases(context: Context): void {
  it("is waited for", async () => {
    context.path.hold();
    const claim = claimOf(1);
    const { isSettled, answer } = watch(ask(context.connect()).vote(claim));
    await context.path.held();
    await turn();
    expect(isSettled()).toBe(false);
    context.path.deliver();
    expect(await answer).toMatchObject({ is: "yes" });
  });

  it("keeps the order of the calls that wait for it", async () => {
    await knowScripts(context);
    context.path.hold();
    const node = context.connect();
    const [claim, next] = [claimOf(2), claimOf(1)];
    const answers = [
      ask(node).vote(claim),
      ask(node).vote(next),
      ask(node).release(claim.resources, claim.token),
      ask(node).release(next.resources, next.token),
    ];
    await context.path.held();
    context.path.deliver();
    expect((await Promise.all(answers)).map(({ is }) => is)).toEqual(["yes", "yes", "done", "done"]);
    for (const resource of [...claim.resources, ...next.resources]) {
      expect(await context.master.get(resource)).toBeNull();
    }
  });

  it("does not send calls that were abandoned while it was made", async () => {
    context.path.hold();
    const node = context.connect();
    const claims = [claimOf(1), claimOf(2), claimOf(1)];
    const answers = claims.map((claim, index) =>
      index < 2 ? ask(node).vote(claim) : ask(node).extend(claim, true),
    );
    await context.path.held();
    for (const claim of claims) claim.abandoned = true;
    context.path.deliver();
    for (const answer of answers) expect(await answer).toMatchObject({ is: "fault", sent: false });
    // Earlier commands are in front of this one.
    await ask(node).inspect("anything");
    for (const { resources } of claims) expect(await context.master.get(resources[0]!)).toBeNull();
  });

  it("that is refused makes the first call a fault soon, and later calls at once", async () => {
    await context.path.cut();
    const node = context.connect();
    const claim = claimOf(1);
    const unreachable = { is: "fault", sent: false, error: { reason: "UNREACHABLE" } };
    expect(await withinOneSecond(ask(node).vote(claim))).toMatchObject(unreachable);
    const { isSettled, answer } = watch(ask(node).vote(claim));
    await turn();
    expect(isSettled()).toBe(true);
    expect(await answer).toMatchObject(unreachable);
    await context.path.heal();
    await untilReachable(node);
    expect(await ask(node).vote(claim)).toMatchObject({ is: "yes" });
  });
}

function lostConnectionCases(context: Context): void {
  const calls: Record<string, (node: LockNode, claim: TestClaim) => Promise<unknown>> = {
    vote: (node, claim) => ask(node).vote(claim),
    extend: (node, claim) => ask(node).extend(claim, true),
    release: (node, claim) => ask(node).release(claim.resources, claim.token),
    inspect: (node, claim) => ask(node).inspect(claim.resources[0]!),
  };

  it("makes every call a fault at once, and nothing is sent later", async () => {
    await context.path.cut();
    await until("the loss is noticed", async () => {
      const answer = await ask(context.node).inspect("anything");
      return answer.is === "fault" && !answer.sent;
    });
    const claim = claimOf(1);
    for (const [what, call] of Object.entries(calls)) {
      const { isSettled, answer } = watch(call(context.node, claim));
      await turn();
      expect({ what, isSettled: isSettled() }).toEqual({ what, isSettled: true });
      expect(await answer).toMatchObject({
        is: "fault",
        sent: false,
        error: { reason: "UNREACHABLE", node: context.node.name },
      });
    }
    await context.path.heal();
    await untilReachable(context.node);
    expect(await context.master.get(claim.resources[0]!)).toBeNull();
  });

  for (const [what, call] of Object.entries({
    "vote for one": (node: LockNode, claim: TestClaim) => ask(node).vote(claim),
    "vote for several": (node: LockNode, claim: TestClaim) =>
      ask(node).vote({ ...claim, resources: [...claim.resources, `${claim.resources[0]}+`] }),
    repair: (node: LockNode, claim: TestClaim) => ask(node).extend(claim, true),
  })) {
    it(`never sends an unanswered ${what} again`, async () => {
      const claim = claimOf(1);
      context.path.hold();
      const answer = call(context.node, claim);
      await context.path.held();
      context.path.reset();
      expect(await withinOneSecond(answer)).toMatchObject({
        is: "fault",
        sent: true,
        error: { reason: "UNREACHABLE" },
      });
      context.path.deliver();
      await untilReachable(context.node);
      // A resent command would be in front of this one, on the same connection.
      expect(await ask(context.node).inspect(claim.resources[0]!)).toEqual({
        is: "state",
        owner: undefined,
        remaining: 0,
        queueLength: 0,
      });
    });
  }

  it("a vote whose reply was lost with it is a yes when repeated", async () => {
    const claim = claimOf(1);
    context.path.holdReplies();
    const lost = ask(context.node).vote(claim);
    // The reply that is held may be that of another command: only the key tells that the vote is there.
    await until("the master has voted", async () => (await context.master.get(claim.resources[0]!)) !== null);
    context.path.reset();
    context.path.deliverReplies();
    expect(await withinOneSecond(lost)).toMatchObject({ is: "fault", sent: true });
    await expectKey(context, claim.resources[0]!, claim.token, long);
    await untilReachable(context.node);
    expect(await ask(context.node).vote(claim)).toMatchObject({ is: "yes" });
  });

  it("calls onReady each time it is ready again, and the first time", async () => {
    const node = context.connect();
    let ready = 0;
    node.onReady(() => {
      ready += 1;
    });
    await untilReachable(node);
    expect(ready).toBeGreaterThan(0);
    for (const loss of ["first", "second"]) {
      // (A node whose client connects behind it is ready once more, by another connection.)
      const before = ready;
      context.path.reset();
      await until(`onReady after the ${loss} loss`, () => ready > before);
      expect(await ask(node).inspect("anything")).toMatchObject({ remaining: 0 });
    }
  });

  it("sends calls that listeners of onReady make", async () => {
    const claim = claimOf(1);
    const told: Array<Promise<Answer>> = [];
    context.node.onReady(() => void told.push(ask(context.node).vote(claim)));
    context.path.reset();
    await until("onReady", () => told.length > 0);
    expect(await told[0]).toMatchObject({ is: "yes" });
  });
}

function answerCases(context: Context): void {
  /** Calls everything, and counts the answers to each call. */
  const callAll = (): { answers: readonly number[]; isOver: () => boolean } => {
    const claim = claimOf(1);
    const several = claimOf(2);
    const { node } = context;
    const calls: readonly Question[] = [
      claimed("vote", claim),
      // Refused, it asks by whom: that is a second command.
      claimed("vote", claimOf(claim.resources)),
      claimed("vote", several),
      claimed("repair", several),
      questionOf({ verb: "inspect", keys: [claim.resources[0]!], words: [] }),
      questionOf({ verb: "release", keys: several.resources, words: [several.token] }),
      claimed("vote", { ...claimOf(1), abandoned: true }),
    ];
    const answers = calls.map(() => 0);
    const answered = (place: number): void => {
      answers[place] = answers[place]! + 1;
    };
    // Each answer comes with the place of its call.
    calls.forEach((call, place) => {
      node.ask(call, place, { answered });
    });
    return { answers, isOver: () => answers.every((count) => count > 0) };
  };

  it("are one for each call", async () => {
    const { answers, isOver } = callAll();
    await until("all are answered", isOver);
    await ask(context.node).inspect("anything");
    await turn();
    expect(new Set(answers)).toEqual(new Set([1]));
  });

  it("are one for each call if the connection is lost meanwhile and replaced", async () => {
    context.path.holdReplies();
    const { answers, isOver } = callAll();
    await context.path.heldReplies();
    context.path.reset();
    context.path.deliverReplies();
    await until("all are answered", isOver);
    await untilReachable(context.node);
    await turn();
    expect(new Set(answers)).toEqual(new Set([1]));
  });
}

function endCases(context: Context): void {
  it("has a name, and the client it was made from", () => {
    expect(context.node.name).not.toBe("");
    expect(typeof context.node.client).toBe("object");
  });

  for (const how of ["close", "disconnect"] as const) {
    it(`${how} ends the connections, and every later call is a fault`, async () => {
      const claim = claimOf(1);
      await ask(context.node).vote(claim);
      await context.node[how]();
      await until("no connection is left", () => context.path.connections === 0);
      const late = claimOf(1);
      expect(await withinOneSecond(ask(context.node).vote(late))).toMatchObject({ is: "fault" });
      expect(await context.master.get(late.resources[0]!)).toBeNull();
      expect(await context.master.get(claim.resources[0]!)).toBe(claim.token);
    });
  }

  it("close sends earlier calls first", async () => {
    const claim = claimOf(1);
    await ask(context.node).vote(claim);
    void ask(context.node).release(claim.resources, claim.token);
    await context.node.close();
    await until("the key is gone", async () => (await context.master.get(claim.resources[0]!)) === null);
  });
}

async function knowScripts(context: Context): Promise<void> {
  const claim = claimOf(2);
  await ask(context.node).extend(claim, false);
  await ask(context.node).release(claim.resources, claim.token);
}

function expectBetween(answer: object, least: number, most: number): void {
  const { remaining } = answer as { remaining?: number };
  expect(remaining).toBeGreaterThanOrEqual(least);
  expect(remaining).toBeLessThanOrEqual(most);
}

function untilReachable(node: LockNode): Promise<void> {
  return until(`${node.name} answers`, async () => (await ask(node).inspect("anything")).is === "state");
}

function watch<T>(answer: Promise<T>): { isSettled: () => boolean; answer: Promise<T> } {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  answer.then(settle, settle);
  return { isSettled: () => settled, answer };
}

async function withinOneSecond<T>(answer: Promise<T>): Promise<T> {
  const { isSettled } = watch(answer);
  await until("it is answered", isSettled, 1000);
  return answer;
}
