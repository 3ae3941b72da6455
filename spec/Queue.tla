-------------------------------- MODULE Queue -------------------------------
\* The queue of waiters: section 7 of docs/protocol.md, over Lock. Each attempt is a waiter, and each of its rounds a heartbeat
\* (7.11). Left out: several resources (7.13), bounds (7.14), waiters that cannot listen (7.4), the reading of tickets (7.2);
\* in the search also extensions (4.2) and callers that do not wait (7.3).
EXTENDS Lock
CONSTANT Deaf  \* the attempts that cannot be told of a grant
VARIABLE
  queue  \* of each master the entries: votes that were refused, each with its waiter and round
queueVars == <<clock, key, net, attempt, queue>>
\* 7.2 Tickets are one total order.
Ticket(a) == a
\* 7.3 The smallest ticket is the first.
IsFirst(e, E) == \A other \in E : Ticket(e.of) <= Ticket(other.of)
\* 7.11 A heartbeat takes the place of the entry before. 2.13, 7.10 An older command changes no later entry.
IsOld(c, E) == \E e \in E : e.of = c.of /\ e.round > c.round
Entries(m, a, r) == {e \in queue[m] : e.of = a /\ e.round <= r}
\* 7.7 A grant is a vote; its deadline counts from the send of the round whose token it names.
Credit(e, m) == IF Counts(e) THEN [attempt EXCEPT ![e.of].deadline[m] = Max(@, e.sent + Lease(e.ttl))] ELSE attempt
\* 7.4 A waiter that cannot be told, or waits for several keys, finds the key reserved with its next heartbeat: no vote yet.
IsReserved(m, e) == e.of \in Deaf /\ e \in queue[m]
ReservedUntil(m, e) == Now(m) + e.ttl
EntryStays(m, e) == IsReserved(m, e)
EntriesAfter(m, E, e) == IF EntryStays(m, e) THEN E ELSE E \ {e}
\* 7.4, 7.8 The key goes to the first of E, whose entry goes; without any it stays free.
Give(m, E) ==
  IF E = {}
  THEN key' = [key EXCEPT ![m] = NoKey] /\ queue' = [queue EXCEPT ![m] = {}] /\ UNCHANGED attempt
  ELSE \E e \in E :
    /\ IsFirst(e, E)
    /\ key' = [key EXCEPT ![m] = [of |-> Token(e.of), round |-> e.round,
                                    until |-> IF IsReserved(m, e) THEN ReservedUntil(m, e) ELSE LifeAfter(m, e)]]
    /\ queue' = [queue EXCEPT ![m] = EntriesAfter(m, E, e)]
    /\ attempt' = IF IsReserved(m, e) THEN attempt ELSE Credit(e, m)

\* 7.1, 7.8, 7.11 A vote that joins the queue where it is refused. Keys that the waiter was given before go to the first.
Enqueue(m, c) ==
  LET E == (queue[m] \ Entries(m, c.of, c.round)) \cup {c} IN
  /\ c.do = "vote" /\ net' = Without(c)
  /\ IF IsOld(c, queue[m]) \/ (Lives(m) /\ key[m].of = Token(c.of) /\ ~Mine(m, c)) THEN UNCHANGED <<key, queue, attempt>>
     ELSE IF MayVote(m, c) THEN Give(m, E)
     ELSE queue' = [queue EXCEPT ![m] = E] /\ UNCHANGED <<key, attempt>>
  /\ UNCHANGED clock
\* 7.4 A release grants the key to the first waiter. 7.10 So does a waiter that leaves: it takes its entry out.
Leave(m, c) ==
  LET E == queue[m] \ Entries(m, c.of, c.round) IN
  /\ c.do = "delete" /\ net' = Without(c)
  /\ IF MayDelete(m, c) THEN Give(m, E) ELSE queue' = [queue EXCEPT ![m] = E] /\ UNCHANGED <<key, attempt>>
  /\ UNCHANGED clock
\* 7.11 An entry whose heartbeat is overdue.
Expire(m, e) == queue' = [queue EXCEPT ![m] = @ \ {e}] /\ UNCHANGED vars

