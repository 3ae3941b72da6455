import { type Context, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { HoldMessage, TracedMessages } from "@quorlock/redlock/tracing";
import { leaveToRoutine } from "./instrument.ts";
import { Listeners } from "./listeners.ts";
import type { ClassOf } from "./resource-class.ts";

type Name = keyof TracedMessages;
type Message = TracedMessages[Name];

/** Others hold the lock, or the caller wants it no more: an outcome, and no error. */
const noErrors: ReadonlySet<string> = new Set(["RESOURCE_LOCKED", "ABORTED", "CLOSED"]);

/** Records a span for each acquire, hold, extension and release. Returns a function that ends it. */
export function observeSpans(tracer: Tracer, classOf: ClassOf): () => void {
  const listeners = new Listeners();
  const open = new Map<Message, Span>();

  const observe = <Of extends Name>(
    name: Of,
    parentOf: (message: TracedMessages[Of]) => Context = () => context.active(),
  ): void => {
    const spanName = `quorlock ${name}`;
    listeners.traced(name, "start", (message) => {
      const span = tracer.startSpan(spanName, { attributes: classOf(message.resources) }, parentOf(message));
      open.set(message, span);
      if (name === "hold") leaveToRoutine(span);
    });
    listeners.traced(name, "asyncEnd", (message: Message) => {
      const span = open.get(message);
      // Otherwise it began before the registration.
      if (!span) return;
      open.delete(message);
      finish(span, message);
    });
  };

  // A renewal runs in the context of whichever call has set the timer. Its parent is its hold.
  const inside = ({ hold }: { readonly hold: HoldMessage | undefined }): Context => {
    const span = hold && open.get(hold);
    return span ? trace.setSpan(context.active(), span) : context.active();
  };
  observe("acquire");
  observe("hold");
  observe("extend", inside);
  observe("release");
  return () => {
    listeners.stop();
    open.clear();
  };
}

function finish(span: Span, message: Message): void {
  span.setAttribute("quorlock.outcome", message.outcome ?? "failed");
  if ("ttl" in message) span.setAttribute("quorlock.ttl", message.ttl / 1000);
  if ("waits" in message) span.setAttribute("quorlock.waits", message.waits);
  if ("margin" in message) span.setAttribute("quorlock.renewal.margin", message.margin / 1000);
  if ("errorCode" in message && !noErrors.has(message.errorCode)) {
    span.setAttribute("error.type", message.errorCode);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
