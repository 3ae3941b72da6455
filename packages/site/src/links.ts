import { dirname, join, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { placeOf, root } from "./pages.ts";

type Tokens = Parameters<MarkdownRenderer["renderer"]["render"]>[0];

/** The heading's anchor, as the repository's host makes it: links work in both places. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

/**
 * Makes a file of the repository a page. Its links lead from file to file, and on the site from page to page; a link to a
 * file that is no page becomes plain text, with the file's path as its title, since the repository has no public address.
 */
export function adaptPages(md: MarkdownRenderer): void {
  const { code_inline: render } = md.renderer.rules;
  // In a narrow column a name goes on in the next line behind one of its words.
  md.renderer.rules.code_inline = (...inline) =>
    render!(...inline).replace(/>[^<]+</, (code) =>
      code.replaceAll(/[_./:=,(|](?=[^\s<])|[a-z](?=[A-Z])/g, "$&<wbr>"),
    );
  md.core.ruler.push("pages of the repository", (state) => {
    const { realPath, path } = state.env as { readonly realPath?: string; readonly path: string };
    for (const { children } of state.tokens) {
      const [first] = children ?? [];
      if (first?.content.startsWith("[ ] ")) first.content = first.content.replace("[ ]", "☐");
      if (children) lead(children, relative(root, dirname(realPath ?? path)));
    }
    anchorRules(state.tokens);
    for (const [index, { type }] of state.tokens.entries())
      if (type === "th_open" && state.tokens[index + 1]?.content === "")
        unhead(state.tokens.slice(index, index + 3));
  });
}

/** A paragraph that begins with the number of a rule, in bold, can be led to: `#rule-2.6`. */
function anchorRules(tokens: Tokens): void {
  for (const [index, { type, content }] of tokens.entries()) {
    const [, rule] = type === "inline" ? (/^\*\*(\d+\.\d+) /.exec(content) ?? []) : [];
    if (rule !== undefined) tokens[index - 1]?.attrSet("id", `rule-${rule}`);
  }
}

/** The corner above a column of names is no header. */
function unhead(tokens: Tokens): void {
  for (const token of tokens) if (token.tag === "th") token.tag = "td";
}

function lead(tokens: Tokens, folder: string): void {
  let isPlain = false;
  for (const token of tokens) {
    if (token.type === "link_close" && isPlain) {
      token.tag = "span";
      isPlain = false;
    }
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    if (href === null || /^[a-z]+:|^#|^\//.test(href)) continue;
    const [file = "", anchor] = href.split("#");
    const target = join(folder, decodeURI(file));
    const place = placeOf(target.replace(/\/$/, "")) ?? placeOf(join(target, "README.md"));
    if (place !== undefined) {
      token.attrSet("href", `/${place}${anchor === undefined ? "" : `#${anchor}`}`);
      continue;
    }
    token.tag = "span";
    token.attrs = [["title", target]];
    isPlain = true;
  }
}
