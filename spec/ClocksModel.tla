---------------------------- MODULE ClocksModel -----------------------------
\* The bounds of Clocks, and its variants: see LockModel.
EXTENDS Clocks
CONSTANT Duration  \* how long it is looked at
Bounded == real <= Duration /\ wall >= -Duration /\ wall <= 2 * Duration /\ lease <= 3 * Duration
\* Read, 3.4, five units: the larger time is taken once for the whole lease
Look == ~suspended /\ slept' = FALSE /\ stepped' = FALSE /\ UNCHANGED <<real, monotonic, wall, lease, suspended, ahead>>
=============================================================================
