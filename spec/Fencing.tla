------------------------------- MODULE Fencing ------------------------------
\* Fencing tokens over independent masters: section 8 of docs/protocol.md. There is no time: a key may expire at any moment, even
\* under a holder, so what holds here holds where leases overlap. A master may lose its memory (8.8, 9.1): then it votes for nobody
\* until it is restored; the length of its quarantine is in Guard.tla. Left out: the expiry of counters (8.7), and a T that is far
\* ahead (8.4).
EXTENDS Integers, FiniteSets, Sequences
CONSTANTS
  Masters,
  Attempts,
  Proposals,  \* what any attempt may propose: nothing is assumed of clocks
  Repeating   \* the attempts that ask again, in a further round with another proposal
VARIABLES
  key,      \* of each master the attempt that has its vote, or 0
  counter,  \* of each master
  order,    \* of each master the attempts in the order of their votes: only the property reads it
  state,    \* of each attempt: "idle", "asking", "storing" (its second round), "held", "over"
  proposal, token,
  seen,     \* of each attempt and master the counter that came with the yes, or -1
  stored,   \* of each attempt the masters that it counts: they have stored its token
  losses, restoring  \* the masters that have lost their memory, in order: only bounds read it; and those not restored yet
vars == <<key, counter, order, state, proposal, token, seen, stored, losses, restoring>>

Quorum == Cardinality(Masters) \div 2 + 1
Max(x, y) == IF x > y THEN x ELSE y
Largest(S) == CHOOSE x \in S : \A y \in S : y <= x
Restored(m) == m \notin restoring

\* 8.1 The master stores the larger of its counter and the proposal.
StoredByVote(m, a) == Max(counter[m], proposal[a])
\* 8.2 If q masters had counters below P, P is the token; otherwise it is one more than the q-th smallest, and is stored.
IsAtOnce(a, read) == \A m \in read : seen[a][m] < proposal[a]
TokenBy(a, read) == IF IsAtOnce(a, read) THEN proposal[a] ELSE 1 + Largest({seen[a][m] : m \in read})
\* 8.2 The second round stores where the key is still the attempt's.
MayStore(m, a) == key[m] = a
StoredByRound2(m, a) == Max(counter[m], token[a])
\* 8.3 It counts a master only if its counter was below T, by its first answer or by its acknowledgement.
IsBelow(m, a) == (seen[a][m] >= 0 /\ seen[a][m] < token[a]) \/ counter[m] < token[a]
\* 8.3 A lease has the token stored by so many masters.
Enough == Quorum
\* 8.8 A master that lost its counters votes when they are restored: by the largest of N - q + 1 others.
MayVote(m) == Restored(m)
Sources == Cardinality(Masters) - Quorum + 1

Begin(a) ==
  /\ state[a] = "idle" /\ state' = [state EXCEPT ![a] = "asking"]
  /\ \E p \in Proposals : proposal' = [proposal EXCEPT ![a] = p]
  /\ UNCHANGED <<key, counter, order, token, seen, stored, losses, restoring>>
\* 2.14, 8.3 A yes to a vote with another proposal does not count.
SeenAfter(a) == [m \in Masters |-> -1]
Repeat(a) ==
  /\ state[a] = "asking" /\ seen' = [seen EXCEPT ![a] = SeenAfter(a)]
  /\ \E p \in Proposals : p > proposal[a] /\ proposal' = [proposal EXCEPT ![a] = p]
  /\ UNCHANGED <<key, counter, order, state, token, stored, losses, restoring>>
Vote(m, a) ==  \* 8.1
  /\ state[a] = "asking" /\ key[m] \in {0, a} /\ seen[a][m] < 0 /\ MayVote(m)
  /\ key' = [key EXCEPT ![m] = a]
  /\ seen' = [seen EXCEPT ![a][m] = counter[m]]
  /\ counter' = [counter EXCEPT ![m] = StoredByVote(m, a)]
  /\ order' = [order EXCEPT ![m] = Append(SelectSeq(@, LAMBDA b : b # a), a)]
  /\ UNCHANGED <<state, proposal, token, stored, losses, restoring>>
Decide(a) ==  \* 8.2, 8.4: any q masters will do
  /\ state[a] = "asking"
  /\ \E read \in SUBSET {m \in Masters : seen[a][m] >= 0} :
       /\ Cardinality(read) = Quorum
       /\ token' = [token EXCEPT ![a] = TokenBy(a, read)]
       /\ state' = [state EXCEPT ![a] = IF IsAtOnce(a, read) THEN "held" ELSE "storing"]
       /\ stored' = [stored EXCEPT ![a] = IF IsAtOnce(a, read) THEN read ELSE {}]
  /\ UNCHANGED <<key, counter, order, proposal, seen, losses, restoring>>
Store(m, a) ==  \* 8.2, 8.3
  /\ state[a] = "storing" /\ m \notin stored[a] /\ MayStore(m, a) /\ IsBelow(m, a)
  /\ counter' = [counter EXCEPT ![m] = StoredByRound2(m, a)]
  /\ stored' = [stored EXCEPT ![a] = @ \cup {m}]
  /\ state' = [state EXCEPT ![a] = IF Cardinality(stored[a]) + 1 >= Enough THEN "held" ELSE @]
  /\ UNCHANGED <<key, order, proposal, token, seen, losses, restoring>>
