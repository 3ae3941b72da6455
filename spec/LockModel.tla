----------------------------- MODULE LockModel ------------------------------
\* The variants of Lock: each overrides one definition, breaks one rule or one assumption, and is refuted. The comment before it has
\* the definition, the rules, the bounds (packages/spec/src/catalogue.ts) and its name, which is that of the simulator's mutant
\* where there is one.
EXTENDS Lock, TLC
CONSTANTS A, B, C, D
AnyMaster == Permutations(Masters)
TwoClients(a) == IF a = 1 THEN "c1" ELSE "c2"
\* The client of the first attempt is slow, all others are fast.
SlowHolder(p) == IF p = "c1" THEN Slow ELSE Fast
\* Quorum, 2.3, one round: a minority is a quorum
Minority == Cardinality(Masters) \div 2
\* Token, 2.1, one round: a client uses one token for ever
OneToken(a) == 1
\* Lease, 1.1 3.1, one round: no drift is taken off
NoDrift(ttl) == ttl
\* From, 2.4, one round: the time is read when the reply comes, not before the send
FromReply(c) == Now(ClientOf(c.of)) + Rate(ClientOf(c.of))
\* LeaseEnd, 3.2, extended: a lease lasts as long as its longest master
Longest(a) == CHOOSE d \in {attempt[a].deadline[m] : m \in Masters} : \A m \in Masters : attempt[a].deadline[m] <= d
\* LifeAfter, 2.11, two ttls: an extension may shorten a key
Shortening(m, c) == Now(m) + c.ttl
\* KeptUntil, 2.12, extended: a key that holds the token already is not renewed, and still counts
NotRenewed(m, c) == IF Mine(m, c) THEN key[m].until ELSE Now(m) + c.ttl
\* MayVote, 2.2, one round: a vote overwrites the token that is there
Overwriting(m, c) == TRUE
\* MayDelete, 5.1, one round: a release deletes without comparing
WithoutComparing(m, c) == Lives(m)
\* Mine, 2.13, two rounds: the commands of a waiter touch the votes of all its rounds
OfAnyRound(m, c) == Lives(m) /\ key[m].of = Token(c.of)
\* Counts, 2.14, two rounds: a late reply of one round counts in the next
InAnyRound(c) == Holds(c.of) \/ (attempt[c.of].state = "asking" /\ c.do # "repair")
\* Counts, 4.1, extended: an extension that is answered after the deadline revives the lease
AfterTheDeadline(c) == c.round = attempt[c.of].round /\ (attempt[c.of].state = "held" \/ c.do = "vote")
\* Asking, 7.9, two rounds: a vote that was given up counts again
KeepVotes(a, r) == [attempt EXCEPT ![a].state = "asking", ![a].round = r]
\* End, 5.3, one round: a lease ends when its release is answered, not before it is sent
EndLater(a, r, M) ==
  /\ attempt[a].state \in {"asking", "held"}
  /\ net' = net \cup Commands(a, "delete", r, M, 0) /\ UNCHANGED <<clock, key, attempt>>
\* Fault, 1.2, one round: a master forgets
Forget == \E m \in Masters : Lives(m) /\ key' = [key EXCEPT ![m] = NoKey] /\ UNCHANGED <<clock, net, attempt>>
\* Fault, 1.3, one round: the clock of a master steps forward
StepForward == \E m \in Masters : Lives(m) /\ clock' = [clock EXCEPT ![m] = @ + Fast] /\ UNCHANGED <<key, net, attempt>>
\* Fault, 1.7, one round: a master says yes where it has not voted
Lie == \E c \in net : Counts(c) /\ c.do # "delete" /\ attempt' = [attempt EXCEPT ![c.of].deadline[c.to] = DeadlineAt(c.to, c)] /\ UNCHANGED <<clock, key, net>>
\* Fault, 1.8, one round: another program writes the keys
Overwritten == \E m \in Masters : Lives(m) /\ key' = [key EXCEPT ![m].of = Nobody] /\ UNCHANGED <<clock, net, attempt>>
=============================================================================
