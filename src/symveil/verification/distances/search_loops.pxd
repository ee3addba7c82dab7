from symveil.numbers.compiled cimport (
    Floats, FloatTable, Ints, IntTable, NewBools, NewFloats, NewFloatTable, NewInts, NewIntTable, wrapped,
)
from symveil.verification.distances.sweep_loops cimport UNIT, Scratch, flow_cost_of

cpdef enum:
    WEIGHT = 0
    LOWER = 1
    UPPER = 2
    MINE = 3
    THEIRS = 4

cpdef enum:
    START = 0
    END = 1
    DEPTH = 2
    CHILDREN = 3
    LAST_CHILD = 4
    HASH = 5

cpdef enum:
    NODES = 0
    ENTRIES = 1
    SHARES = 2
    WORK = 3
    VISITS = 4

cpdef enum:
    DONE = 0
    ROOM = 1
    PAUSE = 2

cdef double _NOTHING, _CLOSED, _STUCK, _SAME, _GRAIN, _OFF_GRAIN, _TOLERANCE
cdef long long _BLOCK, _NARROW
cdef unsigned long long _SEED, _PRIME
