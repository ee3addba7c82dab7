# What the names of box_loops.py are in C, and what other loops use of it.
from symveil.calibration.costs.step_loops cimport Arcs, EveryState, compared, largest_fraction, summed
from symveil.numbers.compiled cimport (
    INFINITY, Bools, FloatTable, Floats, Ints, NewBoolTable, NewBools, NewFloatTable, NewFloats, NewInts,
    NewSingleTable,
)


cdef class Slots:
    cdef Ints first
    cdef NewSingleTable low, high
    cdef NewFloatTable tail
    cdef NewBoolTable valid


cdef bint hull(
    Slots slots, long long begin, long long end, long long row, NewFloats least, NewFloats width
) noexcept nogil
cdef double largest_tail(Slots slots, long long begin, long long end, long long row) noexcept nogil
cdef void settle(
    Ints first, Ints own, NewFloats low, NewFloats high, NewFloats tail, NewBools valid
) noexcept nogil
cdef void _mark_sharing(Arcs arcs, Arcs reverse, long long t, NewInts mark, long long stamp) noexcept nogil
