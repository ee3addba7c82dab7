from symveil.numbers.compiled cimport INFINITY, Floats, Ints, NewFloats
