import { type Attributes, diag } from "@opentelemetry/api";

/** Returns the class of a lock by its resources. */
export type ResourceClass = (resources: readonly string[]) => string | undefined;

/** The attributes that the class of a lock adds: one object for each class. */
export type ClassOf = (resources: readonly string[]) => Attributes;

const none: Attributes = {};

export function classBy(resourceClass: ResourceClass | undefined): ClassOf {
  if (!resourceClass) return () => none;
  const known = new Map<string, Attributes>();
  return (resources) => {
    try {
      const name = resourceClass(resources);
      if (typeof name !== "string") return none;
      const attributes = known.get(name) ?? { "quorlock.resource.class": name };
      known.set(name, attributes);
      return attributes;
    } catch (error) {
      // Thrown on, it would become an uncaught exception of the process.
      diag.error("resourceClass of @quorlock/opentelemetry has thrown", error);
      return none;
    }
  };
}
