-------------------------------- MODULE Trace -------------------------------
\* Recorded runs of the client, held against Queue: is each step of a run a step of the specification? A module that TLC is given
\* beside this one has the runs. Each is about one resource, and its times are in units of 10 us. A run does not show:
\* - whatever comes after its first events, and resources but the first;
\* - the reading of tickets (7.2), the order of readers and writers (10.4), whether an entry goes with its grant (7.4), and whether a grant was heard: the winner is the one that the run names;
\* - when an answer was heard: a vote counts when it is cast (2.5, 2.14, 4.1, 7.9); what a client counts on behind its release (5.3);
\* - what has to happen at last: a rollback (2.6), a call's end (1.10), the turn of a waiter;
\* - what is left of a lease, where a process stalls between two readings of a clock (1.5);
\* - of a readers-writer lock all readers but one: one reader and the writers exclude each other as holders of a plain lock do (10.3),
\*   and the downgrade of another client is a release (10.5); nor marks (10.8), and what a client counts on after a downgrade;
\* - what comes after a master has forgotten (Guard); fencing tokens, databases, several resources at once (12.4), real sockets.
EXTENDS Queue, Sequences, TLC
CONSTANT Runs
VARIABLES run, place, handles
traceVars == <<clock, key, net, attempt, queue, run, place, handles>>
Steps == Runs[run].steps
Event == LET s == Steps[place] IN
  [what |-> s[1], of |-> s[2], round |-> s[3], do |-> s[4], to |-> s[5], ttl |-> s[6], sent |-> s[7], client |-> s[8],
   quorum |-> s[9], master |-> s[10], took |-> s[11], joins |-> s[12], winner |-> s[13], rank |-> s[14], until |-> s[15], ahead |-> s[16]]
\* The readings of the clocks of the master and of the client at the event; the rates are those of the run (1.1).
EventClock(p) == IF p \in Masters THEN Steps[place][10] ELSE Steps[place][8]
\* Clients may have different lists of masters (1.13): that of the client whose attempt it is.
QuorumOfRun == Event.quorum
ClientOfRun(a) == 0  RateOfRun(p) == 1
\* 3.1 with the precision of Redis and of the client's clock, 1 ms each.
LeaseOfRun(ttl) ==
  LET t == ttl - 100  rest == 10000 - Runs[run].drift IN (t \div 10000) * rest + ((t % 10000) * rest) \div 10000 - 100
