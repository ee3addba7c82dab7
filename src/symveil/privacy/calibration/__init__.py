"""How much of the budget a rate really spends on a constrained language (mathematics §7).

For P(w'|w) ∝ π(w')e^{−ηd(w,w')} the loss of two words is exactly η·d(w,v) + ln Z(v)/Z(w). The
papers bound the second term by the first; here it is computed (`enumeration`, small languages) or
bounded by proof: `block_bounds` (Markov chains: `boxes`, `blocks`, `growth`), `windows` (any small
system), `spread` (anything, at large rates). `certify` chooses, `search` looks for the largest rate,
`kept` remembers the answer.
"""
