---------------------------- MODULE RepairModel -----------------------------
\* The bounds of Repair, and its variants: see LockModel.
EXTENDS Repair, TLC
CONSTANTS A, B, C, Sends
AnyMaster == Permutations(Masters)
Few == now <= Sends /\ \A m \in Masters : Len(net[m]) + Len(answers[m]) <= 1
Never(m) == FALSE
\* MissedAt, 4.7, two masters: a gap counts only while it is open
StillMissing(t) == {m \in Masters : IsOpen(m)}
=============================================================================
