----------------------------- MODULE QueueModel -----------------------------
\* The bounds of Queue, and its variants: see LockModel.
EXTENDS Queue, TLC
CONSTANTS A, B, C, D, E5
\* (TLC has no symmetry of a single master.)
AnyMaster == Permutations(IF Cardinality(Masters) = 1 THEN {D, E5} ELSE Masters)
OneClient(a) == "c1"
Even(p) == 1
\* Where each waiter is served at last: no time passes.
StandsStill == FALSE
StaysThere(m, e) == FALSE
\* Ticket, 7.3, three waiters: the last to come is the first
Reversed(a) == -a
\* Credit, 7.7, two waiters: a grant counts from when it is heard, not from the send of its round
FromGrant(e, m) ==
  LET heard == Now(ClientOf(e.of)) + Rate(ClientOf(e.of)) IN
  IF Counts(e) THEN [attempt EXCEPT ![e.of].deadline[m] = Max(@, heard + Lease(e.ttl))] ELSE attempt
\* Enqueue, 7.1, two waiters: who is refused makes no entry
NoEntry(m, c) == c.do = "vote" /\ net' = Without(c) /\ (IF MayVote(m, c) THEN Give(m, {c}) ELSE UNCHANGED <<key, queue, attempt>>) /\ UNCHANGED clock
\* EntriesAfter, 7.4, three waiters: a grant empties the queue
Emptied(m, E, e) == {}
\* Leave, 7.4, two waiters: a release grants the key to nobody
GrantsNobody(m, c) ==
  LET E == queue[m] \ Entries(m, c.of, c.round) IN
  /\ c.do = "delete" /\ net' = Without(c) /\ queue' = [queue EXCEPT ![m] = E] /\ UNCHANGED <<clock, attempt>>
  /\ IF MayDelete(m, c) THEN key' = [key EXCEPT ![m] = NoKey] ELSE UNCHANGED key
\* Leave, 7.10, two waiters: who leaves stays in the queue
Stays(m, c) == c.do = "delete" /\ net' = Without(c) /\ (IF MayDelete(m, c) THEN Give(m, queue[m]) ELSE UNCHANGED <<key, queue, attempt>>) /\ UNCHANGED clock
=============================================================================
