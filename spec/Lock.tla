-------------------------------- MODULE Lock --------------------------------
\* A lock by a quorum of votes: sections 2 to 6 of docs/protocol.md. The number behind an action or a definition is that
\* of its rule there. Left out: batches, databases, fencing tokens (Fencing.tla) and the order of waiters (Queue.tla).
\*
\* A command is executed at any later moment, in any order, or never. An answer may be lost or late: the client may use
\* a vote from the moment at which it is cast, and need not. A client that is suspended, or dies, takes no step.
EXTENDS Integers, FiniteSets
CONSTANTS
  Masters,      \* the servers
  Clients,      \* the processes, each with a clock
  Attempts,     \* what may be tried; an attempt has one or more rounds
  Rounds,       \* the number of rounds that an attempt may have
  Extending,    \* the attempts that extend their lease
  Extensions,   \* how: by "repair", which sets missing keys again, or by "extend"
  ClientOf(_),  \* whose an attempt is
  Ttls,         \* the lifetimes that may be asked for, in units of the clocks
  Slow, Fast,   \* what the slowest and the fastest clock count in a tick (1.1)
  Rate(_)       \* what this clock counts
VARIABLES
  clock,    \* of each master and each client, what it shows
  key,      \* of each master, the vote: the attempt, its round, and the end by the clock of the master
  net,      \* the commands on their way
  attempt   \* of each attempt its state, its round, and for each master the deadline by the clock of the client (3.1)
vars == <<clock, key, net, attempt>>

Nobody == 0
NoKey == [of |-> Nobody, round |-> 0, until |-> 0]
NoVotes == [m \in Masters |-> 0]
Max(x, y) == IF x > y THEN x ELSE y
Now(p) == clock[p]

\* 2.3 Any two of these share a master.
Quorum == Cardinality(Masters) \div 2 + 1
\* 2.1 Each attempt has a fresh token.
Token(a) == a
\* 3.1 The drift is taken off: no clock of a master shows more before the client's own shows this.
Lease(ttl) == (ttl * Slow) \div Fast
\* 2.4, 3.3 A deadline counts from the send.
From(c) == c.sent
\* 3.2 The lease ends at the q-th largest of the deadlines.
LeaseEnd(a) ==
  LET d == attempt[a].deadline
      kept == {d[m] : m \in {n \in Masters : Cardinality({k \in Masters : d[k] >= d[n]}) >= Quorum}}
  IN CHOOSE end \in kept : \A other \in kept : other <= end
\* 3.6 Answered from the clock whenever it is asked.
Holds(a) == attempt[a].state = "held" /\ LeaseEnd(a) > Now(ClientOf(a))

