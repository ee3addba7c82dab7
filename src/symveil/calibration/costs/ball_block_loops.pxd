# What the names of ball_block_loops.py are in C.
from symveil.calibration.costs.ball_loops cimport Marks, NearStates, move_backward, move_forward, move_smaller
from symveil.calibration.costs.block_loops cimport Paths, Prices, comparable, limits, smallest_passing
from symveil.calibration.costs.box_loops cimport Slots, hull, largest_tail
from symveil.numbers.compiled cimport (
    INFINITY, BoolTable, FloatTable, Floats, IntTable, Ints, NewFloatTable, NewFloats, NewIntTable, NewInts,
    NewSingles,
)


cdef double _largest_of(NewFloats least, NewFloats width, long long count) noexcept nogil
cdef double _cost_over_balls(
    NearStates moves, Prices prices, long long begin, long long differ, IntTable steps, long long i, long long j,
    double largest_step,
) noexcept nogil
cdef (double, double, double) _ball_node(
    NearStates moves, Slots left, Slots right, long long left_begin, long long left_end, long long right_begin,
    long long right_end, Floats final, bint at_end, long long begin, long long block_begin, NewInts own, NewInts other,
    long long count, double floor, double largest, double step_rounding, NewFloatTable room, Marks marks,
) noexcept nogil
