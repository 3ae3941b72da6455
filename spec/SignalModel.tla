---------------------------- MODULE SignalModel -----------------------------
\* The bounds of Signal, and its variants: see LockModel.
EXTENDS Signal
CONSTANT Duration
Bounded == now <= Duration
\* Due, 1.11, free: the signal aborts at the deadline, not before it
AtTheDeadline == deadline
\* Holds, 3.6, busy: the timer answers, not the clock
ByTimer == state = "held"
=============================================================================
