// Its dependencies are links to another folder.
export default { turbopack: { root: "/" }, outputFileTracingRoot: "/" };
