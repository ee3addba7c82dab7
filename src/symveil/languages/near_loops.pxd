# What the names of near_loops.py are in C.
from symveil.languages.draw_loops cimport Edges, Levels, Sums, Values, begin_walks, walk
from symveil.numbers.compiled cimport (
    BitTable, Codes, CodeTable, Floats, FloatTable, Ints, IntTable, NewBools, NewCodeTable, NewFloatBox, NewFloats, NewInts,
)

cpdef enum:
    FEW_EDGES = 64
    WALKS = 1024


cdef class Behind:
    cdef Ints first, symbol_first
    cdef Codes source, edge, symbol_source, symbol_edge


cdef class Room(Values):
    cdef Edges edges
    cdef Levels levels
    cdef Sums sums
    cdef Behind behind
    cdef long long length, depth, most_near, stamp, width, near_begin, near_end
    cdef bint by_blocks, has_blocks
    cdef NewInts seen, node, end_of, level_of
    cdef NewFloats known, blocks_far, blocks
