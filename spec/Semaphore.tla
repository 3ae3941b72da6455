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
TakeBack(m, a) == state[a] = "over" /\ votes' = [votes EXCEPT ![a] = @ \ {m}] /\ UNCHANGED <<wants, state, asked>>
Init ==
  /\ wants = [a \in Attempts |-> {}] /\ state = [a \in Attempts |-> "idle"]
  /\ votes = [a \in Attempts |-> {}] /\ asked = [a \in Attempts |-> {}]
Next == \E a \in Attempts : Ask(a) \/ Grant(a) \/ End(a) \/ \E m \in Masters : Vote(m, a) \/ TakeBack(m, a)
Spec == Init /\ [][Next]_vars

ASSUME IsFiniteSet(Masters) /\ Masters # {} /\ Slots # {}
TypeOK ==
  \A a \in Attempts :
    /\ wants[a] \in SUBSET Slots /\ votes[a] \in SUBSET Masters /\ asked[a] \in SUBSET Masters /\ votes[a] \cap asked[a] = {}
    /\ IF state[a] = "idle" THEN wants[a] = {} /\ votes[a] = {} /\ asked[a] = {} ELSE state[a] \in {"asking", "held", "over"} /\ wants[a] # {}
\* No two hold one slot, so no more are held than there are.
EachSlotOnce == \A a, b \in Attempts : state[a] = "held" /\ state[b] = "held" /\ a # b => wants[a] \cap wants[b] = {}
\* A holder has the votes of a majority, and no master gives a slot to two.
HeldByAMajority == \A a \in Attempts : state[a] = "held" => 2 * Cardinality(votes[a]) > Cardinality(Masters)
OneVoteForASlot == \A a, b \in Attempts : a # b /\ votes[a] \cap votes[b] # {} => wants[a] \cap wants[b] = {}
Moves == {<<"idle", "asking">>, <<"asking", "held">>, <<"asking", "over">>, <<"held", "over">>}
\* Each master votes, and is given back, alone.
AdvancesStep ==
  /\ \A a \in Attempts : state'[a] = state[a] \/ <<state[a], state'[a]>> \in Moves
  /\ \A a \in Attempts : Cardinality(votes[a] \ votes'[a]) <= 1
Advances == [][AdvancesStep]_vars
\* All slots may be held, by one for all or by several, with some masters or with all.
MayBeOfOne == \E a \in Attempts : state[a] = "held" /\ wants[a] = Slots /\ votes[a] # Masters
MayBeOfTwo == \E a, b \in Attempts : state[a] = "held" /\ state[b] = "held" /\ wants[a] \cup wants[b] = Slots /\ wants[a] # Slots /\ votes[a] = Masters
MayFollow == \E a, b \in Attempts : state[a] = "held" /\ state[b] = "over" /\ wants[a] = Slots /\ wants[b] = Slots
\* An attempt gives up, and a vote comes too late.
MayGiveUpStep == \E a \in Attempts : state[a] = "asking" /\ state'[a] = "over" /\ votes[a] # {}
MayBeLateStep == \E a \in Attempts : state[a] = "over" /\ votes'[a] \ votes[a] # {}
=============================================================================
