"""Vector code for many small matrices at once: one matrix per lane.

A batch of ``LANES`` matrices is stored interleaved, entry (r, c) of all of them side by side, so that one
vector instruction does the same step of a factorisation for every matrix of the batch. Compilers do not find
the register tiles of such code by themselves, so it is written here as LLVM vector operations, through a thin
layer: `Vectors` speaks of loads, stores, fused multiply-adds and loops, and `@emitted` makes a function that
writes such operations callable from numba code. Sizes and precision are known when the code is emitted: they
travel as numba *types* (`size_tag`, a tuple as long as the number, and a scalar of the right precision), so one
module-level function serves all of them and numba's disk cache works.
"""

import operator
from collections.abc import Callable
from inspect import Parameter, Signature, signature

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_FEATURES = binding.get_host_cpu_features()
#: Bytes in a vector register, and the edge of a square tile of accumulators that leaves registers for operands.
VECTOR_BYTES, TILE = (64, 4) if _FEATURES.get("avx512f") else (32, 3)

INT = ir.IntType(64)


def lane_count(dtype) -> int:
    """Return how many matrices of this precision share a vector."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


def size_tag(size: int) -> tuple[int, ...]:
    """Return a value whose *type* tells numba this number at compile time."""
    return (0,) * size


class Vectors:
    """Emits vector instructions of one precision at the builder's current position."""

    def __init__(self, builder, scalar_type, registers=1):
        self.b = builder
        self.scalar_type = scalar_type
        self.bits = scalar_type.bitwidth
        self.itemsize = self.bits // 8
        self.scalar = ir.DoubleType() if self.bits == 64 else ir.FloatType()
        self.bytes = registers * VECTOR_BYTES
        self.lanes = self.bytes // self.itemsize
        self.vector = ir.VectorType(self.scalar, self.lanes)
        self.mantissa_bits, self.bias = (52, 1023) if self.bits == 64 else (23, 127)

    def wide(self, registers: int) -> "Vectors":
        """Return an emitter of vectors that fill several registers: independent work hides latencies."""
        return Vectors(self.b, self.scalar_type, registers)

    # Memory. Addresses are Integers that count bytes.
    def _at(self, address, pointee):
        return self.b.inttoptr(address.emitted, pointee.as_pointer())

    def load(self, address):
        """Load the vector at this address."""
        return self.b.load(self._at(address, self.vector), align=self.itemsize)

    def store(self, value, address):
        """Store a vector at this address."""
        self.b.store(value, self._at(address, self.vector), align=self.itemsize)

    def fetch_for_writing(self, address):
        """Ask for the cache line at this address: a store there will not have to wait for it."""
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = self.b.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        write, keep, data = number(1), number(3), number(1)
        self.b.call(prefetch, [self._at(address, ir.IntType(8)), write, keep, data])

    def broadcast(self, address):
        """Load the scalar at this address into every lane."""
        return self.fill(self.b.load(self._at(address, self.scalar), align=self.itemsize))

    def fill(self, scalar):
        """Return a vector with this scalar in every lane."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        one = self.b.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.b.shuffle_vector(one, undefined, zeros)

    def number(self, address) -> "Integer":
        """Load the 64-bit integer at this address."""
        return self.integer(self.b.load(self._at(address, INT), align=8))

    def transposed(self, rows):
        """Return the columns of a square block, given its rows as vectors: lane i of row j goes to lane j of row i."""
        rows, number = list(rows), ir.IntType(32)
        for stage in range(self.lanes.bit_length() - 1):
            step = 1 << stage
            # Blocks of step × step lanes off the diagonal change places.
            lows = [lane + (self.lanes - step if lane & step else 0) for lane in range(self.lanes)]
            low, high = (
                ir.Constant(ir.VectorType(number, self.lanes), [lane + shift for lane in lows])
                for shift in (0, step)
            )
            for i in range(self.lanes):
                if not i & step:
                    pair = rows[i], rows[i + step]
                    rows[i], rows[i + step] = (self.b.shuffle_vector(*pair, m) for m in (low, high))
        return rows

    def forget(self):
        """Make the compiler load again what it knows to be in memory.

        In long straight-line code it would otherwise keep everything "in registers", that is, spill all the time.
        """
        self.b.asm(ir.FunctionType(ir.VoidType(), []), "", "~{memory}", [], True)

    # Arithmetic.
    def constant(self, value: float):
        """Return a vector constant."""
        return ir.Constant(self.vector, [float(value)] * self.lanes)

    def add(self, x, y):
        """x + y."""
        return self.b.fadd(x, y)

    def sub(self, x, y):
        """x − y."""
        return self.b.fsub(x, y)

    def mul(self, x, y):
        """x · y."""
        return self.b.fmul(x, y)

    def div(self, x, y):
        """x / y."""
        return self.b.fdiv(x, y)

    def _llvm(self, name, *arguments):
        operation = ir.FunctionType(self.vector, [self.vector] * len(arguments))
        name = f"llvm.{name}.v{self.lanes}f{self.bits}"
        function = cgutils.get_or_insert_function(self.b.module, operation, name)
        return self.b.call(function, arguments)

    def fma(self, x, y, z):
        """x·y + z, rounded once."""
        return self._llvm("fma", x, y, z)

    def fnma(self, x, y, z):
        """z − x·y, rounded once."""
        return self.fma(self.b.fneg(x), y, z)

    def reciprocal(self, x):
        """1 / x."""
        return self.b.fdiv(self.constant(1.0), x)

    def sqrt(self, x):
        """√x."""
        return self._llvm("sqrt", x)

    def absolute(self, x):
        """|x|."""
        return self._llvm("fabs", x)

    def copysign(self, x, y):
        """|x| with the sign of y."""
        return self._llvm("copysign", x, y)

    def greater(self, x, y):
        """x > y, false for NaN."""
        return self.b.fcmp_ordered(">", x, y)

    def not_greater(self, x, y):
        """x ≤ y, false for NaN."""
        return self.b.fcmp_ordered("<=", x, y)

    def least(self, x, y):
        """The smaller of x and y."""
        return self.b.select(self.b.fcmp_ordered("<", x, y), x, y)

    def greatest(self, x, y):
        """The greater of x and y; y if one of them is NaN."""
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def select(self, condition, x, y):
        """X where the condition holds, else y."""
        return self.b.select(condition, x, y)

    def anywhere(self, condition):
        """Whether the condition holds in some lane."""
        bits = self.b.bitcast(condition, ir.IntType(self.lanes))
        return self.b.icmp_unsigned("!=", bits, ir.IntType(self.lanes)(0))

    # Exponents and logarithms.
    def split(self, x):
        """Return ``(mantissa in [√½, √2), exponent)`` of positive normal numbers, both as floats."""
        integers = ir.VectorType(ir.IntType(self.bits), self.lanes)
        shift = self.mantissa_bits
        one = self.bias << shift

        def every(value):
            return ir.Constant(integers, [value] * self.lanes)

        def number(bits):
            return self.b.bitcast(bits, self.vector)

        bits = self.b.bitcast(x, integers)
        # Counted from √½ instead of 1, the exponent field changes at √2·2**k.
        raised = self.b.add(bits, every(one - self._bits_of(0.5**0.5)))
        exponent_field = self.b.and_(raised, every((2**self.bits - 1) ^ ((1 << shift) - 1)))
        mantissa = number(self.b.add(self.b.sub(bits, exponent_field), every(one)))
        # A small integer in the last bits of 2**shift reads as 2**shift + integer.
        magic = (self.bias + shift) << shift
        exponent = number(self.b.or_(self.b.lshr(raised, every(shift)), every(magic)))
        return mantissa, self.sub(exponent, self.constant(2.0**shift + self.bias))

    def _bits_of(self, value: float) -> int:
        scalar, integer = (np.float64, np.uint64) if self.bits == 64 else (np.float32, np.uint32)
        return int(np.array(value, scalar).view(integer))

    def log_of_split(self, mantissa, exponent):
        """Return log(mantissa · 2**exponent) by log m = 2 artanh s = s·(2 + z·p(z)), s = (m−1)/(m+1), z = s²."""
        one = self.constant(1.0)
        s = self.div(self.sub(mantissa, one), self.add(mantissa, one))
        z = self.mul(s, s)
        series = ARTANH_SERIES if self.bits == 64 else ARTANH_SERIES[:4]
        p = self.constant(series[-1])
        for coefficient in (*series[-2::-1], 2.0):
            p = self.fma(p, z, self.constant(coefficient))
        return self.fma(s, p, self.mul(exponent, self.constant(0.6931471805599453)))

    # Control.
    def variable(self, value):
        """Return a variable that lives across loop iterations (LLVM keeps it in a register)."""
        slot = cgutils.alloca_once(self.b, value.type)
        self.b.store(value, slot)
        return slot

    def get(self, slot):
        """Read a variable."""
        return self.b.load(slot)

    def set(self, slot, value):
        """Write a variable."""
        self.b.store(value, slot)

    def integer(self, value) -> "Integer":
        """Wrap an emitted integer (or a Python one) so that it can be reckoned with."""
        return Integer(self.b, value)

    def steps(self, count: "Integer"):
        """Iterate over 0 … count−1: unrolled if the count is known now, else by an emitted loop."""
        if isinstance(count.value, int):
            for index in range(count.value):
                yield Integer(self.b, index)
            return
        # Written out rather than left to numba's helper: the bodies are unrolled already, and LLVM should not
        # spend code on unrolling them again for the few rounds they make.
        before = self.b.block
        body, after = self.b.append_basic_block("body"), self.b.append_basic_block("after")
        self.b.cbranch(self.b.icmp_signed(">", count.value, INT(0)), body, after)
        self.b.position_at_end(body)
        index = self.b.phi(INT)
        index.add_incoming(INT(0), before)
        yield Integer(self.b, index)
        following = self.b.add(index, INT(1))
        index.add_incoming(following, self.b.block)
        branch = self.b.cbranch(self.b.icmp_signed("<", following, count.value), body, after)
        keep_rolled(branch)
        self.b.position_at_end(after)

    def whilst(self, condition: Callable):
        """Iterate as long as the condition, which is emitted anew at the head of the loop, holds."""
        head, body, after = (self.b.append_basic_block(n) for n in ("head", "body", "after"))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(condition(), body, after)
        self.b.position_at_end(body)
        yield
        self.b.branch(head)
        self.b.position_at_end(after)


def keep_rolled(branch):
    """Tell LLVM not to unroll the loop that this branch, its last instruction, closes."""
    module = branch.parent.module
    hint = module.add_metadata(["llvm.loop.unroll.disable"])
    # LLVM takes a node for the description of a loop only if it refers to itself.
    loop = ir.MDValue(module, [], name=str(len(module.metadata)))
    loop.operands = (loop, hint)
    branch.set_metadata("llvm.loop", loop)


class Integer:
    """An integer of the emitted program: a Python number while it is known, an instruction when it is not."""

    def __init__(self, builder, value):
        self.builder, self.value = builder, value

    @property
    def emitted(self):
        """The integer as an operand."""
        return INT(self.value) if isinstance(self.value, int) else self.value

    def _combine(self, other, known, instruction):
        other = other if isinstance(other, Integer) else Integer(self.builder, other)
        if isinstance(self.value, int) and isinstance(other.value, int):
            return Integer(self.builder, known(self.value, other.value))
        return Integer(self.builder, instruction(self.emitted, other.emitted))

    def __add__(self, other):
        return self._combine(other, operator.add, self.builder.add)

    def __sub__(self, other):
        return self._combine(other, operator.sub, self.builder.sub)

    def __mul__(self, other):
        return self._combine(other, operator.mul, self.builder.mul)

    def halved(self, times=1):
        """The integer divided by two, or by a power of it, rounded down."""
        return self._combine(times, operator.rshift, self.builder.ashr)

    def parity(self):
        """1 if the integer is odd, else 0."""
        return self._combine(1, operator.and_, self.builder.and_)

    __radd__, __rmul__ = __add__, __mul__


#: Minimax coefficients of (2 artanh(s)/s − 2)/z, z = s², for |s| ≤ 3 − 2√2 (those of fdlibm's log).
ARTANH_SERIES = (
    0.6666666666666735130,
    0.3999999999940941908,
    0.2857142874366239149,
    0.2222219843214978396,
    0.1818357216161805012,
    0.1531383769920937332,
    0.1479819860511658591,
)


def emitted(write: Callable) -> Callable:
    """Make ``write(vectors, size, *arguments)`` callable from compiled code as ``f(tag, scalar, *integers)``.

    ``size`` is the length of the tag and the precision that of ``scalar``, both known when code is emitted; the
    remaining arguments are 64-bit integers, most of them addresses.
    """

    def typed(typingctx, tag, scalar, *arguments):
        size = len(tag)
        returns = types.void(tag, scalar, *[types.int64] * len(arguments))

        def codegen(context, builder, returns, values):
            integers = (Integer(builder, value) for value in values[2:])
            write(Vectors(builder, scalar), size, *integers)
            return context.get_dummy_value()

        return returns, codegen

    # numba folds the arguments of a call by the signature it sees, so their names are spelt out.
    names = ["typingctx", "tag", "scalar", *list(signature(write).parameters)[2:]]
    typed.__signature__ = Signature([Parameter(p, Parameter.POSITIONAL_ONLY) for p in names])
    typed.__name__ = write.__name__
    callable_from_numba = intrinsic(typed)

    def emit(translator, tag, scalar, *arguments):
        builder = translator.b
        precision = types.float32 if scalar.type == ir.FloatType() else types.float64
        write(Vectors(builder, precision), len(tag), *(Integer(builder, a) for a in arguments))

    callable_from_numba.emit = emit  # see `translate`
    return callable_from_numba
