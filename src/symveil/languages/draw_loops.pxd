# What the names of draw_loops.py are in C, and what other loops use of it.
from symveil.numbers.compiled cimport (
    BitTable, Codes, CodeTable, Floats, FloatTable, Ints, IntTable, NewBools, NewCodeTable, NewFloatBox, NewFloats,
    NewFloatTable, NewInts, NewIntTable,
)

cpdef enum:
    LANES = 16


cdef class Edges:
    cdef Ints first
    cdef Codes symbol, target
    cdef Floats weight, final_weight
    cdef bint is_weighted, public_start
    cdef long long start
    cdef Codes first_state


cdef class Levels:
    cdef Ints metric_of
    cdef IntTable near_first, next_phase
    cdef Codes near_symbol, near_level
    cdef long long far, start_phase
    cdef FloatTable step_weight


cdef class Sums:
    cdef bint by_excess
    cdef Floats excess
    cdef Ints symbol_first, symbol_edge, source, arrival_target, arrival_symbol, arrival_of


cdef class Values:
    cdef NewFloatBox value
    cdef NewInts row_at, state_of, phase_of, level_at
    cdef NewFloats share_of


cdef class Layers(Values):
    cdef NewIntTable level_of, row_of
    cdef NewFloatTable worth


cdef long long begin_walks(
    CodeTable codes, long long begin, long long end, Edges edges, Levels levels, Values values
) noexcept nogil
cdef void walk(
    CodeTable codes, BitTable words, NewCodeTable released, NewBools decided, long long begin, long long end,
    long long first_position, Edges edges, Levels levels, Values values, double margin, double smallest
) noexcept nogil