Expire(m) == key' = [key EXCEPT ![m] = 0] /\ UNCHANGED <<counter, order, state, proposal, token, seen, stored, losses, restoring>>
\* 9.1 Its quarantine has passed when it is restored: no attempt that it had voted for is under way.
Forget(m) ==
  /\ losses' = Append(losses, m) /\ restoring' = restoring \cup {m}
  /\ key' = [key EXCEPT ![m] = 0] /\ counter' = [counter EXCEPT ![m] = 0] /\ UNCHANGED <<order, state, proposal, token, seen, stored>>
QuarantineIsOver(m) == \A a \in Attempts : seen[a][m] >= 0 => state[a] \in {"held", "over"}
Restore(m) ==  \* 8.8
  /\ ~Restored(m) /\ QuarantineIsOver(m)
  /\ \E others \in SUBSET (Masters \ {m}) :
       /\ Cardinality(others) = Sources /\ \A o \in others : Restored(o)
       /\ counter' = [counter EXCEPT ![m] = Largest({counter[o] : o \in others})]
  /\ restoring' = restoring \ {m} /\ UNCHANGED <<key, order, state, proposal, token, seen, stored, losses>>
GiveUp(a) == state[a] \in {"asking", "storing"} /\ state' = [state EXCEPT ![a] = "over"] /\ UNCHANGED <<key, counter, order, proposal, token, seen, stored, losses, restoring>>
Init ==
  /\ key = [m \in Masters |-> 0] /\ order = [m \in Masters |-> <<>>]
  /\ counter = [m \in Masters |-> 0]
  /\ state = [a \in Attempts |-> "idle"] /\ proposal = [a \in Attempts |-> 0] /\ token = [a \in Attempts |-> 0]
  /\ seen = [a \in Attempts |-> [m \in Masters |-> -1]] /\ stored = [a \in Attempts |-> {}]
  /\ losses = <<>> /\ restoring = {}
Next ==
  \/ \E a \in Repeating : Repeat(a)
  \/ \E a \in Attempts : Begin(a) \/ Decide(a) \/ GiveUp(a) \/ \E m \in Masters : Vote(m, a) \/ Store(m, a)
  \/ \E m \in Masters : Expire(m) \/ Forget(m) \/ Restore(m)
Spec == Init /\ [][Next]_vars

ASSUME IsFiniteSet(Masters) /\ Masters # {} /\ Proposals \subseteq Nat \ {0} /\ Repeating \subseteq Attempts
TypeOK ==
  /\ \A m \in Masters : key[m] \in Attempts \cup {0} /\ counter[m] \in Nat
  /\ \A a \in Attempts : stored[a] \in SUBSET Masters /\ (state[a] = "idle" => proposal[a] = 0 /\ token[a] = 0)
  /\ \A m \in Masters, a \in Attempts : (seen[a][m] >= 0 => state[a] # "idle") /\ (key[m] = a => state[a] # "idle")
Moves == {<<"idle", "asking">>, <<"asking", "storing">>, <<"asking", "held">>, <<"storing", "held">>, <<"asking", "over">>, <<"storing", "over">>}
\* 8.1 A counter never falls, but where it is forgotten.
AdvancesStep ==
  /\ \A a \in Attempts : state'[a] = state[a] \/ <<state[a], state'[a]>> \in Moves
  /\ \A m \in Masters : counter'[m] >= counter[m] \/ m \in restoring'
Advances == [][AdvancesStep]_vars
Place(m, a) == Largest({0} \cup {i \in 1..Len(order[m]) : order[m][i] = a})
\* Tokens rise: no two leases have one, and of two that count one master, the one that it voted for later has the larger. Any two
\* share a master.
TokensRise ==
  \A a, b \in Attempts : a # b /\ state[a] = "held" /\ state[b] = "held" =>
    /\ token[a] # token[b]
    /\ \A m \in stored[a] \cap stored[b] : Place(m, a) < Place(m, b) => token[a] < token[b]
\* 8.3 A majority that voted has stored the token of a lease, and keeps it, also when a master has forgotten and is restored.
StoredByAMajority ==
  \A a \in Attempts : state[a] = "held" =>
    2 * Cardinality(stored[a]) > Cardinality(Masters) /\ \A m \in stored[a] : Place(m, a) > 0 /\ (counter[m] >= token[a] \/ m \in restoring)
\* A token is the proposal at once, or one more than counters after a second round; and there are tokens after a loss.
MayBeAtOnce == \E a \in Attempts : state[a] = "held" /\ \A m \in Masters : seen[a][m] + 1 < token[a]
MayBeStored == \E a, b \in Attempts : state[a] = "held" /\ token[a] # proposal[a] /\ state[b] = "held" /\ token[b] = proposal[b]
\* 8.3 A master counts by its acknowledgement alone.
MayAcknowledge == \E a \in Attempts : state[a] = "held" /\ \E m \in stored[a] : seen[a][m] < 0
MayFollowLoss == losses # <<>> /\ restoring = {} /\ \E a, b \in Attempts : a # b /\ state[a] = "held" /\ state[b] = "held"
MayHaveFloor == losses # <<>> /\ restoring = {} /\ \A m \in Masters : counter[m] > 0
=============================================================================
