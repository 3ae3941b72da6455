------------------------------ MODULE ReadWrite -----------------------------
\* A readers-writer lock: rules 10.3 and 10.5 of docs/protocol.md. A claim expires at any moment after its holder has ended: time is in
\* Lock. Requests arrive late or never. Left out: the queue of readers and writers (10.4), marks (10.8),
\* and upgrades, which are refused (10.5).
EXTENDS Integers, FiniteSets
CONSTANTS Masters, Readers, Writers
VARIABLES
  claim,  \* of each master and client: "none", "read", "write"
  state,  \* of each client: "idle", "asking", "held", "downgraded", "over"
  net     \* the requests on their way: to which master, of whom, and what it does: "ask", "downgrade"
vars == <<claim, state, net>>

Clients == Readers \cup Writers
Quorum == Cardinality(Masters) \div 2 + 1
Kind(c) == IF c \in Readers THEN "read" ELSE "write"
Others(m, c) == {o \in Clients \ {c} : claim[m][o] # "none"}
\* 10.3 One script lets in readers or one writer.
Admits(m, c) == IF c \in Writers THEN Others(m, c) = {} ELSE \A o \in Others(m, c) : claim[m][o] = "read"
\* 10.3 Each reader has an expiry of its own.
MayExpire(m, c) == state[c] = "over"
\* 10.5 The write claim ends before the first command of a downgrade is sent.
Writes(c) == c \in Writers /\ state[c] = "held"
Reads(c) == IF c \in Readers THEN state[c] = "held" ELSE state[c] = "downgraded"

Ask(c) ==
  /\ state[c] = "idle" /\ state' = [state EXCEPT ![c] = "asking"]
  /\ net' = net \cup {<<m, c, "ask">> : m \in Masters} /\ UNCHANGED claim
Receive(m, c) ==  \* 10.3
  /\ <<m, c, "ask">> \in net /\ Admits(m, c)
  /\ claim' = [claim EXCEPT ![m][c] = Kind(c)] /\ net' = net \ {<<m, c, "ask">>} /\ UNCHANGED state
Grant(c) ==
  /\ state[c] = "asking" /\ Cardinality({m \in Masters : claim[m][c] = Kind(c)}) >= Quorum
  /\ state' = [state EXCEPT ![c] = "held"] /\ UNCHANGED <<claim, net>>
Downgrade(c) ==  \* 10.5
  /\ c \in Writers /\ state[c] = "held" /\ state' = [state EXCEPT ![c] = "downgraded"]
  /\ net' = net \cup {<<m, c, "downgrade">> : m \in Masters} /\ UNCHANGED claim
Exchange(m, c) ==  \* 10.5
  /\ <<m, c, "downgrade">> \in net /\ claim[m][c] = "write"
  /\ claim' = [claim EXCEPT ![m][c] = "read"] /\ net' = net \ {<<m, c, "downgrade">>} /\ UNCHANGED state
End(c) == state[c] \notin {"idle", "over"} /\ state' = [state EXCEPT ![c] = "over"] /\ UNCHANGED <<claim, net>>
Expire(m, c) == MayExpire(m, c) /\ claim' = [claim EXCEPT ![m][c] = "none"] /\ UNCHANGED <<state, net>>
Init == claim = [m \in Masters |-> [c \in Clients |-> "none"]] /\ state = [c \in Clients |-> "idle"] /\ net = {}
Next ==
  \E c \in Clients : Ask(c) \/ Grant(c) \/ Downgrade(c) \/ End(c)
    \/ \E m \in Masters : Receive(m, c) \/ Exchange(m, c) \/ Expire(m, c)
Spec == Init /\ [][Next]_vars

ASSUME IsFiniteSet(Masters) /\ Masters # {} /\ Readers \cap Writers = {}
TypeOK ==
  /\ net \subseteq (Masters \X Clients \X {"ask", "downgrade"})
  /\ \A c \in Clients : state[c] \in {"idle", "asking", "held", "over"} \cup (IF c \in Writers THEN {"downgraded"} ELSE {})
  /\ \A m \in Masters, c \in Clients : claim[m][c] \in {"none", "read", "write"} /\ (state[c] = "idle" => claim[m][c] = "none")
\* 1.9 A writer is alone.
AWriterIsAlone == \A w, c \in Clients : Writes(w) /\ c # w => ~Writes(c) /\ ~Reads(c)
\* 10.3 No master has another claim beside that of a writer, and a holder has those of a majority.
OnEachMasterToo == \A m \in Masters, w, c \in Clients : claim[m][w] = "write" /\ c # w => claim[m][c] = "none"
Has(c, kinds) == 2 * Cardinality({m \in Masters : claim[m][c] \in kinds}) > Cardinality(Masters)
HeldByAMajority ==
  \A c \in Clients : (Writes(c) => Has(c, {"write"})) /\ (Reads(c) => Has(c, IF c \in Writers THEN {"read", "write"} ELSE {"read"}))
Moves == {<<"idle", "asking">>, <<"asking", "held">>, <<"held", "downgraded">>} \cup ({"asking", "held", "downgraded"} \X {"over"})
\* 10.3, 10.5 All masters are asked at once; each changes a claim alone, and lets in or exchanges once for a request.
AdvancesStep ==
  /\ \A c \in Clients : state'[c] = state[c] \/ <<state[c], state'[c]>> \in Moves
  /\ \A r \in net' \ net, m \in Masters : <<m, r[2], r[3]>> \in net'
  /\ claim' # claim => \E m \in Masters, c \in Clients :
       /\ claim' = [claim EXCEPT ![m][c] = claim'[m][c]]
       /\ claim'[m][c] = "none" \/ \E r \in net \ net' : r[1] = m /\ r[2] = c
Advances == [][AdvancesStep]_vars
\* Readers share, also with a writer that is one of them now; a writer comes after a reader, and after another writer.
MayShare == \E c, o \in Readers : c # o /\ Reads(c) /\ Reads(o)
MayShareWithWriter == \E c \in Readers, w \in Writers : Reads(c) /\ Reads(w)
MayWriteAfter == \E w \in Writers, c \in Readers : Writes(w) /\ state[c] = "over"
MayWriteAfterWriter == \E w, o \in Writers : Writes(w) /\ state[o] = "over"
\* A majority is enough. One that reads instead ends as well, and a request may be late.
MayBeAMajority == \E w \in Writers, m \in Masters : Writes(w) /\ claim[m][w] = "none"
MayEndAsReader == \E w \in Writers, m \in Masters : state[w] = "over" /\ claim[m][w] = "read"
MayBeLateStep == \E m \in Masters, c \in Clients : state[c] = "over" /\ claim[m][c] = "none" /\ claim'[m][c] # "none"
=============================================================================
