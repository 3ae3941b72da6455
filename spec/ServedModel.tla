---------------------------- MODULE ServedModel -----------------------------
\* "First come, first served" of the README, over the queue; its variant: see LockModel.
EXTENDS QueueModel
VARIABLE passed  \* of each master those that stood in its queue, called earlier, when the owner of its key got it
Passed(m) == {e.of : e \in {other \in queue[m] \cap queue'[m] : Ticket(other.of) < Ticket(key'[m].of)}}
\* In the place of Observed.
Passing == passed' = [m \in Masters |-> IF key'[m] = key[m] THEN passed[m] ELSE Passed(m)]
ServedSpec == QueueInit /\ passed = [m \in Masters |-> {}] /\ [][QueueNext]_<<queueVars, passed>>
\* Nobody holds by votes on which a call that came earlier, and still waits, was passed in the queues of a quorum.
FirstComeFirstServed ==
  \A a, b \in Attempts : Holds(a) /\ attempt[b].state = "asking" =>
    Cardinality({m \in Masters : key[m].of = a /\ b \in passed[m]}) < Quorum
Viewed == <<RelativeQueue, passed>>
\* IsFirst, 7.3, two rounds: a waiter passes on a quorum those that called before it
Anyone(e, E) == TRUE
=============================================================================
