import { Inject, type InjectionToken } from "@nestjs/common";
import { Redlock } from "@quorlock/redlock";

/** The token of a Redlock: without a name the class itself, so that a constructor injects it by its type. */
export function redlockToken(name?: string): InjectionToken<Redlock> {
  return name === undefined ? Redlock : `quorlock:${name}`;
}

/** Injects the Redlock of this name. */
export function InjectRedlock(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(redlockToken(name));
}
