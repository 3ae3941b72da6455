----------------------------- MODULE GuardModel -----------------------------
\* The variants of Guard: see LockModel.
EXTENDS Guard, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
\* A lease without validity is none (2.5), and nothing comes of it.
IsAlive == \E a \in Attempts : state[a] = "idle" \/ valid[a] > 0
\* MayVote, 9.1 9.6, one may extend: votes are accepted during the quarantine
Always(m) == TRUE
\* Length, 9.8, one may extend: the quarantine is shorter than the longest ttl
Shorter == MaxTtl - 1
\* Counts, 9.7, one may extend: a repair during the quarantine counts where the holder had no vote
Anywhere(m, a) == TRUE
=============================================================================
