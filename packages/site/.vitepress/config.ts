import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig } from "vitepress";
import llms from "vitepress-plugin-llms";
import { adaptPages, anchorOf } from "../src/links.ts";
import { chapters, pathOf, placeOf, reference, referencePages } from "../src/pages.ts";

const sidebar: DefaultTheme.SidebarItem[] = [
  ...chapters.map(({ title, pages }) => ({
    text: title,
    items: pages.map(([file, text]) => ({ text, link: pathOf(file) })),
  })),
  {
    text: "API",
    items: referencePages()
      .filter((file) => file !== `${reference}/README.md`)
      .map((file) => ({ text: pathOf(file).replace("/api", "@quorlock"), link: pathOf(file) })),
  },
];

/** Pages that lie outside of this package do not find its dependencies. */
const vueOfThisPackage = {
  name: "vue of this package",
  enforce: "pre" as const,
  resolveId(id: string, _importer: string | undefined, { ssr }: { readonly ssr?: boolean }) {
    if (id !== "vue" && id !== "vue/server-renderer") return null;
    return ssr
      ? { id, external: true }
      : fileURLToPath(import.meta.resolve(id.replace(/^vue$/, "vue/dist/vue.runtime.esm-bundler.js")));
  },
};

/** Vite reads this file without the condition that leads to sources, so it must not see the name in an import. */
const redlock5Package = "@quorlock/simulation/redlock-5";

/** The other library of the lab, as the module `virtual:redlock-5`. */
const redlock5 = {
  name: "redlock 5",
  resolveId: (id: string) => (id === "virtual:redlock-5" ? id : null),
  async load(id: string) {
    if (id !== "virtual:redlock-5") return null;
    const module: typeof import("@quorlock/simulation/redlock-5") = await import(redlock5Package);
    return module.redlock5Source();
  },
};

export default defineConfig({
  title: "Quorlock",
  description: "A distributed lock for TypeScript over several independent Redis servers.",
  // Pages are read where they are: nothing is copied.
  srcDir: "../..",
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  srcExclude: ["test/**", ".*/**", "packages/*/api/**", "packages/*/CHANGELOG.md", "packages/*/skills/**"],
  rewrites: (file) => placeOf(file) ?? file,
  cleanUrls: true,
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: {
    // Their colours can be read on the grey of a block.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config: (md) => void md.use(adaptPages),
    anchor: { slugify: anchorOf },
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        // The guide says what a name is for; the reference would outnumber it.
        miniSearch: {
          searchOptions: { boostDocument: (id: string) => (id.startsWith("/api/") ? 0.2 : 1) },
        },
      },
    },
    nav: [
      { text: "Lab", link: pathOf("packages/site/lab.md") },
      { text: "Guide", link: pathOf("packages/redlock/README.md") },
      { text: "Protocol", link: pathOf("docs/protocol.md") },
    ],
  },
  vite: {
    publicDir: fileURLToPath(new URL("../public", import.meta.url)),
    resolve: {
      conditions: ["quorlock-source"],
      // Fake timers ask it for names of Node alone.
      alias: { util: fileURLToPath(new URL("../src/lab/no-util.ts", import.meta.url)) },
    },
    worker: { format: "es", plugins: () => [redlock5] },
    plugins: [vueOfThisPackage, redlock5, llms({ excludeIndexPage: false })],
    build: { chunkSizeWarningLimit: 2000 },
  },
});
