--------------------------- MODULE ReadWriteModel ---------------------------
\* The bounds of ReadWrite, and its variants: see LockModel.
EXTENDS ReadWrite, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
\* MayExpire, 10.3, two readers and a writer: the readers of a node share one expiry, that of the last to come
WithAnother(m, c) == state[c] = "over" \/ (c \in Readers /\ \E o \in Readers : state[o] = "over" /\ o # c)
\* Admits, 10.3, two writers and a reader: a writer does not look for other writers
LooksForReaders(m, c) == IF c \in Writers THEN \A o \in Others(m, c) : claim[m][o] = "write" ELSE \A o \in Others(m, c) : claim[m][o] = "read"
\* Writes, 10.5, two readers and a writer: the write claim stands during the downgrade
StillWrites(c) == c \in Writers /\ state[c] \in {"held", "downgraded"}
=============================================================================
