import { failed, unexpected } from "../protocol/faults.ts";
import type { Fault } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import type { Moment, Reading } from "../protocol/reading.ts";
import { type Batch, type Posted, settle, type Wire, withoutAbandoned } from "./batch.ts";
import { decode, type Encoded, errorIn, repliesIn } from "./commands.ts";
import type { Done } from "./connection.ts";
import { timeIn } from "./reply-numbers.ts";
import { turn } from "./turn.ts";

/** Questions as scripts, many in one command; a vote for one resource is a plain SET. */
export const scriptWire: Wire = { patience: 0, carry: send };

function send(
  batch: Batch,
  posted: readonly Posted[] = batch.posted,
  message: Encoded = turn.encoded(posted),
): void {
  batch.begin();
  const { connection } = batch;
  const sent = message.readsTime ? batch.owner.clock.now() : undefined;
  const done: Done = (reply, error) => {
    turn.forget(message);
    if (error === undefined) read(batch, posted, message, reply, sent);
    else fail(batch, posted, message, error);
    batch.end();
  };
  try {
    if (connection.deliver) connection.deliver(message, done);
    else
      connection
        .send(message.command, message.args)
        .then(done, (error: unknown) => done(undefined, error ?? noReason));
  } catch (error) {
    // A client library that throws counts as a failed connection.
    void Promise.resolve().then(() => done(undefined, error ?? noReason));
  }
}

const noReason = new Error("rejected without a reason");

/** Gives each question the reply at its own position (PROTOCOL 12.3). */
function read(
  batch: Batch,
  posted: readonly Posted[],
  message: Encoded,
  reply: unknown,
  sent: Moment | undefined,
): void {
  const { name } = batch.connection;
  if (!message.script) {
    const [vote] = posted as readonly [Posted];
    // PROTOCOL 2.12: the key was free, and lives for the ttl from now.
    if (reply === "OK") settle(vote, { is: "yes", remaining: vote.question.ttl });
    else if (reply === null) askForOwner(batch, vote);
    else settle(vote, unexpected(name, reply));
    return;
  }
  const replies = repliesIn(message, reply);
  const reading = sent && readingIn(batch, replies[message.count], sent);
  for (let index = 0; index < posted.length; index += 1) {
    const one = posted[index]!;
    const ownReply = replies[index];
    const error = errorIn(ownReply);
    if (one.question.verb === "time") settle(one, reading!);
    else if (error === undefined)
      settle(one, decode(one.question, ownReply) ?? unexpected(name, ownReply), reading);
    else settle(one, refused(batch, error, one.question.words), reading);
  }
}

function readingIn({ connection, owner }: Batch, reply: unknown, sent: Moment): Reading | Fault {
  const time = timeIn(reply);
  if (time !== undefined) return owner.clock.observe(sent, time);
  const error = errorIn(reply);
  return error === undefined ? unexpected(connection.name, reply) : failed(connection.name, error, true, []);
}

/**
 * The SET was refused: asks for the owner and the remaining time. The owner may be this very token, if an
 * earlier reply was lost (PROTOCOL 2.7). The question creates no key, so it may be asked even after the round
 * was rolled back.
 */
function askForOwner(batch: Batch, vote: Posted): void {
  const question = questionOf({ ...vote.question, verb: "extend", claim: undefined });
  if (batch.isCurrent) send(batch, [{ ...vote, question }]);
  // The SET was sent: the key may hold the token.
  else settle(vote, failed(batch.connection.name, batch.connection.notReadyReason, false, question.words));
}

function fail(batch: Batch, posted: readonly Posted[], message: Encoded, error: unknown): void {
  const { script, args, command } = message;
  const isReply = batch.connection.isErrorReply(error);
  const reason = isReply ? error.message : "";
  const canRetry = isReply && batch.isCurrent;
  if (script && canRetry && command === "EVALSHA" && reason.startsWith("NOSCRIPT")) {
    // Sends the script text instead. It goes out behind later commands, possibly behind a rollback, so
    // never for an abandoned claim. A release may be sent late.
    const wanted = withoutAbandoned(posted, batch.owner.abandonedFault);
    const byText = { ...message, command: "EVAL", args: [script.source, ...args.slice(1)], wire: undefined };
    if (wanted.length === posted.length) send(batch, posted, byText);
    else if (wanted.length > 0) send(batch, wanted);
  } else if (canRetry && posted.length > 1 && isRefusedUnexecuted.test(reason)) {
    for (const one of withoutAbandoned(posted, batch.owner.abandonedFault)) send(batch, [one]);
  } else {
    const words = posted.flatMap(({ question }) => question.words);
    const fault = isReply ? refused(batch, error, words) : failed(batch.connection.name, error, false, words);
    for (const one of posted) settle(one, fault);
  }
}

/** The fault of an error reply, which may show that the connection leads to a wrong server. */
function refused(batch: Batch, error: unknown, words: readonly string[]): Fault {
  const fault = failed(batch.connection.name, error, true, words);
  if (batch.isCurrent) batch.connection.onErrorReply?.(fault.error.error);
  return fault;
}

/**
 * Errors by which a master refuses a whole batch before executing any part of it: the user may not run the script on
 * some of the keys, it is a server of a Cluster, or the list does not match its arguments. Each question may be sent
 * again by itself (PROTOCOL 12.6).
 */
const isRefusedUnexecuted = /^(NOPERM|CROSSSLOT|BATCH)\b/;
