-------------------------------- MODULE Guard -------------------------------
\* The restart guard: section 9 of docs/protocol.md. Time passes in ticks, the same for all. A master loses its memory, and casts no
\* vote until the longest ttl has passed. Left out: by which sign it notices that (9.3 to 9.5), whose clock ends it (9.10); fencing
\* counters are in Fencing.
EXTENDS Integers, FiniteSets, Sequences
CONSTANTS Masters, Attempts, Extending, MaxTtl
VARIABLES
  key, left,    \* of each master the attempt that has its vote, or 0, and the ticks that are left of it
  quarantine,   \* of each master the ticks that are left of its quarantine
  unnoticed,    \* the masters that have forgotten, and where no script has run since
  losses,       \* the masters that have forgotten, in order: only bounds read it
  state, votes, valid,  \* of each attempt: "idle", "asking", "held"; the masters that have voted; the ticks of its lease
  asked, extended, validThen  \* the extension on its way: where it is not executed yet, where it counts, and what it would give
vars == <<key, left, quarantine, unnoticed, losses, state, votes, valid, asked, extended, validThen>>

Quorum == Cardinality(Masters) \div 2 + 1
\* 9.8 The quarantine lasts for the longest ttl.
Length == MaxTtl
\* 9.1, 9.6 In quarantine nothing is voted for and nothing is granted.
MayVote(m) == quarantine[m] = 0
\* 9.7 A repair in quarantine counts only where the holder's own vote was.
Counts(m, a) == quarantine[m] = 0 \/ m \in votes[a]

Ask(a) ==
  /\ state[a] = "idle" /\ state' = [state EXCEPT ![a] = "asking"] /\ valid' = [valid EXCEPT ![a] = MaxTtl]
  /\ UNCHANGED <<key, left, quarantine, unnoticed, losses, votes, asked, extended, validThen>>
\* 9.2 The script itself finds out: it runs at no master that has forgotten without noticing it.
Vote(m, a) ==
  /\ state[a] = "asking" /\ m \notin votes[a] /\ m \notin unnoticed /\ key[m] = 0 /\ MayVote(m)
  /\ key' = [key EXCEPT ![m] = a] /\ left' = [left EXCEPT ![m] = MaxTtl] /\ votes' = [votes EXCEPT ![a] = @ \cup {m}]
  /\ UNCHANGED <<quarantine, unnoticed, losses, state, valid, asked, extended, validThen>>
Grant(a) ==
  /\ state[a] = "asking" /\ Cardinality(votes[a]) >= Quorum /\ valid[a] > 0 /\ state' = [state EXCEPT ![a] = "held"]
  /\ UNCHANGED <<key, left, quarantine, unnoticed, losses, votes, valid, asked, extended, validThen>>
Extend(a) ==
  /\ state[a] = "held" /\ valid[a] > 0 /\ validThen[a] = 0
  /\ asked' = [asked EXCEPT ![a] = Masters] /\ validThen' = [validThen EXCEPT ![a] = MaxTtl]
  /\ UNCHANGED <<key, left, quarantine, unnoticed, losses, state, votes, valid, extended>>
Repair(m, a) ==  \* 9.1: accepted in quarantine as well
  /\ m \in asked[a] /\ m \notin unnoticed /\ key[m] \in {0, a}
  /\ key' = [key EXCEPT ![m] = a] /\ left' = [left EXCEPT ![m] = MaxTtl]
  /\ asked' = [asked EXCEPT ![a] = @ \ {m}]
  /\ extended' = IF Counts(m, a) THEN [extended EXCEPT ![a] = @ \cup {m}] ELSE extended
  /\ UNCHANGED <<quarantine, unnoticed, losses, state, votes, valid, validThen>>
Confirm(a) ==
  /\ Cardinality(extended[a]) >= Quorum /\ valid[a] > 0
  /\ valid' = [valid EXCEPT ![a] = validThen[a]]
  /\ UNCHANGED <<key, left, quarantine, unnoticed, losses, state, votes, asked, extended, validThen>>
Forget(m) ==
  /\ losses' = Append(losses, m) /\ unnoticed' = unnoticed \cup {m}
  /\ key' = [key EXCEPT ![m] = 0] /\ left' = [left EXCEPT ![m] = 0]
  /\ UNCHANGED <<quarantine, state, votes, valid, asked, extended, validThen>>
Notice(m) ==  \* 9.3
  /\ unnoticed' = unnoticed \ {m} /\ quarantine' = [quarantine EXCEPT ![m] = Length]
  /\ UNCHANGED <<key, left, losses, state, votes, valid, asked, extended, validThen>>
