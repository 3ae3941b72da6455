// `prepack` and `postpack`: a registry's page cannot follow a relative link of the README, so the packed one links to
// the files of this very version on unpkg.com, which serves what the registry has.
import { readFileSync, writeFileSync } from "node:fs";

const readme = new URL("README.md", import.meta.url);
const { name, version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const [from, to] = ["](docs/", `](https://unpkg.com/${name}@${version}/docs/`];
const text = readFileSync(readme, "utf8");
const isRelative = process.argv[2] === "--relative";
writeFileSync(readme, isRelative ? text.replaceAll(to, from) : text.replaceAll(from, to));
