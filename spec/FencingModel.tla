---------------------------- MODULE FencingModel ----------------------------
\* The bounds of Fencing, and its variants: see LockModel.
EXTENDS Fencing, TLC
CONSTANTS A, B, C
CONSTANT Losses
Few == Len(losses) <= Losses
AnyMaster == Permutations(Masters)
\* Two attempts are under way, and one master has the counter of a lease of before. Nobody gives up, and nothing is forgotten.
InitBusy ==
  /\ key = [m \in Masters |-> 0] /\ order = [m \in Masters |-> <<>>]
  /\ \E m \in Masters : counter = [o \in Masters |-> IF o = m THEN 2 ELSE 0]
  /\ state = [a \in Attempts |-> "asking"] /\ proposal = [a \in Attempts |-> 2 * a - 1] /\ token = [a \in Attempts |-> 0]
  /\ seen = [a \in Attempts |-> [m \in Masters |-> -1]] /\ stored = [a \in Attempts |-> {}]
  /\ losses = <<>> /\ restoring = {}
Never(one) == FALSE
\* SeenAfter, 8.3, one asks twice: the fast path counts yeses to votes with another proposal
Kept(a) == seen[a]
\* Enough, 8.3, two attempts: a lease is granted with q - 1 stored tokens
OneLess == Quorum - 1
=============================================================================
