// redlock-universal runs on Node 20 (the benchmark runs it there) but declares Node 22;
// `engineStrict` would refuse the whole install for it.
module.exports = {
  hooks: {
    readPackage(manifest) {
      if (manifest.name === "redlock-universal") delete manifest.engines;
      return manifest;
    },
  },
};
