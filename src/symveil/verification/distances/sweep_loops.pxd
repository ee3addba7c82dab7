cimport cython

from symveil.numbers.compiled cimport (
    Floats, FloatTable, Ints, IntTable, NewBools, NewBoolTable, NewFloats, NewFloatTable, NewInts,
)

cdef long long UNSHIPPED, SLACK, _PATIENCE
cdef double UNIT
cdef long long _MORE_NODES

# the types of `simplex`, for floats
@cython.locals(careful=cython.bint)
cdef bint solve(
    long long size, NewFloatTable cost, NewFloatTable gain, NewFloats need, double zero, double one, double tolerance,
    NewInts tail, NewInts head, NewFloatTable inverse, NewFloats amount, NewFloats price, NewFloats column,
) except -1 nogil

@cython.locals(lowest=double, again=cython.bint, full=cython.bint)
cdef long long lift(
    long long count, long long room, NewInts nodes, NewFloats need, FloatTable distance, double alpha, Ints first,
    Ints relays, FloatTable spread, double zero, double one, double tolerance, NewFloatTable cost, NewFloatTable gain,
    NewInts tail, NewInts head, NewFloatTable inverse, NewFloats amount, NewFloats price, NewFloats column,
    NewFloats height, NewInts parent, NewInts queue,
) except? -1 nogil

cdef long long most_successors(Ints first, long long size) noexcept nogil

cdef long long merge(
    Ints first, Ints successor, Floats chance, double alpha, long long source, long long target, NewInts state,
    NewFloats need, NewFloats scale,
) noexcept nogil

cdef class Scratch:
    cdef NewInts nodes
    cdef NewFloats need
    cdef NewFloatTable cost
    cdef NewFloatTable gain
    cdef NewFloatTable inverse
    cdef NewInts tail
    cdef NewInts head
    cdef NewFloats amount
    cdef NewFloats price
    cdef NewFloats column
    cdef NewFloats balance
    cdef NewFloats weight
    cdef NewFloats height
    cdef NewInts parent
    cdef NewInts queue
    cdef long long room
    cpdef grow(self, long long room)

cdef double flow_cost_of(
    Scratch use, Ints states, Floats need, Floats scale, long long members, FloatTable distance, double alpha,
    Ints relay_first, Ints relays, FloatTable spread, double tolerance, double less,
) except? -1 nogil
