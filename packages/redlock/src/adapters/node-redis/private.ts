import { memberOf } from "../members.ts";

// The member of node-redis that is used and that its documentation does not name. It was tried on node-redis 5.0, 5.12, 6.0
// and 6.3, and hidden once.
//
// | member        | why                                    | public road            | fails without it                                   |
// | ------------- | -------------------------------------- | ---------------------- | -------------------------------------------------- |
// | `socketEpoch` | closed before the Redlock was made     | counts as never opened | node-redis.deep "locks end with the user's client" |

/** Whether a client was connected before. Public road: none; it counts as one that was never opened. */
export function wasConnected(client: object): boolean {
  return Number(memberOf(client, "socketEpoch")) > 0;
}
