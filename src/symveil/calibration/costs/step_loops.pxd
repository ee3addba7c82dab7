# What the names of step_loops.py are in C, and what other loops use of it.
from symveil.numbers.compiled cimport INFINITY, FloatTable, Floats, IntTable, Ints, NewFloats, ShortBox, log


cdef class Arcs:
    cdef Ints first, other
    cdef Floats weight


cdef class Moves:
    cdef Arcs ahead, behind
    cdef FloatTable kappa
    cdef IntTable following
    cdef Ints metric_at
    cdef long long size, phases


cdef class EveryState(Moves):
    cdef Ints symbol
    cdef ShortBox levels
    cdef long long width


cdef double largest_fraction(
    Arcs arcs, Floats low, Floats high, long long y, long long t, double least, double slack
) noexcept nogil
cdef void step_forward(EveryState moves, long long metric, long long own, Floats now, NewFloats after) noexcept nogil
cdef void smaller_step(
    EveryState moves, long long metric, long long own, long long other, Floats now, NewFloats after
) noexcept nogil
cdef void compared(
    EveryState moves, long long metric, long long own, Floats values, double least, NewFloats result
) noexcept nogil
cdef void step_backward(
    EveryState moves, long long metric, long long own, Floats now, NewFloats before, NewFloats spare
) noexcept nogil
cdef void summed(Arcs arcs, long long phases, Floats values, NewFloats result) noexcept nogil
