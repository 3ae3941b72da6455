--------------------------- MODULE ReadWriteModel ---------------------------
\* The variants of ReadWrite: see LockModel.
EXTENDS ReadWrite, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
\* MayExpire, 10.3, two readers and a writer: the readers of a node share one expiry, that of the last to come
WithAnother(m, c) == state[c] = "over" \/ (c \in Readers /\ \E o \in Readers : state[o] = "over" /\ o # c)
\* Writes, 10.5, two readers and a writer: the write claim stands during the downgrade
StillWrites(c) == c \in Writers /\ state[c] \in {"held", "downgraded"}
\* MayUpgrade, 10.5, two readers and a writer: readers upgrade by waiting for each other to leave
ByWaiting(c) == c \in Readers /\ state[c] = "held"
\* Admits, 10.3, two readers and a writer: readers do not keep a writer out
Anyone(m, c) == \A o \in Others(m, c) : claim[m][o] = "read"
=============================================================================