QueueInit == Init /\ queue = [m \in Masters |-> {}]
QueueNext ==
  \/ \E a \in Attempts : Grant(a) /\ UNCHANGED queue
  \/ \E a \in Attempts : Ends(a) /\ UNCHANGED queue
  \/ \E a \in Attempts : \E ttl \in Ttls : Asks(a, ttl) /\ UNCHANGED queue
  \/ Tick /\ UNCHANGED queue
  \/ \E c \in net : Enqueue(c.to, c)
  \/ \E c \in net : Leave(c.to, c) /\ (MayDelete(c.to, c) \/ Entries(c.to, c.of, c.round) # {})
  \/ \E m \in Masters : \E e \in queue[m] : Expire(m, e)
QueueSpec == QueueInit /\ [][QueueNext]_queueVars
\* A client does at last what it can always do, and a command arrives.
Fairness ==
  /\ \A a \in Attempts : WF_queueVars(Grant(a) /\ UNCHANGED queue) /\ WF_queueVars(attempt[a].state = "held" /\ Ends(a) /\ UNCHANGED queue)
  /\ WF_queueVars(\E c \in net : Enqueue(c.to, c) \/ Leave(c.to, c))
QueueFairSpec == QueueSpec /\ Fairness

\* 7.1, 7.11 Each waiter has one entry on a master, and none beside a grant of the same round, but where its key is reserved (7.4):
\* that is no vote.
QueueOK ==
  \A m \in Masters : \A e \in queue[m] :
    /\ e.to = m /\ e.do = "vote" /\ \A other \in queue[m] : other.of = e.of => other = e
    /\ key[m].of = e.of /\ e.of \notin Deaf => e.round > key[m].round
    /\ e.round = attempt[e.of].round => attempt[e.of].deadline[m] = 0
\* 7.4, 7.8 A key is not free while somebody waits for it: it has run out, until the next heartbeat, or is given at once.
NoKeyIsLeftFree == \A m \in Masters : queue[m] # {} => key[m] # NoKey
\* 7.3 On no master is a waiter overtaken: two quorums share one, so none that stands in the queues of a quorum is passed.
NotOvertakenStep ==
  \A m \in Masters : \A a \in Attempts : key'[m].of = a /\ key'[m] # key[m] => \A e \in queue[m] \cap queue'[m] : e.of >= a
NotOvertaken == [][NotOvertakenStep]_queueVars
\* 7.1, 2.12 Who is refused waits, and a key that lasts has the round that was asked for. 7.10 Who leaves is forgotten: neither its
\* entry stays, nor its key. 7.4 A waiter that cannot be told counts only what answers itself. 2.11 No life is shortened.
WaitsOrIsForgottenStep ==
  \A c \in net \ net' :
    LET m == c.to  had(k) == k.of = c.of /\ k.until > Now(m) IN
    /\ c.do = "vote" =>
         \/ c \in queue'[m] \/ (had(key'[m]) /\ key'[m].round >= c.round) \/ \E e \in queue[m] : e.of = c.of /\ e.round > c.round
    /\ c.do = "delete" => (had(key'[m]) => key'[m].round > c.round) /\ \A e \in queue'[m] : e.of = c.of => e.round > c.round
    /\ had(key[m]) /\ had(key'[m]) => key'[m].until >= key[m].until
    /\ \A e \in queue[m] \ queue'[m] : (e.of = c.of /\ e.round <= c.round) \/ key'[m].of = e.of
    /\ \A a \in Deaf \ {c.of} : attempt'[a] = attempt[a]
WaitsOrIsForgotten == [][WaitsOrIsForgottenStep]_queueVars
\* This module refines Lock, where entries are commands that are still on their way. What a command does to a key is a step of Lock:
\* a vote, its own or that of an entry, a delete, or a delete and a vote behind it; and nothing counts for longer than it does there.
VotesAsInLockStep ==
  \A c \in net \ net' :
    LET m == c.to
        nothing == UNCHANGED <<key, attempt>>
        after(e, until, end) ==
          /\ key' = [key EXCEPT ![m] = [of |-> Token(e.of), round |-> e.round, until |-> until]]
          /\ \E d \in 0..Max(attempt[e.of].deadline[m], IF Counts(e) THEN end ELSE 0) : attempt' = [attempt EXCEPT ![e.of].deadline[m] = d]
    IN
    \/ nothing
    \/ c.do = "delete" /\ MayDelete(m, c) /\ key' = [key EXCEPT ![m] = NoKey] /\ UNCHANGED attempt
    \/ \E e \in queue[m] \cup {c} :
         /\ e.do = "vote"
         /\ \/ MayVote(m, e) /\ after(e, KeptUntil(m, e), DeadlineAt(m, e))
            \/ MayDelete(m, c) /\ after(e, Now(m) + e.ttl, From(e) + Lease(e.ttl))
VotesAsInLock == [][VotesAsInLockStep]_queueVars
\* 7.3, 7.4 Each waiter that stays is served at last. (Where no time passes, and no waiter has to ask again.)
EachWaiterIsServed == \A a \in Attempts : attempt[a].state = "asking" ~> attempt[a].state \in {"held", "idle"}
\* 7.7 A waiter is granted a key by the release of another, 7.4 and a reserved one by its heartbeat. 5.1 A release frees the key.
MayBeGrantedStep == \E c \in net \ net', a \in Attempts : c.do = "delete" /\ a # c.of /\ attempt'[a].deadline[c.to] > attempt[a].deadline[c.to]
MayBeReserved == \E m \in Masters : \E e \in queue[m] : Lives(m) /\ key[m].of = e.of /\ key[m].round = e.round
MayServeDeaf == \E a \in Deaf : Holds(a)
MayBeFreeStep == \E c \in net \ net' : c.do = "delete" /\ Lives(c.to) /\ key'[c.to] = NoKey
MayHoldLater == \E a \in Attempts : Holds(a) /\ attempt[a].round > 1
MayFollowInQueue == \E a, b \in Attempts : Holds(a) /\ attempt[b].state = "over" /\ a < b
InQueue == [m \in Masters |-> {<<e.of, e.round, Left(e.sent + Lease(e.ttl), ClientOf(e.of))>> : e \in queue[m]}]
RelativeQueue == <<Relative, InQueue>>
=============================================================================