Lives(m) == key[m].until > Now(m)
\* 2.13 A command touches the votes of its own round and of earlier ones.
Mine(m, c) == Lives(m) /\ key[m].of = Token(c.of) /\ key[m].round <= c.round
\* 2.2, 2.7 A vote is cast for a free key, or for the client's own token; an extension without repair needs the latter (4.3).
MayVote(m, c) == Mine(m, c) \/ (~Lives(m) /\ c.do # "extend")
\* 5.1 A release compares and deletes in one step.
MayDelete(m, c) == Mine(m, c)
\* 2.11, 2.12 The key lives for at least the ttl from now, and no command shortens it.
LifeAfter(m, c) == Max(IF Mine(m, c) THEN key[m].until ELSE 0, Now(m) + c.ttl)
KeptUntil(m, c) == LifeAfter(m, c)
\* A yes says what is left of the key.
DeadlineAt(m, c) == From(c) + Lease(LifeAfter(m, c) - Now(m))
\* 2.14 A yes counts only in the round that asked for it. 4.1 An extension counts only before the previous deadline.
Counts(c) ==
  /\ c.round = attempt[c.of].round
  /\ Holds(c.of) \/ (attempt[c.of].state = "asking" /\ c.do # "repair")

\* It does not matter when a delete was sent.
DeleteSent(a) == 0
Command(a, do, r, m, ttl) ==
  [do |-> do, of |-> a, round |-> r, to |-> m, ttl |-> ttl, sent |-> IF do = "delete" THEN DeleteSent(a) ELSE Now(ClientOf(a))]
Commands(a, do, r, M, ttl) == {Command(a, do, r, m, ttl) : m \in M}
Without(c) == net \ {c}

\* 2.2 All masters are asked at once. 2.13, 2.14 A further round has its own token, and what was heard before is forgotten
\* (7.8, 7.9). The heartbeat of a waiter is such a round (7.11); what is idle again was rolled back first (2.6).
Asking(a, r) == [attempt EXCEPT ![a] = [state |-> "asking", round |-> r, deadline |-> NoVotes]]
Ask(a, r, M, ttl) ==
  /\ r > attempt[a].round /\ attempt[a].state \in {"idle", "asking"}
  /\ net' = net \cup Commands(a, "vote", r, M, ttl)
  /\ attempt' = Asking(a, r)
  /\ UNCHANGED <<clock, key>>
\* 2.7, 2.12 A master votes, extends, or sets a missing key again (4.2): it executes one of the commands on their way.
Vote(m, c) ==
  /\ c.do # "delete" /\ MayVote(m, c)
  /\ key' = [key EXCEPT ![m] = [of |-> Token(c.of), round |-> c.round, until |-> KeptUntil(m, c)]]
  /\ attempt' = IF Counts(c) THEN [attempt EXCEPT ![c.of].deadline[m] = Max(@, DeadlineAt(m, c))] ELSE attempt
  /\ net' = Without(c) /\ UNCHANGED clock
\* 2.3, 2.5 A quorum of votes that leaves validity is a lease.
Grant(a) ==
  /\ attempt[a].state = "asking" /\ LeaseEnd(a) > Now(ClientOf(a))
  /\ attempt' = [attempt EXCEPT ![a].state = "held"] /\ UNCHANGED <<clock, key, net>>
\* 4.2 Only an extension repairs, and only before the deadline. 2.7, 4.5 Without repair it is a question, at any time.
Extend(a, do, M, ttl) ==
  /\ Holds(a) \/ do = "extend"
  /\ net' = net \cup Commands(a, do, attempt[a].round, M, ttl) /\ UNCHANGED <<clock, key, attempt>>
\* 5.10 Another client goes on with a lease: it has heard nothing yet.
Resume(a) ==
  /\ attempt[a].state \in {"held", "asking"}
  /\ attempt' = Asking(a, attempt[a].round) /\ UNCHANGED <<clock, key, net>>
\* 5.3 The lease ends before its release is sent. 2.6 A failed attempt is rolled back, and may ask again in another round. A client
\* that dies sends nothing.
End(a, M) ==
  /\ net' = net \cup Commands(a, "delete", attempt[a].round, M, 0)
  /\ attempt' = [attempt EXCEPT ![a].state = IF @ \in {"held", "over"} THEN "over" ELSE "idle"]
  /\ UNCHANGED <<clock, key>>
Delete(m, c) ==
  /\ c.do = "delete" /\ MayDelete(m, c)
  /\ key' = [key EXCEPT ![m] = NoKey]
  /\ net' = Without(c) /\ UNCHANGED <<clock, attempt>>
\* 1.1 The clocks differ in rate.
Tick == clock' = [p \in Masters \cup Clients |-> clock[p] + Rate(p)] /\ UNCHANGED <<key, net, attempt>>
\* Faults that the assumptions of section 1 exclude.
Fault == FALSE

Init ==
  /\ clock = [p \in Masters \cup Clients |-> 0]
  /\ key = [m \in Masters |-> NoKey]
  /\ net = {}
  /\ attempt = [a \in Attempts |-> [state |-> "idle", round |-> 0, deadline |-> NoVotes]]
\* The steps of a search, and its bounds: a trace has the actions above.
Asks(a, ttl) == \E r \in 1..Rounds : Ask(a, r, Masters, ttl)
Extends(a, ttl) ==
  /\ a \in Extending /\ attempt[a].round > 0 /\ \A c \in net : c.do \in {"repair", "extend"} => c.of # a
  /\ \E do \in Extensions : Extend(a, do, Masters, ttl)
Resumes(a) == a \in Extending /\ "extend" \in Extensions /\ Resume(a)
Ends(a) == attempt[a].state \in {"asking", "held"} /\ End(a, Masters)
\* A command that changes nothing may as well be late: only traces have refusals.
Next ==
  \/ \E a \in Attempts : Grant(a) \/ Resumes(a) \/ Ends(a) \/ \E ttl \in Ttls : Asks(a, ttl) \/ Extends(a, ttl)
  \/ \E c \in net : Vote(c.to, c)
  \/ \E c \in net : Delete(c.to, c)
  \/ Tick \/ Fault
Spec == Init /\ [][Next]_vars

ASSUME
  /\ IsFiniteSet(Masters) /\ Masters # {} /\ Rounds \in Nat /\ Extending \subseteq Attempts /\ Ttls \subseteq Nat \ {0}
  /\ Slow \in Nat /\ Fast \in Nat /\ 0 < Slow /\ Slow <= Fast /\ \A p \in Masters \cup Clients : Rate(p) \in Slow..Fast
  /\ \A a \in Attempts : ClientOf(a) \in Clients
TypeOK ==
  /\ \A m \in Masters : IF key[m].of \in Attempts THEN key[m].round \in 1..attempt[key[m].of].round ELSE key[m] = NoKey
  /\ \A a \in Attempts : attempt[a].state \in (IF attempt[a].round = 0 THEN {"idle"} ELSE {"idle", "asking", "held", "over"})
  /\ \A c \in net : c.to \in Masters /\ c.round \in 1..attempt[c.of].round /\ c.sent <= Now(ClientOf(c.of))
\* 1.9
OneHolder == \A a, b \in Attempts : Holds(a) /\ Holds(b) => a = b
\* 2.12, 3.1 Each vote that an attempt counts is there until its deadline.
EachVoteIsThere ==
  \A a \in Attempts, m \in Masters :
    attempt[a].state \in {"asking", "held"} /\ attempt[a].deadline[m] > Now(ClientOf(a)) => key[m].until > Now(m) /\ key[m].of = a
\* 1.11 While the holder counts on its lease, a majority keeps its key: it is told before another client can hold.
ToldBeforeAnother ==
  \A a \in Attempts : Holds(a) => 2 * Cardinality({m \in Masters : key[m].until > Now(m) /\ key[m].of = a}) > Cardinality(Masters)
\* 6.1 A key without an owner delays others for one ttl, and no longer.
NoKeyOutlivesItsTtl ==
  /\ \A m \in Masters : key[m].until <= Now(m) + (CHOOSE t \in Ttls : \A u \in Ttls : u <= t)
  /\ \A c \in net : c.do = "vote" /\ key[c.to].until <= Now(c.to) => MayVote(c.to, c)
\* 3.2 A majority keeps its votes until the lease ends, and none for longer.
EndsWithItsMajority ==
  \A a \in Attempts : LET end == LeaseEnd(a)  d == attempt[a].deadline IN
    /\ 2 * Cardinality({m \in Masters : d[m] >= end}) > Cardinality(Masters)
    /\ 2 * Cardinality({m \in Masters : d[m] > end}) <= Cardinality(Masters)
Moves == {<<"idle", "asking">>, <<"asking", "idle">>, <<"asking", "held">>, <<"held", "asking">>, <<"held", "over">>}
\* 3.6, 4.1 A lost lease stays lost. 5.3 So does one that has ended. 2.5 One that is granted has validity.
\* 2.14, 5.10 Who asks has heard nothing yet.
LostStaysLostStep ==
  \A a \in Attempts : LET before == attempt[a].state  now == attempt'[a].state IN
    /\ before = "held" /\ ~Holds(a) => ~Holds(a)'
    /\ before = now \/ <<before, now>> \in Moves
    /\ before # "held" /\ now = "held" => Holds(a)'
    /\ (before # "asking" /\ now = "asking") \/ attempt'[a].round # attempt[a].round => attempt'[a].deadline = NoVotes
LostStaysLost == [][LostStaysLostStep]_vars
\* 5.1, 2.13 What a command changes was free, or its own. 2.11, 2.12 It shortens no life, and 3.3 no deadline. 4.5 A plain extension changes
\* no key that is gone. 5.1 What is released is gone. 5.10 Who goes on with a lease counts no key that was gone.
\* 2.4, 3.1 What counts is what is left of the key, without the drift, from the send.
OnlyItsOwnStep ==
  \A c \in net \ net' :
    LET old == key[c.to]  new == key'[c.to]  lives == old.until > Now(c.to)
        before == attempt[c.of]  now == attempt'[c.of]
    IN
    /\ \A m \in Masters : key'[m] # key[m] => m = c.to
    /\ new # old /\ lives => old.of = c.of /\ old.round <= c.round /\ (c.do # "delete" => new.until >= old.until)
    /\ new # old /\ c.do # "delete" => new.until >= Now(c.to) + c.ttl
    /\ \A m \in Masters : now.deadline[m] >= before.deadline[m]
    /\ now.deadline[c.to] \in {before.deadline[c.to], c.sent + ((new.until - Now(c.to)) * Slow) \div Fast}
    /\ c.do = "extend" => new = old \/ lives
    /\ c.do = "delete" /\ new.of = c.of /\ new.until > Now(c.to) => new.round > c.round
    /\ c.do # "vote" /\ before.state = "asking" /\ now # before => lives
OnlyItsOwn == [][OnlyItsOwnStep]_vars
\* 4.2 Only a holder repairs. 2.2, 5.1 All masters are asked at once, 2.13 by the round.
OnlyAHolderRepairsStep ==
  \A c \in net' \ net :
    /\ c.do = "repair" => Holds(c.of)
    /\ c.round = attempt'[c.of].round /\ \A m \in Masters : [c EXCEPT !.to = m] \in net'
OnlyAHolderRepairs == [][OnlyAHolderRepairsStep]_vars
MayHold == \E a \in Attempts : Holds(a)
\* Another holds after a release, after a lease that nobody has released, and where late commands are on their way.
MayFollow == \E a, b \in Attempts : Holds(a) /\ attempt[b].state = "over"
MayFollowLost == \E a, b \in Attempts : Holds(a) /\ attempt[b].state = "held" /\ a # b
\* 4.1, 4.2, 5.10 A lease is extended, a master that had not voted is repaired, and a client hears of the lease that it goes on with.
\* 4.5 It may ask without a lease. 2.6 A failed attempt asks again.
MayExtendStep == \E a \in Attempts : Holds(a) /\ LeaseEnd(a)' > LeaseEnd(a)
MayRepairStep == \E c \in net \ net' : c.do = "repair" /\ key[c.to] = NoKey /\ key'[c.to].of = c.of
MayConfirmStep == \E c \in net \ net' : c.do = "extend" /\ attempt[c.of].state = "asking" /\ attempt'[c.of].deadline # attempt[c.of].deadline
MayAskPlainlyStep == \E c \in net' \ net : c.do = "extend" /\ ~Holds(c.of)
MayAskAgainStep == \E a \in Attempts : attempt[a].state = "idle" /\ attempt[a].round > 0 /\ attempt'[a].state = "asking"
\* 7.11 So does a waiter, and 2.13 a release deletes votes of earlier rounds.
MayBeatStep == \E a \in Attempts : attempt[a].state = "asking" /\ attempt'[a].round > attempt[a].round
MayDeleteEarlierStep == \E c \in net \ net' : Lives(c.to) /\ key[c.to].of = c.of /\ key[c.to].round < c.round /\ key'[c.to] = NoKey

\* When all attempts are over, nothing can go wrong any more.
IsLeft(a) == attempt[a].state \in {"asking", "held"} \/ attempt[a].round < Rounds
SomeoneIsLeft == \E a \in Attempts : IsLeft(a)
\* Only what is left of each time matters: of states that differ in the readings alone, one is searched.
Left(end, p) == Max(0, end - clock[p])
Relative ==
  <<[m \in Masters |-> IF Lives(m) THEN <<key[m].of, key[m].round, Left(key[m].until, m)>> ELSE <<>>],
    {<<c.do, c.of, c.round, c.to, c.ttl, IF c.do = "delete" THEN 0 ELSE Left(c.sent + Lease(c.ttl), ClientOf(c.of))>> : c \in net},
    [a \in Attempts |-> <<attempt[a].state, attempt[a].round,
       [m \in Masters |-> Left(attempt[a].deadline[m], ClientOf(a))]>>]>>
=============================================================================
