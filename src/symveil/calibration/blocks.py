"""Blocks: the largest Z(v)/Z(w) of two words that differ in one block of positions.

See docs/theory/certificates.md.
For one block p → q of length L, between the word's states a (before) and c (after; none at the end
of the word),

    Z ∝ Σ_{y,y'} γ(y|a) · P(y,y') · γ(y'|c),   P_p(y,y') = Σ over paths r from y to y' of T(r)·z^{d(r,p)},

and the boxes bound both γ. So Z(v)/Z(w) ≤ R as soon as Σ λ(y,y')(P_q − R·P_p)(y,y') ≤ 0 for every
λ in the product of the boxes: high where the bracket is positive, low where it is negative.

Only pairs (y,y') joined by a path that touches p or q at the right time need a look: on all others
P_q = P_p = z^L·A^{L+1}, the bracket is (1−R) times that and, as R ≥ 1, at most (1−R) times its value
at low, of which a lower bound is known for all pairs together. With the plain weight as a start,

    P_p(y,y') = z^L A^{L+1}(y,y') + Σ_i (1−z) z^{i−1} A^i(y,p_i) · G_i(y'),

where G_i(y') is the weight of everything from p_i at time i to y': the i-th term is what the match
at time i adds. All terms are positive, so float errors stay relative: `slack` is larger than four
times their bound, P_q is rounded up by it and P_p down.
"""

from __future__ import annotations

import numpy as np

from symveil.languages.compiling import compiled


@compiled
def _power(base, exponent):
    """base to the power of a small number ≥ 0, by squares."""
    result = 1.0
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


