/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
const groups = ["node-redis", "interop", "engines", "specification", "benchmark"];
/**
 * Files of tests that take minutes. Those on real masters repeat those of the newest ioredis by another client library, version, mode or
 * user; `commands` starts and ends every command.
 */
const cases = "cluster ioredis-oldest iovalkey node-redis node-redis-oldest one-redis without-scripts";
const repeats = [
  ...cases.split(" ").map((name) => `test/behaviours/${name}`),
  ...["test/contract/acl", "test/contract/oldest-versions", "test/commands"],
];
/**
 * Files and folders of tests of what stands around the client, of the packages as they are published, of what the contract adds to
 * that of ioredis, and the searches that take longest: three parts that take about as long, of which each commit runs one.
 */
const parts = [
  "packages/cli,packages/simulation/src/mutants,packages/simulation/src/run/unviolated,test/tarball/testing,test/tarball/cli",
  "examples,test/examples,test/agents,test/serve,packages/simulation/src/search,packages/simulation/src/run/run-plan,test/tarball/tarball,test/tarball/redlock-4,test/contract/server,test/contract/embedded,test/contract/exported",
  "packages/bench,packages/opentelemetry,packages/site,packages/soak,packages/spec,packages/simulation/src/cli,test/tarball/frameworks,test/tarball/readme,test/contract/node-redis,test/contract/ended-while-dialing",
];

/** Each commit takes one of each list, the next commit the next one: in time all of them have run. */
export const lists: ReadonlyArray<readonly string[]> = [groups, repeats, parts];

export function turns(commits: number, isAll: boolean) {
  const taken = isAll ? lists.flat() : lists.map((names) => names[commits % names.length]!);
  return { taken, waiting: lists.flat().filter((name) => !taken.includes(name)) };
}
