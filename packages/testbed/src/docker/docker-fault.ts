import type { Master } from "../masters.ts";
import { docker } from "./docker-command.ts";

/** The network that containers are in where nothing else is said. */
const networkName = "bridge";

/** Cuts a master in a container off from its network. */
export interface NetworkCut {
  /** Resolves when it is connected again, at the same address and port. */
  heal(): Promise<void>;
}

/**
 * `docker network disconnect` for a master that runs in a container of ours: the server goes on, and neither its
 * connections nor new ones reach it. (A hung one, by `docker pause`, is what `Master.hang` makes.)
 */
export async function disconnectNetwork(master: Master): Promise<NetworkCut> {
  const container = (await docker(["ps", "--quiet", "--filter", `publish=${master.port}`])).trim();
  if (container === "") throw new Error(`no container publishes port ${master.port}`);
  await docker(["network", "disconnect", "--force", networkName, container]);
  return {
    heal: async () => {
      await docker(["network", "connect", networkName, container]);
    },
  };
}
