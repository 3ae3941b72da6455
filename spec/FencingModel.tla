---------------------------- MODULE FencingModel ----------------------------
\* The variants of Fencing: see LockModel.
EXTENDS Fencing, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
\* StoredByVote, 8.1, two attempts: the proposal is not stored with the vote
NotStored(m, a) == counter[m]
\* IsAtOnce, 8.2, two attempts: the token is the proposal, whatever the counters are
Always(a, read) == TRUE
\* MayStore, 8.2, two attempts: round two stores without looking whose the key is
Anywhere(m, a) == seen[a][m] >= 0
\* StoredByRound2, 8.2, two attempts: round two stores nothing
Nothing(m, a) == counter[m]
\* IsBelow, 8.3, two attempts: an acknowledgement counts though the counter was not below the token
AnyCounter(m, a) == TRUE
\* SeenAfter, 8.3, one asks twice: the fast path counts yeses to votes with another proposal
Kept(a) == seen[a]
\* MayVote, 8.8, one loss: votes do not wait for the floor
Anytime(m) == TRUE
\* Sources, 8.8, one loss: the floor is read from a single node
One == 1
\* QuarantineIsOver, 8.8, one loss: the floor is read before the quarantine ends
AtOnce(m) == TRUE
=============================================================================
