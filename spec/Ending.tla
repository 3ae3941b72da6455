------------------------------- MODULE Ending -------------------------------
\* Each attempt ends: rules 1.10 and 7.8 of docs/protocol.md. Time and lost messages are in Lock: here an answer is executed and heard
\* in one step, and a waiter that is given a key knows of it.
EXTENDS Integers, FiniteSets
CONSTANTS
  Masters, Attempts,
  Rounds  \* of each attempt, and any master may be silent for ever; or 0: it waits for as long as it takes, and all masters answer
VARIABLES
  key, queue,           \* of each master the attempt that has its vote, or 0; and those that wait
  state, answers, left  \* of each attempt: "idle", "asking", "held", "over"; who has answered in this round; the rounds that are left
vars == <<key, queue, state, answers, left>>

HasQuorum(a) == Cardinality({m \in Masters : key[m] = a}) > Cardinality(Masters) \div 2
IsLimited == Rounds > 0
\* 7.3 The smallest ticket is the first.
First(E) == IF E = {} THEN 0 ELSE CHOOSE a \in E : \A b \in E : a <= b
\* 1.10 A round ends by its own time-out, whoever has answered. 7.11 That of a waiter has the answers of a quorum.
MayEnd(a) == IsLimited \/ Cardinality(answers[a]) > Cardinality(Masters) \div 2
\* 1.10 Rounds, or the time for waiting, run out.
LeftAfter(a) == left[a] - 1

Ask(a) == state[a] = "idle" /\ state' = [state EXCEPT ![a] = "asking"] /\ UNCHANGED <<key, queue, answers, left>>
\* 7.1, 7.8 A waiter with votes but no quorum enqueues again, and gives each key to the smallest ticket, in one step on each master.
Answer(m, a) ==
  LET E == queue[m] \cup {a} IN
  /\ state[a] = "asking" /\ m \notin answers[a] /\ answers' = [answers EXCEPT ![a] = @ \cup {m}]
  /\ IF key[m] \in {0, a} THEN key' = [key EXCEPT ![m] = First(E)] /\ queue' = [queue EXCEPT ![m] = E \ {First(E)}]
     ELSE queue' = [queue EXCEPT ![m] = E] /\ UNCHANGED key
  /\ UNCHANGED <<state, left>>
Grant(a) ==  \* 2.3
  /\ state[a] = "asking" /\ HasQuorum(a)
  /\ state' = [state EXCEPT ![a] = "held"] /\ UNCHANGED <<key, queue, answers, left>>
Again(a) ==  \* 7.11
  /\ state[a] = "asking" /\ ~HasQuorum(a) /\ MayEnd(a) /\ (IsLimited => left[a] > 1)
  /\ answers' = [answers EXCEPT ![a] = {}] /\ left' = [left EXCEPT ![a] = IF IsLimited THEN LeftAfter(a) ELSE @]
  /\ UNCHANGED <<key, queue, state>>
End(a) ==  \* 5.1, 7.4, 7.10: a release, or a refusal when no round is left; the keys go to those that wait
  /\ state[a] = "held" \/ (state[a] = "asking" /\ IsLimited /\ left[a] <= 1)
  /\ state' = [state EXCEPT ![a] = "over"]
  /\ key' = [m \in Masters |-> IF key[m] = a THEN First(queue[m] \ {a}) ELSE key[m]]
  /\ queue' = [m \in Masters |-> queue[m] \ {a, key'[m]}] /\ UNCHANGED <<answers, left>>
Init ==
  /\ key = [m \in Masters |-> 0] /\ queue = [m \in Masters |-> {}] /\ state = [a \in Attempts |-> "idle"]
  /\ answers = [a \in Attempts |-> {}] /\ left = [a \in Attempts |-> Rounds]
Next == \E a \in Attempts : Ask(a) \/ Grant(a) \/ Again(a) \/ End(a) \/ \E m \in Masters : Answer(m, a)
\* A client does at last whatever it can always do; so does a master that answers.
Fairness ==
  \A a \in Attempts :
    /\ WF_vars(Grant(a)) /\ WF_vars(Again(a)) /\ WF_vars(End(a))
    /\ \A m \in Masters : WF_vars(~IsLimited /\ Answer(m, a))
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fairness

ASSUME IsFiniteSet(Masters) /\ Masters # {} /\ Attempts \subseteq Nat \ {0} /\ Rounds \in Nat
TypeOK ==
  /\ \A m \in Masters : key[m] \in Attempts \cup {0} /\ queue[m] \in SUBSET Attempts
  /\ \A a \in Attempts :
       /\ answers[a] \in SUBSET Masters /\ left[a] \in (IF Rounds = 0 THEN {0} ELSE 1..Rounds)
       /\ state[a] = "idle" => answers[a] = {} /\ left[a] = Rounds
\* 7.4 Nobody waits for a free key, nor for one that it has; and who has not called, or is over, has none and waits for none.
OnlyForOthers ==
  \A m \in Masters : (key[m] = 0 => queue[m] = {}) /\ key[m] \notin queue[m] /\ \A a \in Attempts : state[a] \in {"idle", "over"} => key[m] # a /\ a \notin queue[m]
\* 1.9, 2.3 Who holds has a majority. (No key runs out here.)
HeldByAMajority == \A a \in Attempts : state[a] = "held" => 2 * Cardinality({m \in Masters : key[m] = a}) > Cardinality(Masters)
Moves == {<<"idle", "asking">>, <<"asking", "held">>, <<"asking", "over">>, <<"held", "over">>}
\* 1.10 Nobody is refused who has a round left, or no limit, and each goes on alone.
Of(a) == <<state[a], answers[a], left[a]>>
AdvancesStep ==
  \A a \in Attempts :
    /\ state'[a] = state[a] \/ <<state[a], state'[a]>> \in Moves
    /\ state[a] = "asking" /\ state'[a] = "over" => Rounds > 0 /\ left[a] = 1
    /\ \A b \in Attempts \ {a} : Of(a)' = Of(a) \/ Of(b)' = Of(b)
Advances == [][AdvancesStep]_vars
\* 7.3, 7.8 A key goes to the first.
ToTheFirstStep == \A m \in Masters : key'[m] # key[m] /\ key'[m] # 0 => \A a \in queue'[m] : key'[m] <= a
ToTheFirst == [][ToTheFirstStep]_vars
\* 7.1, 7.10 Who waits stays in the queue until it has the key, or leaves; and who joins has the master's answer.
StaysInQueueStep ==
  \A m \in Masters :
    /\ \A a \in queue[m] \ queue'[m] : key'[m] = a \/ state'[a] = "over"
    /\ \A a \in queue'[m] \ queue[m] : m \in answers'[a] \ answers[a]
StaysInQueue == [][StaysInQueueStep]_vars

\* 1.10 A call settles; one without a limit is granted.
EachAttemptEnds == \A a \in Attempts : state[a] = "asking" ~> state[a] \in (IF Rounds > 0 THEN {"held", "over"} ELSE {"held"})
\* A majority is enough, in a later round as well.
MayBeAMajority == \E a \in Attempts, m \in Masters : state[a] = "held" /\ key[m] # a
MayEndLaterStep == \E a \in Attempts : state[a] = "held" /\ state'[a] = "over" /\ left[a] < Rounds
=============================================================================
