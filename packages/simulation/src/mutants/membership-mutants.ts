import type { ClientPlan, Plan } from "../plan/plan.ts";
import type { MutantRows } from "./mutant.ts";

/** Faults in how the list of masters is changed: PROTOCOL 1.13. Each must give two holders where it is changed under load. */
export const membershipMutants: MutantRows = {
  "two masters are added at once": {
    breaks: ["1.13"],
    from: 75,
    planOf: (plan) => (growth(plan) === 2 ? inOneStep(plan) : plan),
  },
  "a master is replaced in one step": {
    breaks: ["1.13"],
    from: 9,
    planOf: (plan) => (growth(plan) === 0 ? inOneStep(plan) : plan),
  },
  "the next change of the list begins without the wait for the longest ttl": {
    breaks: ["1.13"],
    from: 2,
    planOf: withoutWait,
  },
};

/** The number of masters that the last list has more than the first. */
function growth({ clients }: Plan): number {
  const [first = [], last = []] = [clients[0]?.masters, clients.at(-1)?.masters];
  return last.length - first.length;
}

/** Clients with the first list are followed by clients with the last one. */
function inOneStep(plan: Plan): Plan {
  const [first, last] = [plan.clients[0]!, plan.clients.at(-1)!];
  const isFirst = (client: ClientPlan): boolean => String(client.masters) === String(first.masters);
  const clients = plan.clients.map((client) =>
    isFirst(client) ? client : { ...client, masters: last.masters! },
  );
  return { ...plan, clients };
}

/** The second step begins as soon as the last client with the first list has ended. */
function withoutWait(plan: Plan): Plan {
  const { ttl } = plan.settings;
  const [first, last] = [plan.clients[0]!, plan.clients.at(-1)!];
  const clients = plan.clients.map((client) => {
    const list = String(client.masters);
    if (list === String(first.masters)) return client;
    if (list === String(last.masters)) return { ...client, startsAt: client.startsAt! - ttl };
    return { ...client, endsAt: client.endsAt! - ttl };
  });
  return { ...plan, clients };
}
