# What the names of compiled.py are in loops: dense arrays of numbers, without a Python object behind an element.
from libc.math cimport ceil, exp, floor, log, sqrt

cdef extern from "<math.h>" nogil:
    const double INFINITY

ctypedef const long long[::1] Ints
ctypedef const double[::1] Floats
ctypedef const int[::1] Codes
ctypedef const unsigned char[::1] Bools
ctypedef const unsigned long long[::1] Bits
ctypedef const long long[:, ::1] IntTable
ctypedef const double[:, ::1] FloatTable
ctypedef const int[:, ::1] CodeTable
ctypedef const unsigned char[:, ::1] BoolTable
ctypedef const unsigned long long[:, ::1] BitTable
ctypedef long long[::1] NewInts
ctypedef double[::1] NewFloats
ctypedef unsigned char[::1] NewBools
ctypedef signed char[::1] NewSigns
ctypedef unsigned long long[::1] NewBits
ctypedef long long[:, ::1] NewIntTable
ctypedef double[:, ::1] NewFloatTable
ctypedef const long long[:, :, ::1] IntBox
ctypedef const double[:, :, ::1] FloatBox
ctypedef double[:, :, ::1] NewFloatBox

ctypedef fused AnyFloatTable:
    const float[:, ::1]
    const double[:, ::1]

ctypedef fused NewAnyFloatTable:
    float[:, ::1]
    double[:, ::1]
ctypedef unsigned char[:, ::1] NewBoolTable
ctypedef int[:, ::1] NewCodeTable
ctypedef unsigned long long[:, ::1] NewBitTable

cdef inline unsigned long long wrapped(unsigned long long number) noexcept nogil:
    return number
ctypedef const short[:, ::1] ShortTable
ctypedef const short[:, :, ::1] ShortBox
ctypedef const float[:, ::1] SingleTable
ctypedef float[::1] NewSingles
ctypedef float[:, ::1] NewSingleTable
