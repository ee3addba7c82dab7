# What the names of context_loops.py are in C.
from symveil.calibration.costs.block_loops cimport let_through, smallest_passing
from symveil.calibration.costs.box_loops cimport Slots, hull
from symveil.calibration.costs.step_loops cimport Arcs, EveryState, step_backward, step_forward
from symveil.numbers.compiled cimport (
    BoolTable, FloatTable, IntTable, Ints, NewBools, NewFloatBox, NewFloatTable, NewFloats,
)


cdef void _many_forward(
    EveryState moves, long long metric, long long own, NewFloatTable now, NewFloatTable after
) noexcept nogil
cdef void _many_arrived(Arcs arcs, long long phases, NewFloatTable now, NewFloatTable after) noexcept nogil
cdef void _many_backward(
    EveryState moves, long long metric, long long own, NewFloatTable now, NewFloatTable before
) noexcept nogil
cdef void _add_second_order(
    EveryState moves, long long metric, long long own, long long other, NewFloatTable arrived, NewFloatTable suffix,
    NewFloatTable result,
) noexcept nogil
cdef void _add_product(FloatTable left, FloatTable right, NewFloats product, NewFloatTable result) noexcept nogil
cdef void _column(FloatTable table, long long number, NewFloatTable room, long long row) noexcept nogil