@compiled
def _rising(keys, count):
    """The order in which the first `count` keys rise; equal ones stay in theirs (merging runs of 1, 2, 4, …)."""
    order, spare = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for k in range(count):
        order[k] = k
    run = 1
    while run < count:
        begin = 0
        while begin < count:
            middle, end = min(begin + run, count), min(begin + 2 * run, count)
            left, right = begin, middle
            for k in range(begin, end):
                if right >= end or (left < middle and keys[order[left]] <= keys[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
            begin = end
        order, spare = spare, order
        run *= 2
    return order


@compiled
def paths_from(first, other, state, length, avoided):
    """All paths of `length` steps from a state, a row each; none through `avoided`."""
    count = 1
    rows = np.full((1, length), state)
    for step in range(length):
        total = 0
        for i in range(count):
            last = rows[i, step - 1] if step > 0 else state
            total += first[last + 1] - first[last]
        longer = np.empty((total, length), dtype=np.int64)
        index = 0
        for i in range(count):
            last = rows[i, step - 1] if step > 0 else state
            for e in range(first[last], first[last + 1]):
                if other[e] == avoided:
                    continue
                for j in range(step):
                    longer[index, j] = rows[i, j]
                longer[index, step] = other[e]
                index += 1
        rows, count = longer[:index], index
    return rows


@compiled
def _weights_after(first, other, weight, path, index, steps, decay, values, states, spare, seen):
    """Fill states[:width] and values[state]: the weight from path[place] to each state `steps` later.

    The last step of an inner block leads out of it and is not compared with the path.
    """
    length = len(path)
    states[0] = path[index]
    values[path[index]] = 1.0
    width = 1
    for step in range(steps):
        at = index + 1 + step
        wide = 0
        for k in range(width):
            mass = values[states[k]]
            for e in range(first[states[k]], first[states[k] + 1]):
                target = other[e]
                factor = decay if at < length and target != path[at] else 1.0
                if seen[target] < 0.0:
                    seen[target] = 0.0
                    spare[wide] = target
                    wide += 1
                seen[target] += mass * weight[e] * factor
        for k in range(width):
            values[states[k]] = 0.0
        for k in range(wide):
            states[k] = spare[k]
        for k in range(wide):
            values[states[k]] = seen[states[k]]
            seen[states[k]] = -1.0
        width = wide
    return width


@compiled
def _touched(
    first, other, weight, column_first, column_row, column_value, row_first, row_column, row_value,
    ends, path, decay, excess, final, values, states, spare, seen,
):  # fmt: skip
    """(key, P, plain P) for all (y, y') joined by a path that touches `path`, by rising key y·S + y'.

    `column_*` list the columns of A¹, A², …: the states that reach one in i steps. `row_*` are the
    rows of A^{L+1}, or for a final block, where there is no y' and the key is y, `ends` is A^L·1.
    """
    size = len(first) - 1
    length = len(path)
    capacity = 256
    keys = np.empty(capacity, dtype=np.int64)
    touched_list = np.empty(capacity)
    count = 0
    for i in range(length):
        gain = excess * _power(decay, i)
        width = _weights_after(
            first, other, weight, path, i, length - 1 - i + (0 if final else 1), decay, values, states, spare, seen
        )
        total = 0.0
        if final:
            for k in range(width):
                total += values[states[k]] * ends[0, states[k]]
        begin, end = column_first[i, path[i]], column_first[i, path[i] + 1]
        needed = count + (end - begin) * (1 if final else width)
        if needed > capacity:
            while capacity < needed:
                capacity *= 2
            more_keys = np.empty(capacity, dtype=np.int64)
            more_results = np.empty(capacity)
            more_keys[:count] = keys[:count]
            more_results[:count] = touched_list[:count]
            keys, touched_list = more_keys, more_results
        for r in range(begin, end):
            if final:
                keys[count] = column_row[r]
                touched_list[count] = gain * column_value[r] * total
                count += 1
            else:
                for k in range(width):
                    keys[count] = column_row[r] * size + states[k]
                    touched_list[count] = gain * column_value[r] * values[states[k]]
                    count += 1
        for k in range(width):
            values[states[k]] = 0.0
    order = _rising(keys, count)
    unique = 0
    sorted_keys = np.empty(count, dtype=np.int64)
    results = np.empty((count, 2))
    untouched = _power(decay, length)
    index = 0
    for k in range(count):
        key = keys[order[k]]
        if unique > 0 and sorted_keys[unique - 1] == key:
            results[unique - 1, 0] += touched_list[order[k]]
            continue
        if final:
            plain = untouched * ends[1, key]
        else:
            y, target = key // size, key % size
            if unique == 0 or sorted_keys[unique - 1] // size != y:
                index = row_first[y]
            while row_column[index] < target:
                index += 1
            plain = untouched * row_value[index]
        sorted_keys[unique] = key
        results[unique, 0] = plain + touched_list[order[k]]
        results[unique, 1] = plain
        unique += 1
    return sorted_keys[:unique].copy(), results[:unique].copy()


@compiled
def _raised(
    ratio, keys_p, values_p, keys_q, values_q, low_a, high_a, low_c, high_c, everything, size, final, slack
):  # fmt: skip
    """`ratio` ≥ 1, or a number that the block's Z(v)/Z(w) does not exceed if that is larger.

    `everything` is a lower bound on Σ low·plain over all pairs (y, y'), touched or not.
    """
    rounded_sum = (len(keys_p) + len(keys_q) + 8) * 2.0**-51
    for _ in range(60):
        above, below, positive, negative, touched = 0.0, 0.0, 0.0, 0.0, 0.0
        i, j = 0, 0
        while i < len(keys_p) or j < len(keys_q):
            if j == len(keys_q) or (i < len(keys_p) and keys_p[i] < keys_q[j]):
                key, of_p, of_q, plain = keys_p[i], values_p[i, 0], values_p[i, 1], values_p[i, 1]
                i += 1
            elif i == len(keys_p) or keys_q[j] < keys_p[i]:
                key, of_p, of_q, plain = keys_q[j], values_q[j, 1], values_q[j, 0], values_q[j, 1]
                j += 1
            else:
                key, of_p, of_q, plain = keys_p[i], values_p[i, 0], values_q[j, 0], values_p[i, 1]
                i += 1
                j += 1
            if final:
                low, high = low_a[key], high_a[key]
            else:
                y, after = key // size, key % size
                low, high = low_a[y] * low_c[after], high_a[y] * high_c[after]
            if high == 0.0:
                continue
            of_q *= 1.0 + slack
            of_p *= 1.0 - slack
            bracket = of_q - ratio * of_p
            if bracket > 0:
                worth = high
                positive += worth * bracket
            else:
                worth = low
                negative -= worth * bracket
            above += worth * of_q
            below += worth * of_p
            touched += low * plain
        rest = everything * (1.0 - slack - rounded_sum) - touched * (1.0 + slack + rounded_sum)
        if rest > 0:
            negative += (ratio - 1.0) * rest * (1.0 - slack)
            above += rest
            below += rest
        if positive * (1.0 + rounded_sum) <= negative * (1.0 - rounded_sum):
            return ratio
        if not (below > 0.0 and above < np.inf):
            return np.inf
        ratio = max(ratio, above / below) * (1.0 + 4.0 * (slack + rounded_sum))
    return np.inf


@compiled
def _spread(keys, results, low_a, high_a, low_c, high_c, size, final, slack):
    """Bounds on what the matches of one path add to Z: Σ λ·(P − plain) at low and at high, rounded outwards."""
    least, most = 0.0, 0.0
    rounded_sum = (len(keys) + 8) * 2.0**-51
    for k in range(len(keys)):
        if final:
            low, high = low_a[keys[k]], high_a[keys[k]]
        else:
            y, after = keys[k] // size, keys[k] % size
            low, high = low_a[y] * low_c[after], high_a[y] * high_c[after]
        if high > 0.0:
            least += low * max(0.0, results[k, 0] * (1.0 - slack) - results[k, 1] * (1.0 + slack))
            most += high * (results[k, 0] * (1.0 + slack) - results[k, 1] * (1.0 - slack))
    return least * (1.0 - rounded_sum), most * (1.0 + rounded_sum)


MIDDLE, FROM_START, FINAL = 0, 1, 2


@compiled
def largest_ratio(
    kind, group, first, other, weight, reverse_first, reverse_other, start, accepting,
    column_first, column_row, column_value, row_first, row_column, row_value, ends,
    low_before, high_before, low_after, high_after, valid_after, everything,
    decay, excess, length, slack,
):  # fmt: skip
    """The largest Z(v)/Z(w) over a group of blocks; 0 where there are none.

    MIDDLE: `group` holds the states a before the block. FROM_START: the states c after a block that
    begins at the virtual start: from there paths are too many to list, towards c they are not.
    FINAL: the states a before a block that ends the word; ends[0] is where a word may end (1 or 0),
    ends[1] is A^L applied to it. everything[a, c] is a lower bound on Σ low·plain.

    Most pairs need no more than a glance: Z = E + X with E ≥ `everything` common to both, so the
    ratio is at most (E + X_q)/(E + X_p) at the smallest E, if it is above 1 at all.
    """
    size = len(first) - 1
    final = kind == FINAL
    ratio = 0.0
    widest = 1
    for state in range(size):
        if state != start:
            widest = max(widest, first[state + 1] - first[state])
    nothing = np.empty(0)
    values, seen = np.zeros(size), np.full(size, -1.0)
    states, spare = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    keys, results = np.empty(4096, dtype=np.int64), np.empty((4096, 2))
    for h in range(len(group)):
        if kind == FROM_START:
            paths = paths_from(reverse_first, reverse_other, group[h], length, start)[:, ::-1].copy()
            a = start
        else:
            paths = paths_from(first, other, group[h], length, start)
            a = group[h]
        count = len(paths)
        begin, end = np.full(count, -1), np.full(count, -1)
        bounds = np.full((count, widest, 2), -1.0)
        used = 0
        for i in range(count):
            last_i = paths[i, length - 1]
            if final and not accepting[last_i]:
                continue
            for j in range(count):
                last_j = paths[j, length - 1]
                apart = not final or accepting[last_j]
                for k in range(length):
                    if paths[i, k] == paths[j, k]:
                        apart = False
                        break
                if not apart:
                    continue
                e, f = first[last_i], first[last_j]
                while final or (e < first[last_i + 1] and f < first[last_j + 1]):
                    if not final:
                        if other[e] < other[f]:
                            e += 1
                            continue
                        if other[f] < other[e]:
                            f += 1
                            continue
                    c = 0 if final else other[e]
                    slot_i, slot_j = e - first[last_i], f - first[last_j]
                    e += 1
                    f += 1
                    if not final and (not valid_after[c] or (kind == FROM_START and c != group[h])):
                        continue
                    if ratio == 0.0:
                        ratio = 1.0
                    low_c, high_c = nothing, nothing
                    if not final:
                        low_c, high_c = low_after[c], high_after[c]
                    for turn in range(2):
                        path, slot = i, slot_i
                        if turn == 1:
                            path, slot = j, slot_j
                        if begin[path] < 0:
                            new_keys, new_results = _touched(
                                first, other, weight, column_first, column_row, column_value,
                                row_first, row_column, row_value, ends,
                                paths[path], decay, excess, final, values, states, spare, seen,
                            )  # fmt: skip
                            while used + len(new_keys) > len(keys):
                                keys = np.concatenate((keys, np.empty_like(keys)))
                                results = np.concatenate((results, np.empty_like(results)))
                            begin[path] = used
                            for k in range(len(new_keys)):
                                y = new_keys[k] if final else new_keys[k] // size
                                if high_before[a, y] > 0.0:
                                    keys[used] = new_keys[k]
                                    results[used] = new_results[k]
                                    used += 1
                            end[path] = used
                        if bounds[path, slot, 1] < 0.0:
                            bounds[path, slot] = _spread(
                                keys[begin[path] : end[path]],
                                results[begin[path] : end[path]],
                                low_before[a],
                                high_before[a],
                                low_c,
                                high_c,
                                size,
                                final,
                                slack,
                            )
                    common = everything[a, c] * (1.0 - slack)
                    most = (common + bounds[j, slot_j, 1]) * (1.0 + slack)
                    if most > ratio * (common + bounds[i, slot_i, 0]) * (1.0 - slack):
                        ratio = _raised(
                            ratio, keys[begin[i] : end[i]], results[begin[i] : end[i]],
                            keys[begin[j] : end[j]], results[begin[j] : end[j]],
                            low_before[a], high_before[a], low_c, high_c, everything[a, c], size, final, slack,
                        )  # fmt: skip
                        if ratio == np.inf:
                            return ratio
                    if final:
                        break
    return ratio


@compiled
def glanced_ratio(
    kind, group, first, other, weight, reverse_first, reverse_other, start, accepting,
    column_first, column_row, column_value, row_first, row_column, row_value, ends,
    low_before, high_before, low_after, high_after, valid_after, everything,
    decay, excess, length, slack,
):  # fmt: skip
    """As `largest_ratio`, without looking at pairs: the largest E + X over the smallest, between the same ends.

    Looser, but in proportion to the number of paths and not to its square: for long blocks.
    """
    size = len(first) - 1
    final = kind == FINAL
    ratio = 0.0
    nothing = np.empty(0)
    values, seen = np.zeros(size), np.full(size, -1.0)
    states, spare = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    most, least, reached = np.zeros(size), np.full(size, np.inf), np.zeros(size, dtype=np.int64)
    for h in range(len(group)):
        if kind == FROM_START:
            paths = paths_from(reverse_first, reverse_other, group[h], length, start)[:, ::-1].copy()
            a = start
        else:
            paths = paths_from(first, other, group[h], length, start)
            a = group[h]
        most[:] = 0.0
        least[:] = np.inf
        reached[:] = 0
        for i in range(len(paths)):
            last = paths[i, length - 1]
            if final and not accepting[last]:
                continue
            keys, results = _touched(
                first, other, weight, column_first, column_row, column_value, row_first, row_column, row_value, ends,
                paths[i], decay, excess, final, values, states, spare, seen,
            )  # fmt: skip
            e = first[last]
            while final or e < first[last + 1]:
                c = 0 if final else other[e]
                e += 1
                if not final and (not valid_after[c] or (kind == FROM_START and c != group[h])):
                    continue
                low_c, high_c = nothing, nothing
                if not final:
                    low_c, high_c = low_after[c], high_after[c]
                lowest, highest = _spread(
                    keys, results, low_before[a], high_before[a], low_c, high_c, size, final, slack
                )
                most[c] = max(most[c], highest)
                least[c] = min(least[c], lowest)
                reached[c] += 1
                if final:
                    break
        for c in range(size):
            if reached[c] > 1:
                common = everything[a, c] * (1.0 - slack)
                ratio = max(ratio, 1.0)
                if most[c] > least[c]:
                    below = (common + least[c]) * (1.0 - slack)
                    ratio = max(ratio, (common + most[c]) * (1.0 + slack) / below if below > 0.0 else np.inf)
    return ratio