Less(n) == IF n = 0 THEN 0 ELSE n - 1
Tick ==
  /\ left' = [m \in Masters |-> Less(left[m])]
  /\ key' = [m \in Masters |-> IF left[m] <= 1 THEN 0 ELSE key[m]]
  /\ quarantine' = [m \in Masters |-> Less(quarantine[m])]
  /\ valid' = [a \in Attempts |-> Less(valid[a])] /\ validThen' = [a \in Attempts |-> Less(validThen[a])]
  /\ UNCHANGED <<unnoticed, losses, state, votes, asked, extended>>
Init ==
  /\ key = [m \in Masters |-> 0] /\ left = [m \in Masters |-> 0] /\ quarantine = [m \in Masters |-> 0]
  /\ unnoticed = {} /\ losses = <<>>
  /\ state = [a \in Attempts |-> "idle"] /\ votes = [a \in Attempts |-> {}] /\ valid = [a \in Attempts |-> 0]
  /\ asked = [a \in Attempts |-> {}] /\ extended = [a \in Attempts |-> {}] /\ validThen = [a \in Attempts |-> 0]
Next ==
  \/ \E a \in Extending : Extend(a)
  \/ \E a \in Attempts : Ask(a) \/ Grant(a) \/ Confirm(a) \/ \E m \in Masters : Vote(m, a) \/ Repair(m, a)
  \/ \E m \in Masters : Forget(m)
  \/ \E m \in unnoticed : Notice(m)
  \/ Tick
Spec == Init /\ [][Next]_vars

ASSUME IsFiniteSet(Masters) /\ Masters # {} /\ MaxTtl \in Nat /\ MaxTtl > 0 /\ Extending \subseteq Attempts
TypeOK ==
  /\ \A m \in Masters : key[m] \in Attempts \cup {0} /\ left[m] \in 0..MaxTtl /\ quarantine[m] \in 0..MaxTtl /\ (key[m] = 0) = (left[m] = 0)
  /\ \A a \in Attempts :
       /\ IF state[a] = "idle" THEN votes[a] = {} ELSE state[a] \in {"asking", "held"}
       /\ votes[a] \in SUBSET Masters /\ asked[a] \in SUBSET Masters /\ extended[a] \in SUBSET Masters
       /\ valid[a] \in 0..MaxTtl /\ validThen[a] \in 0..MaxTtl /\ asked[a] \cap extended[a] = {}
       /\ (asked[a] \cup extended[a] # {} => a \in Extending)
Holds(a) == state[a] = "held" /\ valid[a] > 0
OneHolder == \A a, b \in Attempts : Holds(a) /\ Holds(b) => a = b
\* 3.6 A lost lease stays lost. 2.5 One that is granted has validity. 4.2 Only a holder extends, 3.3 and never for less than it has.
LostStaysLostStep ==
  \A a \in Attempts :
    /\ state[a] = "held" /\ ~Holds(a) => ~Holds(a)'
    /\ state[a] # "held" /\ state'[a] = "held" => Holds(a)'
    /\ asked'[a] \ asked[a] # {} => Holds(a)
    /\ extended[a] # {} => validThen[a] >= valid[a]
LostStaysLost == [][LostStaysLostStep]_vars
\* 9.1, 9.6 A vote is cast by a master that has noticed all it forgot, and is not in quarantine. 9.3 Who notices is in quarantine.
VotesAreRememberedStep ==
  \A m \in Masters :
    /\ \A a \in Attempts : m \in votes'[a] \ votes[a] => key[m] = 0 /\ key'[m] = a /\ m \notin unnoticed /\ quarantine[m] = 0
    /\ IF m \in unnoticed \ unnoticed' THEN quarantine'[m] > 0 ELSE quarantine'[m] <= quarantine[m]
VotesAreRemembered == [][VotesAreRememberedStep]_vars
\* Masters that forget keep nobody from holding, nor a holder from extending, whose own vote repairs a key in quarantine (9.7).
\* So does a master that had not voted, outside of it. When it has passed, the master votes.
MayHold == \E a \in Attempts : Holds(a) /\ valid[a] = MaxTtl /\ validThen[a] = 0
MayVoteAgainStep == \E a \in Attempts, i \in 1..Len(losses) : losses[i] \in votes'[a] \ votes[a] /\ unnoticed = {}
MayLast == \E a \in Attempts : Holds(a) /\ valid[a] < MaxTtl
MayRepairAnother == \E a \in Attempts : Holds(a) /\ extended[a] \ votes[a] # {}
MayHoldAgain == losses # <<>> /\ \E a, b \in Attempts : Holds(a) /\ state[b] = "held" /\ a # b
MayExtend == \E a \in Attempts : Holds(a) /\ validThen[a] = valid[a] /\ valid[a] > 0 /\ extended[a] # {}
MayRepair == \E a \in Attempts, m \in Masters : Holds(a) /\ key[m] = a /\ m \in extended[a] /\ quarantine[m] > 0
=============================================================================
