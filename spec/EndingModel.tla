---------------------------- MODULE EndingModel -----------------------------
\* The variants of Ending: see LockModel.
EXTENDS Ending
\* MayEnd, 1.10, two rounds, at last: a round lasts until every master has answered
WithTheLast(a) == answers[a] = Masters
\* LeftAfter, 1.10, two rounds, at last: a call asks again for ever
NeverLess(a) == left[a]
\* Again, 7.8, no limit, at last: rivals roll back without a queue entry
RollsBack(a) ==
  /\ state[a] = "asking" /\ ~HasQuorum(a) /\ MayEnd(a) /\ answers' = [answers EXCEPT ![a] = {}]
  /\ key' = [m \in Masters |-> IF key[m] = a THEN 0 ELSE key[m]] /\ queue' = [m \in Masters |-> queue[m] \ {a}] /\ UNCHANGED <<state, left>>
=============================================================================
