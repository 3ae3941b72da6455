------------------------------- MODULE Clocks -------------------------------
\* The lease time of a client: rules 1.4 and 3.4 of docs/protocol.md. Lock takes a clock whose rate is within the drift
\* factor for granted; this module shows that a client has one, whatever is done to its machine and its wall clock.
\* Left out: rates, and the precision of the wall clock (3.5).
EXTENDS Integers
CONSTANT Steps  \* by how much the wall clock may step
VARIABLES
  real,       \* the time that has passed
  monotonic,  \* what the two clocks show since the last reading
  wall,
  lease,      \* the lease time that the client has counted
  suspended,  \* whether the machine is suspended: its monotonic clock stands still
  slept,      \* whether it was since the last reading, and whether the wall clock has stepped back
  stepped,
  ahead       \* whether it has ever stepped forward: only the properties read it
vars == <<real, monotonic, wall, lease, suspended, slept, stepped, ahead>>
Max(x, y) == IF x > y THEN x ELSE y

\* 3.4 At each reading the larger of the times that the two clocks show since the previous one is added.
Elapsed == Max(monotonic, wall)
Init == real = 0 /\ monotonic = 0 /\ wall = 0 /\ lease = 0 /\ suspended = FALSE /\ slept = FALSE /\ stepped = FALSE /\ ahead = FALSE
Pass ==
  /\ real' = real + 1 /\ wall' = wall + 1
  /\ monotonic' = IF suspended THEN monotonic ELSE monotonic + 1
  /\ UNCHANGED <<lease, suspended, slept, stepped, ahead>>
\* 1.4 The clocks are read between a suspension and a step back.
Suspend == ~stepped /\ suspended' = TRUE /\ slept' = TRUE /\ UNCHANGED <<real, monotonic, wall, lease, stepped, ahead>>
Resume == suspended' = FALSE /\ UNCHANGED <<real, monotonic, wall, lease, slept, stepped, ahead>>
StepForward == \E by \in Steps : wall' = wall + by /\ ahead' = TRUE /\ UNCHANGED <<real, monotonic, lease, suspended, slept, stepped>>
StepBack == \E by \in Steps : ~slept /\ wall' = wall - by /\ stepped' = TRUE /\ UNCHANGED <<real, monotonic, lease, suspended, slept, ahead>>
Read ==
  /\ ~suspended
  /\ lease' = lease + Elapsed
  /\ monotonic' = 0 /\ wall' = 0
  /\ slept' = FALSE /\ stepped' = FALSE /\ UNCHANGED <<real, suspended, ahead>>
Next == Pass \/ Suspend \/ Resume \/ StepForward \/ StepBack \/ Read
Spec == Init /\ [][Next]_vars

ASSUME \A by \in Steps : by \in Nat /\ by > 0
TypeOK == real \in Nat /\ monotonic \in 0..real /\ wall \in Int /\ lease \in Nat /\ (suspended => slept) /\ {slept, stepped, ahead} \subseteq BOOLEAN
\* 3.5 When it is asked, the client counts no less than has passed.
NeverTooShort == ~suspended => lease + Elapsed >= real
\* It counts no more, where the wall clock has not stepped forward.
NeverTooLong == ~ahead => lease + Elapsed <= real
\* 1.4 After a reading the machine may be suspended, and the wall clock may step back.
BeginsAnewStep == lease' # lease => ~slept' /\ ~stepped'
BeginsAnew == [][BeginsAnewStep]_vars
MayBeExact == ~suspended /\ real > 1 /\ lease = real
\* A suspension hides time from the monotonic clock.
MayBeBehind == ~suspended /\ lease + monotonic < real
=============================================================================
