"""What windows use of the loops of certificates, for as long as theirs are compiled by `languages.compiling`."""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled


@compiled
def largest_fraction(first, other, weight, low, high, y, t, least, slack):
    """A number that Σ T(y,·)g / Σ T(t,·)g does not exceed for any g in the box; at least `least`.

    R is such a number as soon as Σ (T(y,s) − R·T(t,s))·g(s) ≤ 0 for every g: high where the bracket is positive, low
    elsewhere. The test is made with T(y,·) rounded up and T(t,·) rounded down, and R climbs (Dinkelbach) until it
    passes; should it not pass in time, infinity is the answer.
    """
    ratio = least
    for _ in range(60):
        above, below, positive, negative = 0.0, 0.0, 0.0, 0.0
        i, j = first[y], first[t]
        while i < first[y + 1] or j < first[t + 1]:
            of_y, of_t = 0.0, 0.0
            if j == first[t + 1] or (i < first[y + 1] and other[i] <= other[j]):
                state = other[i]
                of_y = weight[i] * (1.0 + slack)
                if j < first[t + 1] and other[j] == state:
                    of_t = weight[j] * (1.0 - slack)
                    j += 1
                i += 1
            else:
                state = other[j]
                of_t = weight[j] * (1.0 - slack)
                j += 1
            bracket = of_y - ratio * of_t
            if bracket > 0:
                worth = high[state]
                positive += worth * bracket
            else:
                worth = low[state]
                negative -= worth * bracket
            above += worth * of_y
            below += worth * of_t
        if positive * (1.0 + slack) <= negative * (1.0 - slack):
            return ratio
        if not (below > 0.0 and above < np.inf):
            return np.inf
        ratio = max(ratio, above / below) * (1.0 + 4.0 * slack)
    return np.inf
