"""Distances between the states of a labelled Markov chain, and with them differential privacy (C19).

Lives here: the kernel ~_α, ld = lgd and bd by policy iteration with proofs, brackets on the true δ.
May not live here: where chains come from (models, formats, mechanisms), curves and commands (tasks, cli).

    simplex        one small least-cost flow with gains, in floats or in exact rationals, and the one-step
                   distance K(d)(μ, μ'), with relays
    tables         a chain as arrays; policy iteration; exact lumping: which states no observer can tell apart
    finite_words   chains that end: the odds of all words
    exact          policy iteration in rationals, the solution of a policy's linear system, the pairs at distance 0
    flows          policy iteration in floats: a flow for each pair; an upper bound proved by one sweep
    sweep_loops    the loops over all pairs, compiled; also kernel_loops, search_loops
    distances      all of that in one call; bd, the symmetric predecessor
    bracket        lower and upper bounds on the true δ
    rounded_search the same search in floats that are rounded against the claim
"""
