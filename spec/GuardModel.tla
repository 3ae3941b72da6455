----------------------------- MODULE GuardModel -----------------------------
\* The bounds of Guard, and its variants: see LockModel.
EXTENDS Guard, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
\* A lease without validity is none (2.5), and nothing comes of it.
CONSTANT Losses
IsAlive == Len(losses) <= Losses /\ \E a \in Attempts : state[a] = "idle" \/ valid[a] > 0
\* Length, 9.8, one may extend: the quarantine is shorter than the longest ttl
Shorter == MaxTtl - 1
=============================================================================
