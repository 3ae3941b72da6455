/** The steps whose short runs found nothing of their own: see the table of harnesses in CONTRIBUTING.md. */
const groups = ["node-redis", "interop", "engines", "specification", "benchmark"];
/** Cases on real masters, which repeat those of the newest ioredis by another client library, version or mode, and take minutes. */
const cases = "cluster ioredis-oldest iovalkey node-redis node-redis-oldest one-redis without-scripts";
const repeats = cases.split(" ").map((name) => `test/behaviours/${name}`);
/**
 * Files and folders of tests of what stands around the client, of the packages as they are published, of what the contract adds to
 * that of ioredis, and the searches that take longest: six parts that take about as long, of which each commit runs one.
 */
const parts = [
  "packages/cli,packages/simulation/src/mutants,test/tarball/cli",
  "packages/opentelemetry,packages/simulation/src/run/unviolated,test/tarball/frameworks,test/contract/server,test/contract/acl",
  "examples,test/examples,test/agents,test/serve,packages/simulation/src/run/run-plan,test/tarball/redlock-4",
  "packages/bench,packages/site,packages/soak,test/contract/node-redis,test/contract/ended-while-dialing,test/contract/oldest-versions",
  "packages/spec,packages/simulation/src/cli,test/tarball/tarball,test/commands",
  "packages/simulation/src/search,test/tarball/testing,test/tarball/readme,test/contract/embedded,test/contract/exported",
];

/** Each commit takes one of each list, the next commit the next one: in time all of them have run. */
export const lists: ReadonlyArray<readonly string[]> = [groups, repeats, parts];

export function turns(commits: number, isAll: boolean) {
  const taken = isAll ? lists.flat() : lists.map((names) => names[commits % names.length]!);
  return { taken, waiting: lists.flat().filter((name) => !taken.includes(name)) };
}
