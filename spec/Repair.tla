------------------------------- MODULE Repair -------------------------------
\* Masters that forget the key of a holder, which sets it again: rules 4.2 and 4.7 of docs/protocol.md. Time is the number of extensions
\* that the holder has begun. A connection executes commands and answers in their order (2.6), at any later moment, or loses them.
\* Deadlines are in Lock. Left out: a vote that is heard after the grant, and quarantines.
EXTENDS Integers, FiniteSets, Sequences
CONSTANT Masters
VARIABLES
  key,       \* of each master: "holder", "rival", "none"
  now,       \* how many extensions the holder has begun; its grant is 0
  net,       \* of each master the commands on their way: when each was sent, and whether it repairs
  answers,   \* of each master the answers on their way: when the command was sent, and whether the key is there
  found,     \* of each master when the last command was sent that has found the key
  missing,   \* of each master when the command was sent that has found it missing, or -1
  gaps,      \* of each master the times for which its key may have been missing, each from and to
  confirmed, \* the last extension that a quorum has confirmed
  state,     \* "held", "lost"
  rival      \* when another client has held, or -1
vars == <<key, now, net, answers, found, missing, gaps, confirmed, state, rival>>

Quorum == Cardinality(Masters) \div 2 + 1
\* 4.7 The masters whose gaps have this instant: a gap is open until the key is heard to be there again.
IsOpen(m) == missing[m] >= 0
Missed(m, t) == (IsOpen(m) /\ found[m] <= t) \/ \E gap \in gaps[m] : gap[1] <= t /\ t <= gap[2]
MissedAt(t) == {m \in Masters : Missed(m, t)}
\* Since the last extension began.
There == {m \in Masters : found[m] = now}
NotHeard == {m \in Masters \ There : missing[m] < now}

\* 4.2 The holder asks plainly.
Extend ==
  /\ state = "held" /\ now' = now + 1
  /\ net' = [m \in Masters |-> Append(net[m], <<now', FALSE>>)]
  /\ UNCHANGED <<key, answers, found, missing, gaps, confirmed, state, rival>>
\* A master answers. A repair sets the key where it is missing.
Execute(m) ==
  LET c == Head(net[m]) IN
  /\ net' = [net EXCEPT ![m] = Tail(@)]
  /\ key' = IF c[2] /\ key[m] = "none" THEN [key EXCEPT ![m] = "holder"] ELSE key
  /\ answers' = [answers EXCEPT ![m] = Append(@, <<c[1], key'[m] = "holder">>)]
  /\ UNCHANGED <<now, found, missing, gaps, confirmed, state, rival>>
\* 4.7 It is there: a gap ends now.
HearThere(m, sent) ==
  /\ found' = [found EXCEPT ![m] = sent] /\ missing' = [missing EXCEPT ![m] = -1]
  /\ gaps' = IF IsOpen(m) THEN [gaps EXCEPT ![m] = @ \cup {<<found[m], now>>}] ELSE gaps
  /\ UNCHANGED net
\* 4.7 It is missing: the gap begins where the last command was sent that found it. A repair goes out behind this answer.
HearMissing(m, sent) ==
  /\ missing' = [missing EXCEPT ![m] = sent] /\ net' = [net EXCEPT ![m] = Append(@, <<now, TRUE>>)]
  /\ UNCHANGED <<found, gaps>>
Hear(m) ==
  LET n == Head(answers[m]) IN
  /\ answers' = [answers EXCEPT ![m] = Tail(@)]
  /\ IF n[2] THEN HearThere(m, n[1]) ELSE HearMissing(m, n[1])
  /\ UNCHANGED <<key, now, confirmed, state, rival>>
Disconnect(m) ==
  /\ net' = [net EXCEPT ![m] = <<>>] /\ answers' = [answers EXCEPT ![m] = <<>>]
  /\ UNCHANGED <<key, now, found, missing, gaps, confirmed, state, rival>>
\* 4.7 Lost, once the gaps of q masters share an instant.
Lose ==
  /\ \E t \in 0..now : Cardinality(MissedAt(t)) >= Quorum
  /\ state' = "lost" /\ UNCHANGED <<key, now, net, answers, found, missing, gaps, confirmed, rival>>
