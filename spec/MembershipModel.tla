--------------------------- MODULE MembershipModel --------------------------
\* The bounds of Membership: any list of up to four masters after any other, as far as the rule allows.
EXTENDS Membership
AnyList == SUBSET (1..4) \ {{}}
=============================================================================
