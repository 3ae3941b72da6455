----------------------------- MODULE QueueModel -----------------------------
\* The bounds of Queue, and its variants: see LockModel.
EXTENDS Queue, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
OneClient(a) == "c"
Even(p) == 1
\* IsFirst, 7.3, three waiters: a waiter passes those before it
AnyOfThem(e, E) == TRUE
\* Mine, 2.13, two rounds: a waiter uses one token in all its rounds
OfAnyRound(m, c) == Lives(m) /\ key[m].of = Token(c.of)
\* Counts, 2.14 7.4, two rounds: a grant counts in whichever round it is heard
InAnyRound(c) == Holds(c.of) \/ attempt[c.of].state = "asking"
=============================================================================
