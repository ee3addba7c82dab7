"""How much of the budget a rate really spends on a constrained language (docs/theory/certificates.md).

For P(w'|w) ∝ π(w')e^{−ηd(w,w')} the loss of two words is exactly η·d(w,v) + ln Z(v)/Z(w). The
papers bound the second term by the first; here it is computed or bounded by proof.

Lives here: what a rate is asked of (`weighting`), what is proved of it and the one search for the largest rate
(`search`, `rates`, with `answers`, which keeps what was found), and the one place where a budget becomes a rate
(`calibrate`). The provers: `enumeration` (few words), `halves` (short words, all pairs), `costs` (blocks, best first),
`certify` with `block_bounds` and `windows` (the quick certificate of exponential weights by Hamming distance), and
`graceful` with `detours` (what every position loses). The same for words of different lengths: `truncated_loss`,
`edit_channel`.
May not live here: the mechanism that uses a rate, or a bound that is not proved.
Stands on laws.
"""