\* The winner is the one that the run names, and nobody who waits stands before it in the queue of the master (7.3).
IsNamed(e, E) == e.of = Event.winner /\ e.round = Event.rank /\ \A other \in E : other.of \notin Event.ahead
\* Redis counts in whole milliseconds, when a key is set and when it is asked what is left; a key is there until its last one is over.
Grain == 201
LivesInRun(m) == key[m].until >= Now(m)
ReservedInRun(m, e) == (e.of # Event.of \/ Event.joins) /\ Event.until < Now(m) + e.ttl - Grain
UntilInRun(m, e) == Event.until
MayStay(m, e) == TRUE
SentInRun(a) == Event.client
CommandOf(e) == [do |-> e.do, of |-> e.of, round |-> e.round, to |-> e.to, ttl |-> e.ttl, sent |-> e.sent]

\* The commands of a round go out one by one, also while a quorum has answered; the deletes of earlier rounds go with a rollback (2.6).
\* A refused SET is followed by a question, also when its round is over (2.7): the answer counts for nothing.
Also(e) ==
  /\ e.do \in {"delete", "extend"} \/ attempt[e.of].state \in {"asking", "held"}
  /\ net' = net \cup Commands(e.of, e.do, e.round, {e.to}, e.ttl) /\ UNCHANGED <<clock, key, attempt>>
Sends(e) ==
  /\ IF e.do = "vote" THEN IF e.round = attempt[e.of].round THEN Also(e) ELSE Ask(e.of, e.round, {e.to}, e.ttl)
     ELSE IF e.do = "delete" THEN IF e.round = attempt[e.of].round THEN End(e.of, {e.to}) ELSE Also([e EXCEPT !.ttl = 0])
     ELSE IF e.do = "extend" /\ e.round < attempt[e.of].round THEN Also(e) ELSE Extend(e.of, e.do, {e.to}, e.ttl)
  /\ UNCHANGED <<queue, handles>>
\* A master that refuses a vote, refuses to write (1.7), or has nothing to delete.
Refuse(m, c) == net' = Without(c) /\ UNCHANGED <<clock, key, attempt>>
\* 10.4 In the trace of a readers-writer lock, the key of a waiting writer may go to a reader that it leaves out: the writer waits on.
Yields(m, c) == MayDelete(m, c) /\ key' = [key EXCEPT ![m] = NoKey] /\ queue' = [queue EXCEPT ![m] = (@ \ Entries(m, c.of, c.round)) \cup {c}] /\ net' = Without(c) /\ UNCHANGED <<clock, attempt>>
Executes(e) ==
  LET c == CommandOf(e) IN
  /\ c \in net /\ UNCHANGED handles
  /\ IF e.do = "delete"
     THEN IF e.took /\ e.winner # Nobody THEN Leave(e.to, c)
          ELSE /\ IF e.took THEN Delete(e.to, c) ELSE Refuse(e.to, c)
               /\ queue' = [queue EXCEPT ![e.to] = IF e.joins THEN @ \ Entries(e.to, e.of, e.round) ELSE @]
     ELSE IF e.took THEN (IF ~e.joins THEN Vote(e.to, c) /\ UNCHANGED queue ELSE IF e.winner = Nobody THEN Yields(e.to, c) ELSE Enqueue(e.to, c))
     ELSE /\ Refuse(e.to, c)
          /\ queue' = IF e.joins /\ ~IsOld(c, queue[e.to]) THEN [queue EXCEPT ![e.to] = (@ \ Entries(e.to, e.of, e.round)) \cup {c}] ELSE queue
\* 10.4 A reader that the trace leaves out gives way: the free key goes to the first.
Gives(e) == ~Lives(e.to) /\ Give(e.to, queue[e.to]) /\ UNCHANGED <<clock, net, handles>>
\* The key of the master is as the specification has it. One that is seen to be gone stays so if the master's clock is set back.
Shows(e) ==
  /\ IF Lives(e.to) THEN key[e.to].of = e.of /\ key[e.to].round = e.round /\ key[e.to].until - e.until \in (-Grain)..Grain /\ UNCHANGED key
     ELSE e.until <= Now(e.to) /\ key' = [key EXCEPT ![e.to] = IF e.of = Nobody THEN NoKey ELSE @]
  /\ UNCHANGED <<clock, net, attempt, queue, handles>>
Begins(e) ==
  /\ e.of \notin handles /\ handles' = handles \cup {e.of} /\ UNCHANGED queue
  /\ IF attempt[e.of].state = "held" THEN Holds(e.of) /\ UNCHANGED <<clock, key, net, attempt>> ELSE Grant(e.of)
\* 3.2 It counts on its lease for no longer than a quorum does.
Believes(e) == e.until <= LeaseEnd(e.of) + Grain /\ attempt[e.of].state = "held" /\ UNCHANGED queueVars /\ UNCHANGED handles
GivesUp(e) == handles' = handles \ {e.of} /\ UNCHANGED queueVars
GoesOn(e) == Resume(e.of) /\ handles' = handles \ {e.of} /\ UNCHANGED queue

Matches(e) ==
  CASE e.what = "sends" -> Sends(e) [] e.what = "runs" -> Executes(e) [] e.what = "shows" -> Shows(e) [] e.what = "gives" -> Gives(e)
    [] e.what = "begins" -> Begins(e) [] e.what = "believes" -> Believes(e) [] e.what = "gives up" -> GivesUp(e)
    [] e.what = "resumes" -> GoesOn(e) [] e.what = "passes" -> UNCHANGED queueVars /\ UNCHANGED handles
    [] OTHER -> FALSE
\* The last run has one event more than all others, and ends last: then it is told how far each has come.
Report == place = Len(Steps) /\ run = Len(Runs) => PrintT([r \in 1..Len(Runs) |-> TLCGet(r)])
TraceInit == QueueInit /\ run \in 1..Len(Runs) /\ place = 1 /\ handles = {} /\ TLCSet(run, 0)
TraceNext == place <= Len(Steps) /\ Matches(Event) /\ TLCSet(run, place) /\ Report /\ place' = place + 1 /\ UNCHANGED run
TraceSpec == TraceInit /\ [][TraceNext]_traceVars
Where == <<run, place>>
=============================================================================
