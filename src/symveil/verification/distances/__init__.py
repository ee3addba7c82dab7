"""Distances between the states of a labelled Markov chain, and with them differential privacy (C19).

Lives here: the kernel ~_α, ld = lgd and bd by policy iteration with proofs, brackets on the true δ.
May not live here: where chains come from (models, io, mechanisms), curves and commands (workflows, cli).

    simplex      one small least-cost flow with gains, in floats or in exact rationals
    lifting      the one-step distance K(d)(μ, μ'), with relays
    tables       a chain as arrays
    bisimulation exact lumping: which states no observer can ever tell apart
    finite_words chains that end: the odds of all words
    kernel       the pairs at distance 0, exactly
    exact        policy iteration in rationals, and the solution of a policy's linear system
    sweep_loops  the loops over all pairs, compiled; also kernel_loops, search_loops
    flows        policy iteration in floats: a flow for each pair
    certificate  an upper bound proved by one sweep
    symmetric    bd, the symmetric predecessor
    distances    all of that in one call
    bracket      lower and upper bounds on the true δ
"""
