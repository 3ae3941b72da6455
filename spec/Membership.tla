----------------------------- MODULE Membership -----------------------------
\* A change of the list of masters: rule 1.13 of docs/protocol.md. Clients are restarted one after the other with the next list; a
\* lease that is held with a list of before has votes of a quorum of that list. Votes and time are in Lock: here a lease is a quorum,
\* and its votes last until it ends.
EXTENDS Integers, FiniteSets
CONSTANTS Lists, Clients  \* the lists, in the order in which they are introduced
VARIABLES
  list,   \* of each client the number of its list
  lease   \* of each client the masters that have voted for it; they keep their vote while the longest ttl has not passed
vars == <<list, lease>>

ListOf(n) == Lists[n]
Quorum(L) == Cardinality(L) \div 2 + 1
\* 1.13 Each quorum of one list shares a master with each quorum of the other.
Overlap(L, M) == Quorum(L) + Quorum(M) > Cardinality(L \cup M)
\* 1.13 The next change begins when all have the list, and the longest ttl has passed since: no lease of the first list is left.
MayBegin(n) == \A c \in Clients : list[c] >= n - 1
IsOver(c) == lease[c] = {}

Acquire(c) ==
  /\ IsOver(c)
  /\ \E Q \in SUBSET ListOf(list[c]) :
       /\ Cardinality(Q) >= Quorum(ListOf(list[c]))
       /\ \A o \in Clients : Q \cap lease[o] = {}
       /\ lease' = [lease EXCEPT ![c] = Q]
  /\ UNCHANGED list
Release(c) == lease[c] # {} /\ lease' = [lease EXCEPT ![c] = {}] /\ UNCHANGED list
\* 1.13 A client ends with its leases, and is restarted with the next list.
Restart(c) ==
  /\ list[c] < Cardinality(DOMAIN Lists) /\ IsOver(c) /\ MayBegin(list[c] + 1)
  /\ list' = [list EXCEPT ![c] = @ + 1] /\ UNCHANGED lease
Init == list = [c \in Clients |-> 1] /\ lease = [c \in Clients |-> {}]
Next == \E c \in Clients : Acquire(c) \/ Release(c) \/ Restart(c)
Spec == Init /\ [][Next]_vars

OneHolder == \A c, o \in Clients : lease[c] # {} /\ lease[o] # {} => c = o
=============================================================================
