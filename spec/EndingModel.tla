---------------------------- MODULE EndingModel -----------------------------
\* The variants of Ending: see LockModel.
EXTENDS Ending
\* MayEnd, 1.10, two rounds, at last: a round lasts until every master has answered
WithTheLast(a) == answers[a] = Masters
\* LeftAfter, 1.10, two rounds, at last: a call asks again for ever
NeverLess(a) == left[a]
\* HasEntry, 7.8, no limit: rivals roll back without a queue entry
RolledBack == FALSE
=============================================================================
