/** The connection was lost, as this library tells it: no reply of a server, whose text it may repeat. */
export class Lost extends Error {
  readonly code = "LOST";
}

/** The connection of the command has been replaced or is not ready: nothing was sent. */
export class NotSent extends Lost {
  override name = "NotSent";
}
