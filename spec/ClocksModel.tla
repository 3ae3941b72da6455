---------------------------- MODULE ClocksModel -----------------------------
\* The variants of Clocks: see LockModel.
EXTENDS Clocks
StepsBy == {-2, -1, 1, 2}
\* Elapsed, 3.4, five units: only the monotonic clock counts
ByMonotonic == monotonic
\* Elapsed, 3.4, five units: only the wall clock counts
ByWall == Max(0, wall)
\* Read, 3.4, five units: the larger time is taken once for the whole lease
Look == ~suspended /\ slept' = FALSE /\ stepped' = FALSE /\ UNCHANGED <<real, monotonic, wall, lease, suspended>>
\* MayBeBoth, 1.4, five units: a suspension and a step back with no reading between them
Both == TRUE
=============================================================================
