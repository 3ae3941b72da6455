--------------------------- MODULE SemaphoreModel ---------------------------
\* The bounds of Semaphore, and its variants: see LockModel.
EXTENDS Semaphore, TLC
CONSTANTS A, B, C
AnyMaster == Permutations(Masters)
Sum(m) == LET n(a) == Cardinality(wants[a]) IN n(1) * (IF 1 \in Here(m) THEN 1 ELSE 0) + n(2) * (IF 2 \in Here(m) THEN 1 ELSE 0) + n(3) * (IF 3 \in Here(m) THEN 1 ELSE 0)
\* IsFree, 10.1, three attempts: each node admits as many as there are permits
PerNode(m, a) == Sum(m) + Cardinality(wants[a]) <= Cardinality(Slots)
HeldBy(a) == IF state[a] = "held" THEN Cardinality(wants[a]) ELSE 0
NoMoreThanThereAre == HeldBy(1) + HeldBy(2) + HeldBy(3) <= Cardinality(Slots)
=============================================================================
