from symveil.numbers.compiled cimport (
    INFINITY, Bools, Floats, FloatTable, Ints, IntTable, NewFloatTables, NewFloats, NewFloatTable, NewInts, NewIntTable,
)

cpdef enum:
    MIDDLE = 0
    FROM_START = 1
    FINAL = 2
