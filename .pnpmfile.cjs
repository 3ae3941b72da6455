// These run on Node 20 but declare Node 22; `engineStrict` would refuse the whole install for them. The benchmark runs
// redlock-universal there. Fastify loads cookie for `inject` alone, and Nest 12 file-type for a pipe that checks files.
const runsOnNode20 = ["redlock-universal", "cookie", "file-type"];

module.exports = {
  hooks: {
    readPackage(manifest) {
      if (runsOnNode20.includes(manifest.name)) delete manifest.engines;
      return manifest;
    },
  },
};
