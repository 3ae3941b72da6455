----------------------------- MODULE QueueModel -----------------------------
\* The bounds of Queue.
EXTENDS Queue, TLC
CONSTANTS A, B, C, D, E5
AnyMaster == Permutations(Masters)
OneClient(a) == "c1"
Even(p) == 1
\* Where each waiter is served at last: no time passes.
StandsStill == FALSE
StaysThere(m, e) == FALSE
=============================================================================
