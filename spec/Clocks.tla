------------------------------- MODULE Clocks -------------------------------
\* The lease time of a client: rules 1.4 and 3.4 of docs/protocol.md. Lock takes a clock whose rate is within the drift
\* factor for granted; this module shows that a client has one, whatever is done to its machine and its wall clock.
\* Left out: rates, and the precision of the wall clock (3.5).
EXTENDS Integers
CONSTANTS Duration, Steps  \* how long it is looked at, and by how much the wall clock may step
VARIABLES
  real,       \* the time that has passed
  monotonic,  \* what the two clocks show since the last reading
  wall,
  lease,      \* the lease time that the client has counted
  suspended,  \* whether the machine is suspended: its monotonic clock stands still
  slept,      \* whether it was since the last reading, and whether the wall clock has stepped back
  stepped
vars == <<real, monotonic, wall, lease, suspended, slept, stepped>>
Max(x, y) == IF x > y THEN x ELSE y

\* 3.4 At each reading the larger of the times that the two clocks show since the previous one is added.
Elapsed == Max(0, Max(monotonic, wall))
\* 1.4 The clocks are read between a suspension and a step back.
MayBeBoth == FALSE
Init == real = 0 /\ monotonic = 0 /\ wall = 0 /\ lease = 0 /\ suspended = FALSE /\ slept = FALSE /\ stepped = FALSE
Pass ==
  /\ real < Duration
  /\ real' = real + 1 /\ wall' = wall + 1
  /\ monotonic' = IF suspended THEN monotonic ELSE monotonic + 1
  /\ UNCHANGED <<lease, suspended, slept, stepped>>
Suspend ==
  /\ ~suspended /\ (stepped => MayBeBoth)
  /\ suspended' = TRUE /\ slept' = TRUE /\ UNCHANGED <<real, monotonic, wall, lease, stepped>>
Resume == suspended /\ suspended' = FALSE /\ UNCHANGED <<real, monotonic, wall, lease, slept, stepped>>
Step ==
  /\ \E by \in Steps : (by < 0 /\ slept => MayBeBoth) /\ wall' = wall + by /\ stepped' = (stepped \/ by < 0)
  /\ UNCHANGED <<real, monotonic, lease, suspended, slept>>
Read ==
  /\ ~suspended
  /\ lease' = lease + Elapsed
  /\ monotonic' = 0 /\ wall' = 0
  /\ slept' = FALSE /\ stepped' = FALSE /\ UNCHANGED <<real, suspended>>
Next == Pass \/ Suspend \/ Resume \/ Step \/ Read
Spec == Init /\ [][Next]_vars

\* 3.5 When it is asked, the client counts no less than has passed.
NeverTooShort == ~suspended => lease + Elapsed >= real
Bounded == wall >= -Duration /\ wall <= 2 * Duration /\ lease <= 3 * Duration
=============================================================================
