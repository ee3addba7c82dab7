from symveil.numbers.compiled cimport INFINITY, Floats, FloatTable, NewBools, NewFloats, NewInts, NewIntTable
