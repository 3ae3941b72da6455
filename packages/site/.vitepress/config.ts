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
      .filter((file) => !file.endsWith("README.md"))
      .map((file) => ({ text: file.replace(`${reference}/`, "").replace(".md", ""), link: pathOf(file) })),
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

export default defineConfig({
  title: "Quorlock",
  description: "A distributed lock for TypeScript over several independent Redis servers.",
  // Pages are read where they are: nothing is copied.
  srcDir: "../..",
  outDir: "dist",
  cacheDir: ".vitepress/cache",
  srcExclude: ["test/**", ".*/**", "packages/*/api/**", "packages/*/CHANGELOG.md"],
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
    // The guide says what a name is for; the reference would outnumber it.
    search: {
      provider: "local",
      options: {
        _render: (source, env, md) => (env.path.includes(reference) ? "" : md.render(source, env)),
      },
    },
    nav: [
      { text: "Guide", link: pathOf("packages/redlock/README.md") },
      { text: "Protocol", link: pathOf("docs/protocol.md") },
    ],
  },
  vite: {
    publicDir: fileURLToPath(new URL("../public", import.meta.url)),
    plugins: [vueOfThisPackage, llms({ excludeIndexPage: false })],
    build: { chunkSizeWarningLimit: 2000 },
  },
});
