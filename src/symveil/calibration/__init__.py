"""How much of the budget a rate really spends on a constrained language (docs/theory/certificates.md).

For P(w'|w) ∝ π(w')e^{−ηd(w,w')} the loss of two words is exactly η·d(w,v) + ln Z(v)/Z(w). The
papers bound the second term by the first; here it is computed or bounded by proof.

Lives here: the loss by `enumeration` (small languages); proved bounds, `block_bounds` (Markov chains: `boxes`,
`blocks`), `windows` (any small system), `spread` (anything, at large rates); `certify`, which chooses,
`search`, which looks for the largest rate, `kept`, which remembers the answer; `costs`, a two-sided certificate for
every cost, prior and adjacency (docs/theory/certificates.md); and the same for words of different lengths
(`truncated_loss`, `levenshtein_balls`, `edit_channel_loss`, `edit_channel_search`).
May not live here: the mechanism that uses a rate, or a bound that is not proved.
Stands on laws.
"""
