import { InvalidArgumentError, listed, ownPrefix } from "../errors.ts";
import { readable, shown } from "./ranges.ts";

/** Checks resource names and returns them as a new list. */
export function resourceList(resources: unknown): readonly string[] {
  const list = readable("the list of resources", (): readonly unknown[] =>
    Array.isArray(resources) ? [...(resources as unknown[])] : [resources],
  );
  if (list.length === 0)
    throw new InvalidArgumentError("resources must name at least one resource, but is empty");
  for (const resource of list) {
    if (typeof resource !== "string" || resource === "") {
      const found = resource === "" ? "an empty string" : shown(resource);
      throw new InvalidArgumentError(`a resource must be a non-empty string, but one is ${found}`);
    }
    checkWellFormed("a resource", resource);
  }
  if (list.length === 1) return list as readonly string[];
  const seen = new Set<unknown>();
  for (const resource of list) {
    if (seen.has(resource)) {
      throw new InvalidArgumentError(
        `each resource may be named once, but ${JSON.stringify(resource)} is named twice`,
      );
    }
    seen.add(resource);
  }
  return list as readonly string[];
}

/** The resources of what `resume` is given: whatever else it is, no message shows it, since it may hold a token. */
export function resourcesOf(detached: unknown): readonly string[] {
  const isObject = typeof detached === "object" && detached !== null && !Array.isArray(detached);
  if (isObject) return resourceList((detached as { readonly resources?: unknown }).resources);
  const found = typeof detached === "string" ? "text: parse it by JSON.parse" : shown(detached);
  throw new InvalidArgumentError(`a detached lock must be the object that detach returned, but is ${found}`);
}

/**
 * In UTF-8 every lone surrogate becomes U+FFFD: two names would be one key, and the key would differ from the name.
 */
function checkWellFormed(what: string, name: string): void {
  if (name.isWellFormed()) return;
  throw new InvalidArgumentError(
    `${what} must be well-formed Unicode, but ${JSON.stringify(name)} has a lone surrogate`,
  );
}

/**
 * Returns why users cannot lock these resources: one is a key of the library's own, with the client's prefix
 * (PROTOCOL 1.8, 13.2).
 */
export function whyReserved(resources: readonly string[], keyPrefix = ""): string | undefined {
  for (const resource of resources) {
    if (resource.startsWith(ownPrefix)) return `${mustNot}, but one is ${listed([resource])}`;
    if (keyPrefix !== "" && (keyPrefix + resource).startsWith(ownPrefix)) {
      return `${mustNot}, but with the client's keyPrefix one is ${listed([keyPrefix + resource])}`;
    }
  }
  return undefined;
}

const mustNot = `a resource must not begin with "${ownPrefix}", which is for this library's own keys`;

/**
 * Checks the name of a primitive that consists of several resources; `what` names it in the message. `isCluster`: it is
 * their hash tag, and a master is a Redis Cluster.
 */
export function checkName(what: string, name: unknown, isCluster = false): asserts name is string {
  if (typeof name !== "string" || name === "") {
    const found = name === "" ? "an empty string" : shown(name);
    throw new InvalidArgumentError(`the name of a ${what} must be a non-empty string, but is ${found}`);
  }
  checkWellFormed(`the name of a ${what}`, name);
  if (name.startsWith(ownPrefix)) {
    throw new InvalidArgumentError(
      `the name of a ${what} must not begin with "${ownPrefix}", which is for this library's own keys, but is ${shown(name)}`,
    );
  }
  // (`{}` is no hash tag.)
  if (isCluster && name.startsWith("}")) {
    throw new InvalidArgumentError(
      `on a Redis Cluster the name of a ${what} must not begin with "}": its keys would have no common hash slot`,
    );
  }
}
