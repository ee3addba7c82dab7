# What the names of ball_loops.py are in C, and what other loops use of it.
from symveil.calibration.costs.box_loops cimport settle
from symveil.calibration.costs.step_loops cimport Arcs, Moves, largest_fraction
from symveil.numbers.compiled cimport (
    INFINITY, Bools, FloatTable, Floats, IntTable, Ints, NewBools, NewFloats, NewInts, ShortTable,
)


cdef class NearStates(Moves):
    cdef Ints ball_first, ball_state, ball_own
    cdef ShortTable ball_level
    cdef Floats far, leaving
    cdef double spread


cdef class Marks:
    cdef NewInts index, target


cdef void mark(NearStates moves, long long t, NewInts index) noexcept nogil
cdef void unmark(NearStates moves, long long t, NewInts index) noexcept nogil
cdef double leaving_ball(NearStates moves, long long x, NewInts index) noexcept nogil
cdef double move_forward(
    NearStates moves, long long metric, long long s, long long t, Floats now, NewFloats after, Marks marks
) noexcept nogil
cdef void move_smaller(
    NearStates moves, long long metric, long long s, long long t, long long u, Floats now, NewFloats after, Marks marks
) noexcept nogil
cdef double move_backward(
    NearStates moves, long long metric, long long s, long long t, Floats now, double beyond, NewFloats before,
    Marks marks
) noexcept nogil
cdef bint _has_outside(Arcs behind, long long y, NewInts index) noexcept nogil
cdef void _pay_mismatches(
    NearStates moves, long long metric, long long s, Floats low, Floats high, NewFloats worth_low, NewFloats worth_high
) noexcept nogil
cdef double _weight_outside(NearStates moves, long long s, Floats high, double tail, NewInts target) noexcept nogil
cdef double _most_outside(NearStates moves, long long s, Floats worth, NewFloats beyond, NewInts target) noexcept nogil
