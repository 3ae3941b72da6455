---------------------------- MODULE FencingModel ----------------------------
\* The bounds of Fencing, and its variants: see LockModel.
EXTENDS Fencing, TLC
CONSTANTS A, B, C
CONSTANT Losses
Few == Len(losses) <= Losses
AnyMaster == Permutations(Masters)
\* SeenAfter, 8.3, one asks twice: the fast path counts yeses to votes with another proposal
Kept(a) == seen[a]
=============================================================================
