----------------------------- MODULE LockModel ------------------------------
\* The variants of Lock: each overrides one definition, breaks one rule or one assumption, and is refuted. The comment before it has
\* the definition, the rules, the bounds (packages/spec/src/catalogue.ts) and its name, which is that of the simulator's mutant
\* where there is one.
EXTENDS Lock, TLC
CONSTANTS A, B, C, D, E5
AnyMaster == Permutations(Masters)
TwoClients(a) == IF a = 1 THEN "c1" ELSE "c2"
\* The client of the first attempt is slow, all others are fast.
SlowHolder(p) == IF p = "c1" THEN Slow ELSE Fast
OneClient(a) == "c1"
Even(p) == 1
\* Token, 2.1, one round: a client uses one token for ever
OneToken(a) == 1
\* Lease, 1.1 3.1, one round: no drift is taken off
NoDrift(ttl) == ttl
\* From, 2.4, one round: the time is read when the reply comes, not before the send
FromReply(c) == Now(ClientOf(c.of)) + Rate(ClientOf(c.of))
\* LeaseEnd, 3.2, one round: a lease lasts as long as its longest master
Longest(a) == CHOOSE d \in {attempt[a].deadline[m] : m \in Masters} : \A m \in Masters : attempt[a].deadline[m] <= d
\* KeptUntil, 2.12, two ttls: a key that holds the token already is not renewed, and still counts
NotRenewed(m, c) == IF Mine(m, c) THEN key[m].until ELSE Now(m) + c.ttl
\* MayDelete, 5.1, three attempts: a release deletes without comparing
WithoutComparing(m, c) == Lives(m)
\* Asking, 7.9, two rounds: a vote that was given up counts again
KeepVotes(a, r) == [attempt EXCEPT ![a].state = "asking", ![a].round = r]
\* End, 5.3, one round: a lease ends when its release is answered, not before it is sent
EndLater(a, M) == net' = net \cup Commands(a, "delete", attempt[a].round, M, 0) /\ UNCHANGED <<clock, key, attempt>>
\* Fault, 1.2, one round: a master forgets
Forget == \E m \in Masters : Lives(m) /\ key' = [key EXCEPT ![m] = NoKey] /\ UNCHANGED <<clock, net, attempt>>
\* Fault, 1.3, one round: the clock of a master steps forward
StepForward == \E m \in Masters : Lives(m) /\ clock' = [clock EXCEPT ![m] = @ + Fast] /\ UNCHANGED <<key, net, attempt>>
\* Fault, 1.7, one round: a master says yes where it has not voted
Lie == \E c \in net : Counts(c) /\ c.do # "delete" /\ attempt' = [attempt EXCEPT ![c.of].deadline[c.to] = DeadlineAt(c.to, c)] /\ UNCHANGED <<clock, key, net>>
\* (What the other program writes ends at once.)
\* Fault, 1.8, three attempts: another program writes the keys
Overwritten == \E m \in Masters : Lives(m) /\ key' = [key EXCEPT ![m] = [NoKey EXCEPT !.until = Now(m)]] /\ UNCHANGED <<clock, net, attempt>>
=============================================================================