\* 4.7 Nothing is confirmed while the masters not heard may make a quorum of gaps.
Confirm ==
  /\ Cardinality(There) >= Quorum
  /\ \A t \in 0..now : Cardinality(MissedAt(t) \cup NotHeard) < Quorum
  /\ confirmed' = now /\ UNCHANGED <<key, now, net, answers, found, missing, gaps, state, rival>>
\* 1.2 does not hold here. The other client releases likewise.
Forget(m) ==
  /\ key' = [key EXCEPT ![m] = "none"]
  /\ UNCHANGED <<now, net, answers, found, missing, gaps, confirmed, state, rival>>
\* Another client has a quorum once.
Take(m) ==
  /\ key[m] = "none" /\ key' = [key EXCEPT ![m] = "rival"]
  /\ rival' = IF Cardinality({o \in Masters : key'[o] = "rival"}) >= Quorum THEN now ELSE rival
  /\ UNCHANGED <<now, net, answers, found, missing, gaps, confirmed, state>>
Init ==
  /\ key = [m \in Masters |-> "holder"] /\ now = 0
  /\ net = [m \in Masters |-> <<>>] /\ answers = [m \in Masters |-> <<>>]
  /\ found = [m \in Masters |-> 0] /\ missing = [m \in Masters |-> -1] /\ gaps = [m \in Masters |-> {}]
  /\ confirmed = 0 /\ state = "held" /\ rival = -1
Next ==
  \/ Extend \/ Lose \/ Confirm
  \/ \E m \in Masters : net[m] # <<>> /\ Execute(m)
  \/ \E m \in Masters : answers[m] # <<>> /\ Hear(m)
  \/ \E m \in Masters : Disconnect(m) \/ Forget(m)
  \/ \E m \in Masters : rival < 0 /\ Take(m)
Spec == Init /\ [][Next]_vars

ASSUME IsFiniteSet(Masters) /\ Masters # {}
TypeOK ==
  /\ state \in {"held", "lost"} /\ confirmed \in 0..now /\ rival \in -1..now
  /\ \A m \in Masters :
       /\ key[m] \in {"holder", "rival", "none"} /\ found[m] \in 0..now /\ missing[m] \in -1..now
       /\ \A gap \in gaps[m] : 0 <= gap[1] /\ gap[1] <= gap[2] /\ gap[2] <= now
IsMost(S) == 2 * Cardinality(S) > Cardinality(Masters)
\* 4.7 Each extension that begins after another client has held finds that out.
NobodyIsHidden == rival >= 0 => confirmed <= rival
\* 4.2 A repair takes no key from a rival. 3.6 A lost lease stays lost. 4.7 It is lost only where gaps of a majority share an instant.
\* No gap is forgotten, and an answer says whether the key is there now.
OnlyFreeKeysStep ==
  /\ \A m \in Masters : key'[m] # key[m] => (key[m] = "none" \/ key'[m] = "none") /\ \A o \in Masters \ {m} : key'[o] = key[o]
  /\ \A m \in Masters : key'[m] = "holder" /\ key[m] = "none" => net[m] # <<>> /\ net[m][1][2]
  /\ \A m \in Masters : gaps[m] \subseteq gaps'[m] /\ (Len(answers'[m]) > Len(answers[m]) => answers'[m][Len(answers'[m])][2] = (key'[m] = "holder"))
  /\ state = "lost" => state' = state /\ confirmed' = confirmed /\ now' = now
  /\ state' # state =>
       \E t \in 0..now : IsMost({m \in Masters : (missing[m] >= 0 /\ t >= found[m]) \/ \E gap \in gaps[m] : t \in gap[1]..gap[2]})
  /\ confirmed' # confirmed => IsMost({m \in Masters : found[m] = confirmed'})
OnlyFreeKeys == [][OnlyFreeKeysStep]_vars
\* 4.2 A master that forgets costs nothing: it is repaired, and counts. Two that forget one after the other cost nothing either.
\* Where a quorum has forgotten at a time, the lease is lost, also where the other client has gone.
MayBeRepaired == confirmed > 0 /\ \E m \in Masters : gaps[m] # {} /\ m \in There /\ key[m] = "holder"
MayForgetInTurn == confirmed = now /\ IsMost({m \in Masters : gaps[m] # {}})
MayBeLost == state = "lost"
MayBeHidden == state = "held" /\ rival >= 0 /\ \A m \in Masters : key[m] # "rival"
\* Of states that are lost one is enough.
Useful == IF state = "lost" THEN <<>> ELSE vars
=============================================================================
