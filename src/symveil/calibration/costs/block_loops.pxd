# What the names of block_loops.py are in C, and what other loops use of it.
from symveil.calibration.costs.box_loops cimport Slots, hull
from symveil.calibration.costs.step_loops cimport EveryState, smaller_step, step_backward, step_forward, summed
from symveil.numbers.compiled cimport (
    INFINITY, Bools, Floats, IntTable, Ints, NewBools, NewFloatBox, NewFloatTable, NewFloats, NewInts, ceil, exp,
)


cdef class Paths:
    cdef Ints first, row, spare, end
    cdef IntTable steps, apart
    cdef Bools may_own, may_other


cdef class Prices:
    cdef Floats value
    cdef double rate, target
    cdef long long period


cdef bint comparable(Paths paths, long long i, long long j, long long differ) noexcept nogil
cdef bint _can_be_pair(Paths paths, long long i, long long j, long long differ, long long spare) noexcept nogil
cdef double pair_cost(
    EveryState moves, Prices prices, long long begin, long long differ, IntTable steps, long long i, long long j
) noexcept nogil
cdef (double, double) limits(Prices prices, double cost) noexcept nogil
cdef (double, double, double) smallest_passing(
    double a, double b, double a_width, double b_width, Floats above, Floats below, Floats above_end, Floats below_end,
    Floats left_width, Floats right_width, long long left_count, long long right_count,
    double floor, double largest, double gamma,
) noexcept nogil
cdef double let_through(EveryState moves, long long one, long long two, long long phase) noexcept nogil
cdef double _second_order(
    EveryState moves, long long begin, long long differ, IntTable steps, long long own, long long other,
    NewFloatBox arrived, long long i, NewFloatBox suffix, long long j
) noexcept nogil
cdef void _node_bound(
    EveryState moves, IntTable own, IntTable other, long long node, long long begin, long long block_begin,
    long long block_end, NewFloatTable room, double floor, double largest, double step_rounding, NewFloatTable results
) noexcept nogil
