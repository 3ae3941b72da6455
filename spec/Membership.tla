----------------------------- MODULE Membership -----------------------------
\* A change of the list of masters: rule 1.13 of docs/protocol.md. Clients are restarted one after the other with the next list; a
\* lease that is held with a list of before has votes of a quorum of that list. Votes and time are in Lock: here a lease is a quorum,
\* and its votes last until it ends.
EXTENDS Integers, FiniteSets
CONSTANTS Lists, Clients
VARIABLES
  former, current,  \* the list that is given up, and the one that is introduced
  list,             \* of each client
  lease             \* of each client the masters that have voted for it; they keep their vote while the longest ttl has not passed
vars == <<former, current, list, lease>>

Quorum(L) == Cardinality(L) \div 2 + 1
\* 1.13 Each quorum of one list shares a master with each quorum of the other.
Overlap(L, M) == Quorum(L) + Quorum(M) > Cardinality(L \cup M)

Acquire(c) ==
  /\ \E Q \in SUBSET list[c] :
       /\ Cardinality(Q) >= Quorum(list[c])
       /\ \A o \in Clients : Q \cap lease[o] = {}
       /\ lease' = [lease EXCEPT ![c] = Q]
  /\ UNCHANGED <<former, current, list>>
Release(c) == lease' = [lease EXCEPT ![c] = {}] /\ UNCHANGED <<former, current, list>>
\* 1.13 The next change begins when all have the list, and the longest ttl has passed since: no lease of the first list is left.
Change ==
  /\ \A c \in Clients : list[c] = current
  /\ \E L \in Lists : Overlap(current, L) /\ former' = current /\ current' = L
  /\ UNCHANGED <<list, lease>>
\* 1.13 A client ends with its leases, and is restarted with the next list.
Restart(c) == lease[c] = {} /\ list' = [list EXCEPT ![c] = current] /\ UNCHANGED <<former, current, lease>>
Init == \E L \in Lists : former = L /\ current = L /\ list = [c \in Clients |-> L] /\ lease = [c \in Clients |-> {}]
Next == Change \/ \E c \in Clients : Acquire(c) \/ Release(c) \/ Restart(c)
Spec == Init /\ [][Next]_vars

ASSUME \A L \in Lists : L # {} /\ IsFiniteSet(L)
TypeOK == former \in Lists /\ current \in Lists /\ \A c \in Clients : list[c] \in {former, current} /\ lease[c] \subseteq list[c]
\* 1.9
OneHolder == \A c, o \in Clients : lease[c] # {} /\ lease[o] # {} => c = o
\* 1.13 A master is added, and one is taken out. A bare majority is enough.
MayGrow == \E c \in Clients : list[c] = current /\ Cardinality(former) + 1 = Cardinality(current) /\ 2 * Cardinality(lease[c]) = Cardinality(current) + 1
MayShrink == \E c \in Clients : lease[c] # {} /\ list[c] = current /\ Cardinality(former) = Cardinality(current) + 1
=============================================================================
