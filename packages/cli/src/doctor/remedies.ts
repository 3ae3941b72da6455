// The remedy of each finding, by the id of its check.

export const remedies: Readonly<Record<string, string>> = {
  "independent.same-server": "name each master once: one server that votes twice is no quorum",
  "independent.replication":
    "use masters without replicas and failover, and end replication (REPLICAOF NO ONE)",
  "independent.replica": "name its master instead, or a server without replication",
  "independent.cluster-node":
    "use servers outside of a Cluster, or give the client the whole Cluster as one master",
  "independent.proxy": "name the servers behind the proxy or the load balancer",
  "independent.same-host": "run each master on a machine that fails alone",
  "independent.even": "add a master, or remove one",
  "independent.membership": "give all clients one list, and change it by one master at a time",
  "durable.eviction": "set maxmemory-policy noeviction; the count of evicted keys ends with a restart",
  "durable.memory": "raise maxmemory, or remove what else is stored there",
  "durable.persistence":
    "set appendonly yes and appendfsync always; or use restartGuard in the clients, and pass --guard",
  "durable.writes": "look at the server's log: mostly the disk is full, or its folder cannot be written",
  "durable.fork": "turn snapshots or transparent huge pages off, or raise nodeTimeout above this",
  "durable.clock": "run an NTP client on its host, and look at what else sets its clock",
  "usable.reachable": "check address, firewall, TLS options, user and password",
  "usable.version": "use Redis 6.2 or later, or Valkey",
  "usable.clients": "raise maxclients, or find what opens connections and keeps them",
  "usable.scripts": "allow +eval and +evalsha, or use the client without scripts",
  "usable.undeclared-keys":
    "on Dragonfly set --default_lua_flags=allow-undeclared-keys; or use the client with queue: false",
  "usable.subscribe":
    "allow +subscribe, +publish and the channels &quorlock:*, and name no proxy without them",
  "usable.permissions":
    "give the user these rights on ~quorlock:* and on your keys: see Permissions of @quorlock/redlock",
  "usable.round-trip": "use masters that are nearer, or the settings at the end",
  "usable.cold-connection": "raise nodeTimeout above this: a first call does not count this master otherwise",
  "usable.settings": "make a master reachable, and ask again",
};

/** By the code of the error, for masters that do not answer: what they do, and what to do. */
export const unreachable: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  NOAUTH: ["wants a password", "give it in REDLOCK_PASSWORD, --password-file or the address"],
  WRONGPASS: [
    "refuses the user or the password",
    "correct REDLOCK_PASSWORD, --user and --password-file, or the address",
  ],
  MAXCLIENTS: ["has no connection left", "raise maxclients, or find what opens connections and keeps them"],
  DENIED: ["refuses other machines: it is in protected mode", "give its users passwords"],
  LOADING: ["is loading its data", "ask again when it has loaded them"],
  ETIMEDOUT: ["does not answer in time", "see whether it hangs, or raise --timeout if it is far away"],
  ECONNREFUSED: ["refuses connections", "start it, or correct the port"],
  SENTINEL: ["is a Sentinel", "name the master that it watches"],
  ENOTFOUND: ["has a name that leads nowhere", "correct the name, or the DNS"],
};
