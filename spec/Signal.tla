------------------------------- MODULE Signal -------------------------------
\* The signal of a holder, and the timer that aborts it: rules 1.11, 3.6 and 4.1 of docs/protocol.md. One clock: rates are in Lock, and
\* so are quorums. An answer is that of a quorum.
EXTENDS Integers
CONSTANTS
  Ttl,
  Notice,  \* how long before the deadline the signal aborts
  IsFree   \* 1.6 whether the event loop is free: if not, a timer may be late
VARIABLES
  now, deadline,
  state,    \* "held", "lost", "over": lost is told by the signal, over is what the holder has released
  timer,    \* when it fires next
  answers,  \* the yeses on their way, each with the time of its send
  rival     \* whether another client has held
vars == <<now, deadline, state, timer, answers, rival>>
Max(x, y) == IF x > y THEN x ELSE y

\* 1.11 When the signal is due.
Due == deadline - Notice
\* 3.6 Answered from the clock whenever it is asked.
Holds == state = "held" /\ now < deadline
Ask == state = "held" /\ answers' = answers \cup {now} /\ UNCHANGED <<now, deadline, state, timer, rival>>
\* 2.4, 3.3, 4.1 A yes counts from its send, before the deadline. The timer stays as it is.
Hear(sent) ==
  /\ Holds /\ deadline' = Max(deadline, sent + Ttl) /\ answers' = answers \ {sent}
  /\ UNCHANGED <<now, state, timer, rival>>
\* One that was set for an earlier deadline sets itself again.
Fire ==
  /\ state = "held" /\ timer <= now
  /\ IF now >= Due THEN state' = "lost" /\ UNCHANGED timer ELSE timer' = Due /\ UNCHANGED state
  /\ UNCHANGED <<now, deadline, answers, rival>>
Release == state = "held" /\ state' = "over" /\ UNCHANGED <<now, deadline, timer, answers, rival>>
Tick ==
  /\ IsFree /\ state = "held" => now < timer
  /\ now' = now + 1 /\ UNCHANGED <<deadline, state, timer, answers, rival>>
\* Another client holds when the keys have run out, which is at the deadline at the earliest, or are released.
Follow == (now >= deadline \/ state = "over") /\ rival' = TRUE /\ UNCHANGED <<now, deadline, state, timer, answers>>
Init == now = 0 /\ deadline = Ttl /\ state = "held" /\ timer = Due /\ answers = {} /\ rival = FALSE
Next == Ask \/ Fire \/ Release \/ Tick \/ Follow \/ \E sent \in answers : Hear(sent)
Spec == Init /\ [][Next]_vars

ASSUME Ttl \in Nat /\ Notice \in 1..(Ttl - 1) /\ IsFree \in BOOLEAN
TypeOK == now \in Nat /\ deadline \in Nat /\ timer \in 0..Due /\ answers \subseteq 0..now /\ state \in {"held", "lost", "over"} /\ rival \in BOOLEAN
\* 1.9 Without 1.6 as well.
OneHolder == ~(rival /\ Holds)
\* 1.11 The signal aborts before the deadline, and before another client holds.
ToldInTime == IsFree /\ state = "held" => ~rival /\ now <= deadline - Notice
\* 3.6, 4.1 What is lost or over stays so. No lease ends for its timer before it is due, and none is kept for longer than it was asked for.
\* 3.3 A deadline counts from a send, and 1.11 the timer is set for when the signal is due.
LostStaysLostStep ==
  /\ state # "held" => state' = state /\ deadline' = deadline
  /\ ~Holds => ~Holds'
  /\ state' = "lost" /\ state = "held" => now >= deadline - Notice
  /\ deadline' >= deadline /\ (deadline' # deadline => deadline' - Ttl \in answers)
  /\ timer' # timer => timer' = deadline - Notice
  /\ answers' \ answers # {} => state = "held"
LostStaysLost == [][LostStaysLostStep]_vars
\* A lease is extended beyond its first time, and another client holds as soon as it has run out, or is released. A timer
\* is late where the loop is not free.
MayLast == state = "held" /\ now > Ttl
MayFollowLost == rival /\ state = "lost" /\ now = deadline
MayBeLate == state = "held" /\ now > deadline
MayFollowRelease == rival /\ state = "over" /\ now < deadline
=============================================================================
