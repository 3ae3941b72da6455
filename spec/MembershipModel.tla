--------------------------- MODULE MembershipModel --------------------------
\* The variants of Membership: see LockModel.
EXTENDS Membership
OneAtATime == <<{1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4}, {2, 3, 4, 5}>>
\* ListOf, 1.13, one at a time: two masters are added at once
Two(n) == IF n = 1 THEN {1, 2, 3} ELSE {1, 2, 3, 4, 5}
\* ListOf, 1.13, one at a time: a master is replaced in one step
Replaced(n) == IF n = 1 THEN {1, 2, 3} ELSE {2, 3, 4}
\* MayBegin, 1.13, one at a time: the next change of the list begins without the wait for the longest ttl
WithoutWaiting(n) == TRUE
=============================================================================
