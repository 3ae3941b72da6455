------------------------------ MODULE Semaphore -----------------------------
\* A semaphore by slots, each an ordinary quorum lock: rule 10.1 of docs/protocol.md. Leases end when their holders end them: time is
\* in Lock. A vote that is cast after its attempt is over is taken back as well, or expires.
EXTENDS Integers, FiniteSets
CONSTANTS Masters, Slots, Attempts
VARIABLES
  wants,  \* of each attempt the slots that it asks for, all or none on each master
  state,  \* "idle", "asking", "held", "over"
  votes,  \* of each attempt the masters that have voted for it
  asked   \* of each attempt the masters that have not executed its vote yet
vars == <<wants, state, votes, asked>>

Quorum == Cardinality(Masters) \div 2 + 1
Here(m) == {a \in Attempts : m \in votes[a]}
\* 10.1 A slot has one vote on each master.
IsFree(m, a) == \A b \in Here(m) : wants[b] \cap wants[a] = {}

Ask(a) ==
  /\ state[a] = "idle"
  /\ \E S \in SUBSET Slots : S # {} /\ wants' = [wants EXCEPT ![a] = S]
  /\ state' = [state EXCEPT ![a] = "asking"] /\ asked' = [asked EXCEPT ![a] = Masters] /\ UNCHANGED votes
Vote(m, a) ==
  /\ m \in asked[a] /\ IsFree(m, a)
  /\ votes' = [votes EXCEPT ![a] = @ \cup {m}] /\ asked' = [asked EXCEPT ![a] = @ \ {m}] /\ UNCHANGED <<wants, state>>
Grant(a) ==
  /\ state[a] = "asking" /\ Cardinality(votes[a]) >= Quorum
  /\ state' = [state EXCEPT ![a] = "held"] /\ UNCHANGED <<wants, votes, asked>>
End(a) == state[a] \in {"asking", "held"} /\ state' = [state EXCEPT ![a] = "over"] /\ UNCHANGED <<wants, votes, asked>>
TakeBack(m, a) == state[a] = "over" /\ m \in votes[a] /\ votes' = [votes EXCEPT ![a] = @ \ {m}] /\ UNCHANGED <<wants, state, asked>>
Init ==
  /\ wants = [a \in Attempts |-> {}] /\ state = [a \in Attempts |-> "idle"]
  /\ votes = [a \in Attempts |-> {}] /\ asked = [a \in Attempts |-> {}]
Next == \E a \in Attempts : Ask(a) \/ Grant(a) \/ End(a) \/ \E m \in Masters : Vote(m, a) \/ TakeBack(m, a)
Spec == Init /\ [][Next]_vars

\* No two hold one slot, so no more are held than there are.
EachSlotOnce == \A a, b \in Attempts : state[a] = "held" /\ state[b] = "held" /\ a # b => wants[a] \cap wants[b] = {}
=============================================================================
